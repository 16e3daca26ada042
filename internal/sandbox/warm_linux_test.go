package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// warm is a runner that keeps sandboxes.
func warm(t testing.TB) *Runner {
	t.Helper()
	return fullOf(t, Options{Idle: time.Hour})
}

// waiting are the sandboxes that wait, by the process id of their PID 1.
func (r *Runner) waiting() []int {
	p := r.machine.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for _, k := range p.kept {
		pids = append(pids, k.cmd.Process.Pid)
	}
	return pids
}

// one runs a script and wants it to end well, in the one sandbox that then
// waits.
func one(t *testing.T, r *Runner, w *workspace, script string) (out string, pid int) {
	t.Helper()
	w.spec.Argv = sh(script)
	res, err := r.Run(context.Background(), w.spec)
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%v %s %d %s", err, res.Cause, res.ExitCode, res.Output)
	}
	pids := r.waiting()
	if len(pids) != 1 {
		t.Fatalf("%d sandboxes wait", len(pids))
	}
	return printed(res), pids[0]
}

// TestWarmLeavesNothing has a command leave all that it can; the next one in
// the same sandbox meets none of it.
func TestWarmLeavesNothing(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	w.write("tree/x", "")
	_, first := one(t, r, w, `echo x > /tmp/x; mkdir -p /tmp/home/.config; echo x > /dev/shm/x; cd /tmp; setsid sleep 1000 & sleep 1000 &
		`+attackerAt+" "+attackerArg+` "leave shared memory"; sysctl() { echo $2 > $1; }; sysctl /proc/sys/kernel/shmmax 1 2>/dev/null; true`)
	out, second := one(t, r, w, `ls -A /tmp /tmp/home /dev/shm; tail -n +2 /proc/sysvipc/shm; cd /proc; echo [0-9]*; ulimit -n; pwd -P; ls /dev/pts`)
	if first != second {
		t.Fatalf("two sandboxes: %d and %d", first, second)
	}
	f := strings.Fields(out)
	want := "/dev/shm: /tmp: home /tmp/home:"
	if got := strings.Join(f[:min(4, len(f))], " "); got != want {
		t.Fatalf("left: %s", out)
	}
	if strings.Contains(out, "0x") || !strings.Contains(out, "\n1 2") {
		t.Fatalf("left: %s", out)
	}
}

// TestWarmNetworks gives no command the network of another: the first has that of
// PID 1, which no other enters.
func TestWarmNetworks(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	first, pid := one(t, r, w, "readlink /proc/self/ns/net")
	for range 3 {
		if net, again := one(t, r, w, "readlink /proc/self/ns/net"); net == first || again != pid {
			t.Fatalf("%s in %d after %s in %d", net, again, first, pid)
		}
	}
}

// TestWarmLimits has the limits of each command, not of the one before.
func TestWarmLimits(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	for _, n := range []int{64, 512, 128} {
		w.spec.Limits.OpenFiles, w.spec.Limits.MemoryMB, w.spec.Limits.FileSizeMB = n, n, n
		out, _ := one(t, r, w, "ulimit -n; ulimit -f; df -k /tmp | tail -1")
		f := strings.Fields(out)
		if f[0] != fmt.Sprint(n) || f[1] != fmt.Sprint(n*2048) && f[1] != fmt.Sprint(n*1024) || f[3] != fmt.Sprint(n/2*1024) {
			t.Fatalf("%d: %s", n, out)
		}
	}
}

