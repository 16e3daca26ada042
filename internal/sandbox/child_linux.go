package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is the first statement of main and of every TestMain whose package
// runs commands. Where this process was started to be a sandbox, or the probe
// in one, it never returns; everywhere else it does nothing.
func Child() {
	switch {
	case len(os.Args) == 1 && os.Args[0] == childName && os.Getpid() == 1:
		os.Exit(initProcess())
	case len(os.Args) == 1 && os.Args[0] == keeperName:
		os.Exit(keeperProcess())
	case len(os.Args) == 2 && os.Args[1] == probeArg && inSandbox():
		os.Exit(runAttempts())
	}
}

// hostGone is PID 1's exit code when the host is no more; nobody reads it.
const hostGone = 1

// memoryOfInit bounds what PID 1 leaves to its garbage collector, which
// otherwise is off.
const memoryOfInit = 32 << 20

// initProcess is PID 1 of the sandbox: it builds what all commands see, then
// runs one command after the other, each in a pid namespace of its own, which
// the kernel empties when it ends. It keeps the capabilities of its own
// namespaces and shows itself to no command. It ends when the host does.
func initProcess() int {
	return serve(func() {}, func(p plan) (func(*incoming) report, error) {
		init, err := newInit(p)
		if err != nil {
			return nil, err
		}
		return init.run, nil
	})
}

// serve answers a host: first its plan, then one request after the other. gone
// is called when the host is.
func serve(gone func(), build func(plan) (func(*incoming) report, error)) int {
	// One thread enters the namespaces of commands and leaves them again; the
	// others stay. All that is on a command's way is done on it: to hand work to
	// another and back costs more than most of the work. Signals stay as the
	// runtime has them: no command can send one here (fork_linux.go blocks them
	// in what a command sees as its PID 1), and who sends one from the host ends
	// the sandbox.
	runtime.LockOSThread()
	if err := unix.CloseRange(fdControl, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return hostGone
	}
	debug.SetMemoryLimit(memoryOfInit)
	c := &control{fd: fdControl}
	var p plan
	if _, err := c.receive(&p); err != nil {
		return hostGone
	}
	run, err := build(p)
	if err != nil {
		_ = writeFrame(c, report{Setup: err.Error()})
		return hostGone
	}
	for rep := (report{}); ; {
		if err := writeFrame(c, rep); err != nil {
			break
		}
		var in incoming
		if in.files, err = c.receive(&in.request); err != nil {
			break
		}
		rep = run(&in)
	}
	gone()
	return hostGone
}

// initState is what PID 1 keeps between commands.
type initState struct {
	plan  plan
	used  bool        // a command has run
	home  []namespace // of its own threads, to come back to
	disks disks
}

type namespace struct {
	fd   int
	flag int
}

func newInit(p plan) (*initState, error) {
	if err := buildView(p); err != nil {
		return nil, err
	}
	bound()
	s := &initState{plan: p, disks: openDisks(p)}
	for name, flag := range map[string]int{"mnt": unix.CLONE_NEWNS, "ipc": unix.CLONE_NEWIPC, "net": unix.CLONE_NEWNET} {
		fd, err := unix.Open("/proc/thread-self/ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		s.home = append(s.home, namespace{fd, flag})
	}
	// PID 1's memory, environment and files are nobody's business inside.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("dumpable: %w", err)
	}
	return s, nil
}

// run runs one command to its end. When it returns, no process of the command
// is left, and nothing that was made for it alone.
func (s *initState) run(in *incoming) report {
	rep, err := s.try(in)
	for _, n := range s.home {
		// A sandbox that cannot come back is of no more use: its host sees that
		// it ends.
		if unix.Setns(n.fd, n.flag) != nil {
			os.Exit(hostGone)
		}
	}
	if err != nil {
		return report{Setup: err.Error()}
	}
	return rep
}

