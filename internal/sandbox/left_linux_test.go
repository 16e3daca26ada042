package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/landlock"
)

// outlive holds the pipe in the working folder in the worst way for those who
// count processes: two forks below, in a session of its own, in a process whose
// first thread has ended, with a child of the same kind. Above it all is gone.
func outlive(depth int) error {
	const deep = 3
	if depth < deep {
		name, err := os.Executable()
		if err != nil {
			return err
		}
		f, err := os.OpenFile("pipe", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = os.StartProcess(name, []string{name, attackerArg, "outlive", strconv.Itoa(depth + 1)}, &os.ProcAttr{
			Files: []*os.File{nil, nil, nil, f}, Env: []string{"GORACE=atexit_sleep_ms=0"},
			Sys: newSession(),
		})
		if err != nil {
			return err
		}
	}
	if depth == 0 {
		_, err := os.ReadFile("ready") // a second pipe: until the deepest is there
		return err
	}
	if depth == deep {
		if err := os.WriteFile("ready", nil, 0); err != nil {
			return err
		}
	}
	loseFirstThread()
	stay()
	return nil
}

// loseFirstThread ends the thread that the process is named after. Who looks
// sees a dead process from then on.
func loseFirstThread() {
	var all sync.WaitGroup
	const threads = 64
	all.Add(threads) // all before the first waits
	for range threads {
		go func() {
			runtime.LockOSThread()
			all.Done()
			all.Wait() // each has a thread of its own by then
			if unix.Gettid() == os.Getpid() {
				_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
			}
			stay()
		}()
	}
	if runtime.LockOSThread(); unix.Gettid() == os.Getpid() {
		all.Wait()
		_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	}
}

// outliving is a workspace whose command leaves what outlive makes, and what
// tells when none of it is left.
func outliving(t *testing.T) (w *workspace, gone func()) {
	t.Helper()
	w = newWorkspace(t, attackerAt, attackerArg, "outlive", "0")
	path := w.pipe()
	if err := unix.Mkfifo(filepath.Join(w.spec.Place.Root, "ready"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(path)
		read <- err
	}()
	return w, func() {
		t.Helper()
		select {
		case err := <-read:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("a process of the command lives after it")
			Sweep()
		}
	}
}

// TestOutlive leaves processes that look dead. Nothing of them lives when the
// command has ended, by itself or by a limit.
func TestOutlive(t *testing.T) {
	for _, c := range []struct {
		name string
		r    func(*testing.T) *Runner
	}{
		{"full", func(t *testing.T) *Runner { return full(t, Options{}) }},
		{"landlock", func(t *testing.T) *Runner { return open(t, Options{}) }},
		{"landlock, counted", func(t *testing.T) *Runner {
			return counted(t)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.r(t)
			w, gone := outliving(t)
			if r.Tier() == TierLandlock {
				w.spec.Argv[0] = self(t)
			}
			res, err := r.Run(testContext(), w.spec)
			if err != nil {
				t.Fatal(err)
			}
			if res.Cause != CauseExited || !strings.Contains(printed(res), "got through") {
				t.Errorf("%s %d %s", res.Cause, res.ExitCode, res.Output)
			}
			gone()
		})
	}
}

// orphaned starts a host of the landlock tier whose command leaves what outlive
// makes and goes on, and gives the numbers of its subreaper and of the command's
// first process.
func orphaned(t *testing.T) (host *exec.Cmd, subreaper, first int, gone func()) {
	t.Helper()
	open(t, Options{})
	w, gone := outliving(t)
	said := filepath.Join(w.spec.Place.Root, "said")
	if err := unix.Mkfifo(said, 0o600); err != nil {
		t.Fatal(err)
	}
	host = exec.Command(self(t), hostArg, w.dir, string(ModeLandlock), self(t)+" "+attackerArg+" outlive 0; test $? = 1 && echo $PPID >said; sleep 1000")
	host.Stderr = os.Stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = host.Process.Kill(), host.Wait() })
	f, err := os.Open(said)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if first, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
		t.Fatal(err)
	}
	if subreaper, err = strconv.Atoi(linux.Parent(strconv.Itoa(first))); err != nil {
		t.Fatal(err)
	}
	return host, subreaper, first, gone
}

// TestSubreaperKilled kills a subreaper, as a machine without memory may: the command's
// first process ends what there is.
func TestSubreaperKilled(t *testing.T) {
	_, subreaper, _, gone := orphaned(t)
	if landlock.InForce() < landlock.ScopeABI {
		t.Skip("needs a Landlock that knows signals")
	}
	if err := unix.Kill(subreaper, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone()
}

// TestFirstKilled kills the first process instead: the subreaper does it.
func TestFirstKilled(t *testing.T) {
	_, _, first, gone := orphaned(t)
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone()
}

// TestSweep kills both, and the host: the next one finds what is left, and
// nothing of who lives.
func TestSweep(t *testing.T) {
	_, subreaper, first, gone := orphaned(t)
	other, _, stays, otherGone := orphaned(t)
	for _, pid := range []int{subreaper, first} {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range []int{first, subreaper} {
		killed(t, pid)
	}
	if n := Sweep(); n == 0 {
		t.Error("nothing was found")
	}
	gone()
	if !alive(strconv.Itoa(stays)) {
		t.Error("the processes of a host that lives were ended")
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	otherGone()
}

// killed kills a process that is no child of this one, and waits for its end.
func killed(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err == nil {
			return
		}
	}
}

// TestMarkStays tries to take off the mark.
func TestMarkStays(t *testing.T) {
	w := newWorkspace(t, sh(`{ echo 0 >/proc/self/oom_score_adj; echo 33 >/proc/self/coredump_filter; } 2>/dev/null
		cat /proc/self/oom_score_adj /proc/self/coredump_filter; exec sh -c 'cat /proc/$$/oom_score_adj'`)...)
	want := fmt.Sprintf("%d\n%08x\n%[1]d", 947, 0x1a5)
	if res := openly(t, open(t, Options{}), w); !strings.HasSuffix(printed(res), want) {
		t.Errorf("%s", res.Output)
	}
}

func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