// TestWarmEnds ends a sandbox after a command that was killed, and at the end of
// the runner.
func TestWarmEnds(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	_, pid := one(t, r, w, "true")
	w.spec.Argv, w.spec.Limits.Wall = sh("sleep 1000"), 100*time.Millisecond
	res, err := r.Run(context.Background(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	wantCause(t, res, CauseTimeout)
	if len(r.waiting()) != 0 || living(pid) {
		t.Fatalf("%v, %d alive", r.waiting(), pid)
	}
	w.spec.Limits.Wall = 20 * time.Second
	_, pid = one(t, r, w, "true")
	if err := r.Close(); err != nil || living(pid) {
		t.Fatalf("%v, %d alive", err, pid)
	}
	if res := runOnce(t, r, w.spec); res.ExitCode != 0 || len(r.waiting()) != 0 {
		t.Fatalf("after the end: %d, %v wait", res.ExitCode, r.waiting())
	}
}

func runOnce(t *testing.T, r *Runner, s Spec) Result {
	t.Helper()
	s.Argv = []string{"/bin/true"}
	res, err := r.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func living(pid int) bool { return unix.Kill(pid, 0) == nil }

// TestWarmExpires ends a sandbox that nobody uses, when its time has come.
func TestWarmExpires(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	_, pid := one(t, r, w, "true")
	pool := r.machine.pool
	pool.mu.Lock()
	k := pool.kept[0]
	if !k.timer.Reset(0) {
		t.Error("no time was set")
	}
	pool.mu.Unlock()
	<-k.dead
	pool.ending.Wait()
	if n := len(r.waiting()); n != 0 || living(pid) {
		t.Errorf("%d wait, alive: %v", n, living(pid))
	}
}

// TestWarmRelease ends what shows a folder, and nothing else.
func TestWarmRelease(t *testing.T) {
	r, a, b := warm(t), newWorkspace(t), newWorkspace(t)
	runOnce(t, r, a.spec)
	runOnce(t, r, b.spec)
	if n := len(r.waiting()); n != 2 {
		t.Fatalf("%d wait", n)
	}
	r.Release(filepath.Dir(a.spec.Place.Root))
	if n := len(r.waiting()); n != 1 {
		t.Fatalf("%d wait", n)
	}
}

// TestWarmOtherPlace gives a command that is to see something else a sandbox of
// its own, also where a folder was made anew at the same path.
func TestWarmOtherPlace(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	one(t, r, w, "echo old > file")
	root := w.spec.Place.Root
	if err := os.Rename(root, root+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	w.spec.Argv = sh("ls -A; echo new > new")
	res, err := r.Run(context.Background(), w.spec)
	if err != nil || strings.Contains(printed(res), "file") {
		t.Fatalf("%v %s", err, res.Output)
	}
	if _, err := os.Stat(filepath.Join(root, "new")); err != nil {
		t.Fatal(err)
	}
	if n := len(r.waiting()); n != 2 {
		t.Fatalf("%d wait", n)
	}
}

// TestWarmMovedMount moves the folder of a mount point within the repository and
// plants another: the next command sees the mount where it belongs.
func TestWarmMovedMount(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	lib, cache := w.write("vendored/lib", "lib"), w.write("cache/x", "cache")
	w.spec.Reads = []Mount{{Host: filepath.Dir(lib), At: at + "/deep/vendor"}}
	w.spec.Tools.Overlays = []Overlay{{Lower: filepath.Dir(cache), At: at + "/deep/cache", Name: "cache"}}
	const look = "cat deep/vendor/lib deep/cache/x"
	if out, _ := one(t, r, w, look+"; mv deep moved; mkdir -p deep/vendor; echo planted > deep/vendor/lib"); out != "libcache" {
		t.Fatal(out)
	}
	if out, _ := one(t, r, w, look); out != "libcache" {
		t.Fatal(out)
	}
	one(t, r, w, "mv deep moved2; mkdir elsewhere; ln -s elsewhere deep")
	w.spec.Argv = sh(look)
	if res, err := r.Run(context.Background(), w.spec); err == nil {
		t.Fatalf("a link on the way to a mount point was followed: %s", res.Output)
	}
}

// TestWarmBelowTmp keeps a repository and caches that lie in /tmp, which is
// fresh for every command.
func TestWarmBelowTmp(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	cache := w.write("cache/x", "cache\n")
	w.write("git/HEAD", "head\n")
	w.spec.Place.At, w.spec.Place.GitDir = "/tmp/sub/project", filepath.Join(w.dir, "git")
	w.spec.Tools.Overlays = []Overlay{
		{Lower: filepath.Dir(cache), At: "/tmp/cache", Name: "a"},
		{Lower: filepath.Dir(cache), At: "/tmp/sub/project/cache", Name: "b"},
	}
	for i := range 3 {
		out, _ := one(t, r, w, fmt.Sprintf("pwd; cat .git/HEAD cache/x /tmp/cache/x; ls -A /tmp | wc -l; test -e /tmp/left && echo left; echo > /tmp/left; ls | wc -l; echo > f%d", i))
		if want := fmt.Sprintf("/tmp/sub/project\nhead\ncache\ncache\n3\n%d", i+1); out != want {
			t.Fatalf("%q, want %q", out, want)
		}
	}
}

// TestWarmTogether runs commands of one checkout at the same time: none is in
// another's sandbox.
func TestWarmTogether(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s := w.spec
			s.Argv = sh("echo mine > /tmp/mine; cd /proc; echo [0-9]*; ls /tmp | wc -l; " +
				attackerAt + " " + attackerArg + " 'hold a port' || echo mine")
			for range 5 {
				res, err := r.Run(context.Background(), s)
				if err != nil || printed(res) != "1 2\n2\ngot through: [hold a port]\nmine" {
					t.Errorf("%v %s", err, res.Output)
				}
			}
		})
	}
	wg.Wait()
	if n := len(r.waiting()); n == 0 || n > maxIdle {
		t.Errorf("%d wait", n)
	}
}

// TestWarmDead finds that a sandbox which waits was killed, and takes another.
func TestWarmDead(t *testing.T) {
	r, w := warm(t), newWorkspace(t)
	_, pid := one(t, r, w, "true")
	dead := r.machine.pool.kept[0].dead
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-dead
	w.spec.Argv = sh("echo alive")
	res, err := r.Run(context.Background(), w.spec)
	if err != nil || printed(res) != "alive" {
		t.Fatalf("%v %s", err, res.Output)
	}
}

// TestWarmManyCommands bounds what PID 1 keeps over many commands.
func TestWarmManyCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r, w := warm(t), newWorkspace(t)
	var pid int
	for range 200 {
		_, pid = one(t, r, w, "true")
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if os.Getuid() == 0 && (err != nil || len(fds) > 24) {
		t.Errorf("%d files open, %v", len(fds), err)
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if n := strings.Count(string(mounts), "\n"); err != nil || n > 80 {
		t.Errorf("%d mounts, %v", n, err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "Threads") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
