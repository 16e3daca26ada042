package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agency/internal/text"
)

func limited(argv []string, l Limits) func(*Spec) {
	return func(s *Spec) {
		wall := s.Limits.Wall
		s.Argv, s.Limits = argv, l
		if l.Wall == 0 {
			s.Limits.Wall = wall
		}
	}
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func eater(name string) []string { return []string{attackerAt, attackerArg, name} }

func holding(what string) []string { return []string{attackerAt, attackerArg, "hold", what} }

// limitCase is a command that passes a limit.
type limitCase struct {
	name   string
	argv   []string
	limits Limits
	want   Cause
}

// heldCases are those of what the kernel keeps, by the pages and not.
func heldCases() []limitCase {
	of := Limits{MemoryMB: 16, OpenFiles: 20000, Wall: 20 * time.Second}
	return []limitCase{
		{"memory in removed files", holding("removed files"), of, CauseMemory},
		{"memory in empty sockets", holding("empty sockets"), of, CauseMemory},
		{"memory in watches", holding("watches"), of, CauseMemory},
		{"memory in locks", holding("locks"), of, CauseMemory},
		{"memory in answers of the kernel", holding("netlink"), of, CauseMemory},
		{"room in pipes", holding("empty pipes"), Limits{}, CauseMemory},
	}
}

// TestLimits passes each limit and wants its name, with nothing but the watch
// first: that is all there is for root where no control group can be written.
func TestLimits(t *testing.T) {
	full(t, Options{})
	t.Run("cold, watched", func(t *testing.T) { eachLimit(t, &Runner{tier: TierFull, machine: newMachine(nil, -1, nil)}) })
	t.Run("warm", func(t *testing.T) { eachLimit(t, warm(t)) })
}

// bomb forks for ever, and goes on for ever when it is put out.
const bomb = "f() { f | f & }; f & while :; do :; done"

func eachLimit(t *testing.T, r *Runner) {
	for i, c := range append([]limitCase{
		{"wall", sh("sleep 100"), Limits{Wall: 300 * time.Millisecond}, CauseTimeout},
		{"wall with a deaf tree", sh("trap '' TERM INT HUP; sleep 100 & sleep 100"), Limits{Wall: 300 * time.Millisecond}, CauseTimeout},
		{"cpu", sh("while :; do :; done"), Limits{CPU: 200 * time.Millisecond}, CauseCPU},
		{"cpu of a child", sh("sh -c 'while :; do :; done'; true"), Limits{CPU: 200 * time.Millisecond}, CauseCPU},
		{"fork bomb", sh(bomb), Limits{Processes: 64, Wall: 4 * time.Second}, CauseProcesses},
		{"many processes", sh("while :; do sleep 100 & done"), Limits{Processes: 32}, CauseProcesses},
		{"memory", eater("memory"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory of many processes", eater("memory of many"), Limits{MemoryMB: 192}, CauseMemory},
		{"memory that nobody has attached", eater("shared memory"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory that is attached and put away", eater("put away memory"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory that is attached and counted once", eater("some shared memory"), Limits{MemoryMB: 144}, CauseExited},
		{"memory of a process that looks dead", eater("memory of the dead"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory in sockets", eater("sockets"), Limits{MemoryMB: 64}, CauseMemory},
		{"memory in sockets of the internet", eater("internet sockets"), Limits{MemoryMB: 64}, CauseMemory},
		{"memory in pipes", eater("pipes"), Limits{MemoryMB: 32}, CauseMemory},
		{"memory in page tables", eater("page tables"), Limits{MemoryMB: 64}, CauseMemory},
		{"memory in mappings", eater("mappings"), Limits{MemoryMB: 16}, CauseMemory},
		{"memory in mappings that are hidden", eater("mappings and hide"), Limits{MemoryMB: 16}, CauseMemory},
		{"shared memory that looks unused", eater("uncounted"), Limits{MemoryMB: 64}, CauseMemory},
		{"file size", sh("head -c 20000000 /dev/zero > big"), Limits{FileSizeMB: 8}, CauseFileSize},
		{"own exit", sh("exit 7"), Limits{}, CauseExited},
		{"own signal", sh("kill -KILL $$"), Limits{}, CauseSignalled},
		{"no such program", []string{"/usr/bin/no-such-program"}, Limits{}, CauseNotStarted},
		{"not a program", []string{"/etc/hosts"}, Limits{}, CauseNotStarted},
		{"memory in semaphores", holding("semaphores"), Limits{MemoryMB: 64}, CauseMemory},
	}, heldCases()...) {
		if testing.Short() && i%4 != 0 {
			continue // who counts is the same for all
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t)
			w.spec.Limits.Wall = 20 * time.Second // a limit that does not hold is told soon
			limited(c.argv, c.limits)(&w.spec)
			res := run(t, r, w.spec)
			if c.name == "fork bomb" && res.Cause == CauseTimeout {
				res.Cause = c.want // the kernel had put it out before it was counted
			}
			wantCause(t, res, c.want)
			if res.Duration > 15*time.Second {
				t.Errorf("took %v", res.Duration)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "sleep 100": 137} {
		res := shell(t, script, func(s *Spec) { s.Limits.Wall = 300 * time.Millisecond })
		if res.ExitCode != want {
			t.Errorf("%s: %d, want %d", script, res.ExitCode, want)
		}
	}
}

func TestNotStarted(t *testing.T) {
	for prog, want := range map[string]int{"no-such-program": 127, "/etc/hosts": 126, "/usr": 126} {
		res := shell(t, "", limited([]string{prog}, Limits{}))
		if res.ExitCode != want || !strings.Contains(string(res.Output), "sandbox: ") {
			t.Errorf("%s: %d %s", prog, res.ExitCode, res.Output)
		}
	}
}

// TestOwnPlace: programs that change their own limits, priority and processors,
// and ask for those of others, work as ever.
func TestOwnPlace(t *testing.T) {
	const script = `set -e; ulimit -n 100; ulimit -n; nice -n 3 nice; nproc >/dev/null; timeout 5 true
		for p in "taskset 1" "ionice -c 3" "chrt -b 0" "prlimit --nofile=64"; do
			command -v ${p%% *} >/dev/null && $p true
		done
		cp -p /bin/true ./x && chmod 700 x && touch -d @1 x && date -r x +%s`
	tiers := map[string]*Runner{}
	if r, err := New(Options{Mode: ModeFull, Idle: -1}); err == nil {
		tiers["full"] = r
	}
	if r, err := New(Options{Mode: ModeLandlock, Idle: -1}); err == nil {
		tiers["landlock"] = r
	}
	for name, r := range tiers {
		w := newWorkspace(t, sh(script)...)
		if res := run(t, r, w.spec); printed(res) != "100\n3\n1" {
			t.Errorf("%s: %s %d %s", name, res.Cause, res.ExitCode, res.Output)
		}
		_ = r.Close()
	}
}

func TestFileSizeHolds(t *testing.T) {
	w := newWorkspace(t, sh("head -c 20000000 /dev/zero > big")...)
	w.spec.Limits.FileSizeMB = 8
	run(t, full(t, Options{}), w.spec)
	if fi, err := os.Stat(filepath.Join(w.spec.Place.Root, "big")); err != nil || fi.Size() > 8<<20 {
		t.Fatalf("%v %v", fi, err)
	}
}

func TestMemoryFolders(t *testing.T) {
	res := shell(t, "for d in /tmp /dev/shm; do head -c 100000000 /dev/zero > $d/x && echo filled; done; true",
		func(s *Spec) { s.Limits.MemoryMB = 64 })
	if strings.Contains(string(res.Output), "filled") {
		t.Fatalf("%s", res.Output)
	}
}

func TestOpenFiles(t *testing.T) {
	w := newWorkspace(t, eater("files")...)
	w.spec.Limits.OpenFiles = 64
	eachForm(t, func(t *testing.T, r *Runner) { wantStopped(t, run(t, r, w.spec)) })
}

func TestMemfd(t *testing.T) { attack(t, "memfd") }

func TestOutputClipped(t *testing.T) {
	var stdout bytes.Buffer
	res := shell(t, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; echo error >&2",
		func(s *Spec) { s.Limits.OutputKB, s.Stdout = 4, &stdout })
	wantCause(t, res, CauseExited)
	out := string(res.Output)
	mark := "\n" + text.BytesLeftOut(res.Dropped) + "\n"
	if len(out) > 4<<10+len(mark) || strings.Count(out, mark) != 1 || !strings.HasPrefix(out, "first\n") || !strings.Contains(out[len(out)-20:], "\nlast\n") {
		t.Fatalf("%d bytes, %.20q ... %.20q", len(out), out, out[max(0, len(out)-20):])
	}
	if want := int64(3000000 + len("first\n\nlast\nerror\n") - len(out) + len(mark)); res.Dropped != want {
		t.Errorf("dropped %d, want %d", res.Dropped, want)
	}
	if want := "first\n" + strings.Repeat("x", 3000000) + "\nlast\n"; stdout.String() != want+want || res.StdoutErr != nil {
		t.Errorf("standard output alone, of both forms: %d bytes, %v", stdout.Len(), res.StdoutErr)
	}
}

// failing is a writer that takes so many bytes and no more.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no more room")
	}
	return len(p), nil
}

// TestFailingReader: a reader of standard output that fails costs the command
// nothing, and is told.
func TestFailingReader(t *testing.T) {
	res := shell(t, "head -c 30000000 /dev/zero | tr '\\0' x; echo last", func(s *Spec) { s.Stdout = &failing{1 << 20} })
	wantCause(t, res, CauseExited)
	if !strings.HasSuffix(string(res.Output), "last\n") || res.StdoutErr == nil || !strings.Contains(res.StdoutErr.Error(), "no more room") {
		t.Errorf("%v: %.20q", res.StdoutErr, res.Output[max(0, len(res.Output)-20):])
	}
}

// hanging is a writer that never comes back.
type hanging struct{ ended chan struct{} }

func (h hanging) Write(p []byte) (int, error) {
	<-h.ended
	return len(p), nil
}

// TestHangingReader: one that hangs is given up, and gets nothing more.
func TestHangingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{make(chan struct{})}
		o := newOutput(Spec{Limits: Limits{OutputKB: 64}, Stdout: h})
		began := time.Now()
		for range 1000 {
			_, err := stream{o, true}.Write([]byte("a line\n"))
			if err != nil {
				t.Fatal(err)
			}
		}
		var res Result
		o.into(&res)
		if took := time.Since(began); took != patience || !errors.Is(res.StdoutErr, errSlow) || len(res.Output) != 7000 {
			t.Errorf("%s, %v, %d bytes", took, res.StdoutErr, len(res.Output))
		}
		close(h.ended)
	})
}

func TestCancelled(t *testing.T) {
	w := newWorkspace(t, sh(holdPipe+"; sleep 1000")...)
	path, r := w.pipe(), full(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		f, err := os.Open(path)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
			_ = f.Close()
		}
		_ = err
		cancel()
	}()
	res, err := r.Run(ctx, w.spec)
	if err != nil {
		t.Fatal(err)
	}
	wantCause(t, res, CauseCancelled)
	if res, err = r.Run(ctx, w.spec); err != nil || res.Cause != CauseCancelled {
		t.Fatalf("already cancelled: %v %v", res.Cause, err)
	}
}

// TestSignalsToInit sends PID 1 everything: nothing inside may end the sandbox
// but the command.
func TestSignalsToInit(t *testing.T) {
	res := shell(t, "for s in TERM INT HUP QUIT USR1 KILL ABRT SEGV STOP; do kill -$s 1 2>/dev/null; done; kill -9 -1; echo alive")
	wantCause(t, res, CauseExited)
	res = shell(t, "for s in TERM INT HUP QUIT USR1 KILL ABRT SEGV STOP; do kill -$s 1 2>/dev/null; done; echo alive")
	if printed(res) != "alive" {
		t.Fatalf("%s: %s", res.Cause, res.Output)
	}
}

func TestErrorsAreTheSandboxs(t *testing.T) {
	r := full(t, Options{})
	w := newWorkspace(t, "/bin/true")
	w.spec.Reads = []Mount{{Host: "/no/such/folder", At: "/opt/x"}}
	if _, err := r.Run(context.Background(), w.spec); err == nil || errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestUncountedMemory takes memory that is in no process's resident size and
// in no folder: only a control group sees it.
func TestUncountedMemory(t *testing.T) {
	r := full(t, Options{})
	if r.machine.cgroup == nil {
		t.Skip("needs a writable control group")
	}
	w := newWorkspace(t, eater("uncounted")...)
	w.spec.Limits.MemoryMB = 64
	wantCause(t, run(t, r, w.spec), CauseMemory)
}

// TestRefused makes a Runner where namespaces are refused: inside a sandbox.
func TestRefused(t *testing.T) {
	w := newWorkspace(t, attackerAt, attackerArg, "nested")
	res := run(t, full(t, Options{}), w.spec)
	wantStopped(t, res)
	for _, want := range []string{"transient", "operation not permitted", "sandbox.mode: off"} {
		if !strings.Contains(printed(res), want) {
			t.Errorf("no %q in %s", want, res.Output)
		}
	}
}

func TestWaysOut(t *testing.T) {
	for file, want := range map[string]string{
		"kernel/unprivileged_userns_clone=0":             "sudo sysctl -w kernel.unprivileged_userns_clone=1",
		"user/max_user_namespaces=0":                     "sudo sysctl -w user.max_user_namespaces=15000",
		"kernel/apparmor_restrict_unprivileged_userns=1": "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
		"kernel/apparmor_restrict_unprivileged_userns=0": "allow unprivileged user namespaces",
	} {
		dir := t.TempDir()
		name, value, _ := strings.Cut(file, "=")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := waysOutOf(dir)
		if !strings.Contains(got, want) || !strings.Contains(got, "sandbox.mode: off") {
			t.Errorf("%s: %s", file, got)
		}
	}
}