func (s *initState) try(in *incoming) (rep report, err error) {
	defer in.close()
	if n := len(in.files); n != 3 && n != 4 {
		return rep, fmt.Errorf("%d files came with a request", n)
	}
	own := unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET
	if !s.used {
		// Nothing has been in the network of PID 1 itself, nor will be again.
		own &^= unix.CLONE_NEWNET
	}
	s.used = true
	if err := unix.Unshare(own); err != nil {
		return rep, fmt.Errorf("namespaces: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return rep, fmt.Errorf("loopback: %w", err)
	}
	if len(in.files) == 4 {
		channel := in.files[3]
		in.files = in.files[:3]
		k, err := carry(channel)
		if err != nil {
			return rep, fmt.Errorf("proxy: %w", err)
		}
		defer k.close()
	}
	refused, err := dress(s.plan, in.request)
	if err != nil {
		return rep, err
	}
	rules, err := rulesOf(s.plan)
	if err != nil {
		return rep, err
	}
	defer func() { _ = unix.Close(rules) }()
	rep, err = command(s.plan, in, rules, s.disks)
	rep.OwnCaches = refused
	return rep, err
}

// command forks and awaits.
func command(p plan, in *incoming, rules int, d disks) (report, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return report{}, err
	}
	told := pipe[0]
	defer func() { _ = unix.Close(told) }()
	all := [4]int{in.files[0], in.files[1], in.files[2], pipe[1]}
	fds, err := above(all)
	if err != nil {
		_ = unix.Close(pipe[1])
		return report{}, err
	}
	script := writeScript(p, in.request, fds, rules)
	w := newWatch(in.request.Limits, d)
	w.open = p.Tier == TierLandlock
	w.temp = temp{dir: in.request.Tmp, limit: int64(in.request.Limits.tmpMB()) << 20}
	pid, err := script.fork()
	for _, fd := range append(fds[:], pipe[1]) {
		_ = unix.Close(fd)
	}
	in.close()
	if err != nil {
		return report{}, fmt.Errorf("fork: %w", err)
	}
	w.first = pid
	return await(script, told, w)
}

// above gives the files numbers that are none of those which the script hands
// out.
func above(all [4]int) (out [4]int, err error) {
	const free = 16
	for i, fd := range all {
		if out[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, free); err != nil {
			for _, made := range out[:i] {
				_ = unix.Close(made)
			}
			return out, err
		}
	}
	return out, nil
}

// await waits until the command ends or the watch says that a limit is passed,
// and takes all of its processes with it. When the host goes meanwhile, so does
// this process.
func await(s *script, told int, w *watch) (report, error) {
	next := time.Now().Add(firstLook)
	for {
		ready, gone, err := poll(told, time.Until(next))
		switch {
		case err != nil:
			return report{}, err
		case gone:
			w.end()
			os.Exit(hostGone)
		case ready:
			b := make([]byte, recordSize)
			n, err := unix.Read(told, b)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			ru := w.end()
			if err != nil || n != recordSize {
				return w.report(report{Cause: causeKilled}, ru), nil
			}
			return w.reportOf(s, readRecord(b), ru)
		case time.Now().Before(next):
			continue
		}
		if cause := w.look(); cause != "" {
			return w.report(report{Cause: cause}, w.end()), nil
		}
		next = time.Now().Add(w.pause)
	}
}

// poll waits until there is something to read of a command's first process, or
// until its host is gone: nothing else comes while a command runs.
func poll(told int, wait time.Duration) (ready, gone bool, err error) {
	fds := [...]unix.PollFd{{Fd: int32(told), Events: unix.POLLIN}, {Fd: fdControl, Events: unix.POLLIN | unix.POLLRDHUP}}
	limit := unix.NsecToTimespec(max(wait, 0).Nanoseconds())
	if _, err := unix.Ppoll(fds[:], &limit, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return false, false, fmt.Errorf("poll: %w", err)
	}
	return fds[0].Revents != 0, fds[1].Revents != 0, nil
}

// end kills the first process of a namespace, and so all of them, and waits
// for it, which ends after them. Without a namespace it kills one by one.
func (w *watch) end() *syscall.Rusage {
	if w.open {
		killDescendants(w.first)
	}
	_ = unix.Kill(w.first, unix.SIGKILL)
	ru := &syscall.Rusage{}
	for {
		if _, err := syscall.Wait4(w.first, nil, 0, ru); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if w.open {
		killDescendants(os.Getpid())
	}
	return ru
}

// reportOf is what a record says.
func (w *watch) reportOf(s *script, r record, ru *syscall.Rusage) (report, error) {
	e := syscall.Errno(r.Value)
	switch r.What {
	case tellEnded:
		return w.report(report{Wait: uint32(r.Value)}, ru), nil
	case tellNoStart:
		err := &os.PathError{Op: "exec", Path: s.program, Err: e}
		return report{NotStarted: err.Error(), Code: notStartedCode(e)}, nil
	}
	if name := s.name(int(r.Which)); name != stepChdir {
		return report{}, fmt.Errorf("%s: %w", name, e)
	}
	err := &os.PathError{Op: "chdir", Path: s.dir, Err: e}
	return report{NotStarted: err.Error(), Code: notStartedCode(e)}, nil
}
