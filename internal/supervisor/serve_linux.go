package supervisor

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// Child is the first statement of main and of every TestMain whose package
// runs commands. Where this process was started to be a sandbox, or the probe
// in one, it never returns; everywhere else it does nothing.
func Child() {
	switch {
	case len(os.Args) == 1 && strings.HasPrefix(os.Args[0], childName+" ") && os.Getpid() == 1:
		os.Exit(initProcess())
	case len(os.Args) == 1 && os.Args[0] == subreaperName:
		os.Exit(subreaperProcess())
	case len(os.Args) == 2 && os.Args[1] == ProbeArg && inSandbox():
		os.Exit(runAttempts())
	}
}

// init becomes a sandbox before the packages of the program that a sandbox does
// not need prepare themselves: that was the half of what one costs. Which ones
// come before it follows from what this package imports: of the network, TLS and
// regular expressions it has nothing (sandbox.TestEarly). Child stays the first statement
// of main all the same: it says what main is, and it is what is asked for where
// this is not built.
func init() { Child() }

// HostGone is PID 1's exit code when the host is no more; nobody reads it.
const HostGone = 1

// memoryOfInit bounds what PID 1 leaves to its garbage collector, which
// otherwise is off.
const memoryOfInit = 32 << 20

// serve answers a host: first its plan, then one request after the other. gone
// is called when the host is.
func serve(gone func(), build func(Plan) (func(*incoming) (Report, error), error)) int {
	// One thread enters the namespaces of commands and leaves them again; the
	// others stay. All that is on a command's way is done on it: to hand work to
	// another and back costs more than most of the work. Signals stay as the
	// runtime has them: no command can send one here (package fork blocks them
	// in what a command sees as its PID 1), and who sends one from the host ends
	// the sandbox.
	runtime.LockOSThread()
	if err := unix.CloseRange(fdControl, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return HostGone
	}
	debug.SetMemoryLimit(memoryOfInit)
	c := &control{File: os.NewFile(fdControl, "control")}
	var p Plan
	if _, err := c.receive(&p); err != nil {
		return HostGone
	}
	run, err := build(p)
	if err != nil {
		_ = WriteFrame(c, Report{Setup: err.Error()})
		return HostGone
	}
	for rep := (Report{}); ; {
		if err := WriteFrame(c, rep); err != nil {
			break
		}
		var in incoming
		if in.files, err = c.receive(&in.request); err != nil {
			break
		}
		if rep, err = run(&in); err != nil {
			rep = Report{Setup: err.Error()}
		}
		in.close()
	}
	gone()
	return HostGone
}
