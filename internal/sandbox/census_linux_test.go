package sandbox

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/linux"
	"agency/internal/linux/cgroup"
	"agency/internal/supervisor"
)

// counters are runners of each tier whose sandboxes a census knows.
func counters(t *testing.T, each func(t *testing.T, r *Runner, c *Census)) {
	for _, form := range []struct {
		name   string
		mode   Mode
		groups bool
	}{{"full", ModeFull, true}, {"full, counted", ModeFull, false}, {"landlock", ModeLandlock, true}, {"landlock, counted", ModeLandlock, false}} {
		t.Run(form.name, func(t *testing.T) {
			c := NewCensus()
			r, err := New(Options{Mode: form.mode, Census: c, Idle: time.Hour})
			if err != nil {
				t.Skipf("needs the tier: %v", err)
			}
			if !form.groups {
				r.machine = newMachine(nil, time.Hour, c)
			}
			t.Cleanup(func() { _ = r.Close() })
			each(t, r, c)
		})
	}
}

// underWay has a command run that ends by no means of its own; ended waits for the
// end of all its processes and of its Run.
func underWay(t *testing.T, r *Runner) (w *workspace, ended func() Result) {
	t.Helper()
	w = newWorkspace(t, sh("trap '' TERM HUP INT; "+holdPipe+"; sleep 1000")...)
	path := w.pipe()
	done := make(chan Result, 1)
	go func() {
		res, err := r.Run(testContext(), w.spec)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	f, err := os.Open(path) // waits for the writer inside
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	readUntil(t, f, "ready")
	return w, func() Result {
		t.Helper()
		if _, err := io.ReadAll(f); err != nil {
			t.Error(err)
		}
		return <-done
	}
}

// TestStillEndsWhatLives asks for a folder in which a command is under way, and
// for another one first.
func TestStillEndsWhatLives(t *testing.T) {
	counters(t, func(t *testing.T, r *Runner, c *Census) {
		w, ended := underWay(t, r)
		other, otherEnded := underWay(t, r)
		if err := c.Still(t.Context(), t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if n := len(c.living(w.spec.Place.Root)); n != 1 {
			t.Fatalf("%d sandboxes at work in the folder", n)
		}
		if err := c.Still(t.Context(), w.spec.Place.Root); err != nil {
			t.Fatal(err)
		}
		wantCause(t, ended(), CauseSignalled)
		if n := len(c.living(other.spec.Place.Root)); n != 1 {
			t.Fatal("a command in another folder was ended")
		}
		if err := c.Still(t.Context(), other.spec.Place.Root); err != nil {
			t.Fatal(err)
		}
		otherEnded()
		w.spec.Argv = sh("echo again")
		if res, err := r.Run(testContext(), w.spec); err != nil || printed(res) != "again" {
			t.Errorf("%v %s", err, res.Output)
		}
	})
}

// TestStillLeavesWhatWaits ends no sandbox in which nothing runs.
func TestStillLeavesWhatWaits(t *testing.T) {
	counters(t, func(t *testing.T, r *Runner, c *Census) {
		w, seen := newWorkspace(t, sh("readlink /proc/self/ns/uts; setsid sleep 1000 &")...), ""
		for range 3 {
			res, err := r.Run(testContext(), w.spec)
			if err != nil || seen != "" && printed(res) != seen {
				t.Fatalf("%v: %s, before %s", err, res.Output, seen)
			}
			seen = printed(res)
			for _, b := range boxesOf(c) {
				if left := b.living(); len(left) > 0 {
					t.Errorf("after a command live %v", left)
				}
			}
			if err := c.Still(t.Context(), w.spec.Place.Root); err != nil {
				t.Fatal(err)
			}
			if n := len(boxesOf(c)); n != 1 {
				t.Errorf("%d sandboxes wait", n)
			}
		}
	})
}

func boxesOf(c *Census) (out []*box) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := range c.boxes {
		out = append(out, b)
	}
	return out
}

// TestStillFindsWhatASubreaperLost kills a subreaper and the first process of its
// command: without the look what the command has made goes on.
func TestStillFindsWhatASubreaperLost(t *testing.T) {
	c := NewCensus()
	r := open(t, Options{Census: c})
	r.machine = newMachine(nil, -1, c)
	if err := c.Still(t.Context(), t.TempDir()); err != nil || c.lost != 0 {
		t.Fatalf("%v, %d", err, c.lost)
	}
	w, gone := outliving(t)
	said := filepath.Join(w.spec.Place.Root, "said")
	if err := unix.Mkfifo(said, 0o600); err != nil {
		t.Fatal(err)
	}
	w.spec.Argv = sh(self(t) + " " + attackerArg + " outlive 0; echo $PPID >said; sleep 1000")
	w.spec.Tools.ReadOnly = []Mount{{Host: self(t), At: attackerAt}}
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(testContext(), w.spec)
		done <- err
	}()
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	subreaper, err := strconv.Atoi(linux.Parent(strconv.Itoa(first)))
	if err != nil {
		t.Fatal(err)
	}
	b := boxesOf(c)[0]
	for _, pid := range []int{subreaper, first} {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	killed(t, first)
	if err := unix.Kill(subreaper, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	leftUntil(t)
	if <-b.dead; !b.lost {
		t.Error("the end of a keeper that was killed is taken for any other")
	}
	if err := c.Still(t.Context(), w.spec.Place.Root); err != nil {
		t.Fatal(err)
	}
	gone()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the command's Run does not end")
	}
}

// leftUntil waits until what was left is seen as such: the attack, which succeeds.
// A host that starts on this machine meanwhile ends it before.
func leftUntil(t *testing.T) {
	t.Helper()
	for tick, n := time.NewTicker(time.Millisecond), 0; n < 2000; n++ {
		if told := LeftBehind(); len(told) > 0 {
			if told[0].PID == 0 || told[0].Command == "" {
				t.Errorf("%+v", told)
			}
			return
		}
		<-tick.C
	}
	t.Log("nothing is left: another host has swept")
}

// TestStillTellsWhatStays names what no signal ends.
func TestStillTellsWhatStays(t *testing.T) {
	counters(t, func(t *testing.T, r *Runner, c *Census) {
		w, ended := underWay(t, r)
		kill := c.kill
		c.patience, c.kill = 20*time.Millisecond, func(*box, []Left) {}
		err := c.Still(t.Context(), w.spec.Place.Root)
		if err == nil || agency.KindOf(err) != agency.KindTransient {
			t.Fatalf("%v", err)
		}
		living := 0
		for _, l := range c.living(w.spec.Place.Root) {
			for _, p := range l {
				living++
				if pid := strconv.Itoa(p.PID); living == 1 && (!strings.Contains(err.Error(), "process "+pid+" (") || !strings.Contains(agency.MendOf(err), "kill -KILL "+pid)) {
					t.Errorf("process %s is not in: %v; %s", pid, err, agency.MendOf(err))
				}
			}
		}
		if living == 0 {
			t.Error("nothing lives")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Still(ctx, w.spec.Place.Root); err == nil {
			t.Error("a look that was called off found nothing")
		}
		c.patience, c.kill = cgroup.EmptyPatience, kill
		if err := c.Still(t.Context(), w.spec.Place.Root); err != nil {
			t.Error(err)
		}
		ended()
	})
}

// TestStillLooksIntoGroups has a process in a sandbox's group of which its
// namespace knows nothing: nothing but the group tells of it.
func TestStillLooksIntoGroups(t *testing.T) {
	c := NewCensus()
	r := fullOf(t, Options{Census: c, Idle: time.Hour})
	if r.machine.cgroup == nil {
		t.Skip("needs control groups")
	}
	w := newWorkspace(t, "/bin/true")
	if _, err := r.Run(testContext(), w.spec); err != nil {
		t.Fatal(err)
	}
	stray := exec.Command("/bin/sleep", "1000")
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	b := boxesOf(c)[0]
	if err := os.WriteFile(filepath.Join(b.group.Dirs["pids"], "cgroup.procs"), []byte(strconv.Itoa(stray.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Still(t.Context(), w.spec.Place.Root); err != nil {
		t.Fatal(err)
	}
	if err := stray.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
}

// TestHostless tells PID 1 of a sandbox whose host is gone from that of one which
// lives, and ends it.
func TestHostless(t *testing.T) {
	start := func(host int) *exec.Cmd {
		cmd := exec.Command("/bin/sleep")
		cmd.Args = []string{"agency: sandbox" + " " + strconv.Itoa(host), "1000"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		return cmd
	}
	mine := start(os.Getpid())
	name := func(c *exec.Cmd) string { return strconv.Itoa(c.Process.Pid) }
	left := func(pid string) bool {
		all, _ := supervisor.Left()
		return slices.Contains(all, pid)
	}
	if left(name(mine)) {
		t.Error("the sandbox of a host that lives")
	}
	other := start(os.Getpid() + 1<<23) // beyond all numbers
	if !left(name(other)) {
		t.Error("the sandbox of a host that is gone")
	}
	Sweep()
	if err := other.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
	if !alive(name(mine)) {
		t.Error("that of a host that lives was ended")
	}
}

// BenchmarkStill is what the look costs where a sandbox waits.
func BenchmarkStill(b *testing.B) {
	for _, mode := range []Mode{ModeFull, ModeLandlock} {
		for _, groups := range []bool{true, false} {
			b.Run(string(mode)+map[bool]string{true: "", false: ", counted"}[groups], func(b *testing.B) {
				c := NewCensus()
				r, err := New(Options{Mode: mode, Census: c, Idle: time.Hour})
				if err != nil {
					b.Skip(err)
				}
				if !groups {
					r.machine = newMachine(nil, time.Hour, c)
				}
				defer func() { _ = r.Close() }()
				w := newWorkspace(b, "/bin/true")
				if _, err := r.Run(testContext(), w.spec); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := c.Still(b.Context(), w.spec.Place.Root); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
