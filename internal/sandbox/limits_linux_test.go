package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// TestLimits passes each limit and wants its name.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		argv   []string
		limits Limits
		want   Cause
	}{
		{"wall", sh("sleep 100"), Limits{Wall: 300 * time.Millisecond}, CauseTimeout},
		{"wall with a deaf tree", sh("trap '' TERM INT HUP; sleep 100 & sleep 100"), Limits{Wall: 300 * time.Millisecond}, CauseTimeout},
		{"cpu", sh("while :; do :; done"), Limits{CPU: 200 * time.Millisecond}, CauseCPU},
		{"cpu of a child", sh("sh -c 'while :; do :; done'; true"), Limits{CPU: 200 * time.Millisecond}, CauseCPU},
		{"fork bomb", sh("f() { f | f & }; f & while :; do :; done"), Limits{Processes: 64}, CauseProcesses},
		{"many processes", sh("while :; do sleep 100 & done"), Limits{Processes: 32}, CauseProcesses},
		{"memory", eater("memory"), Limits{MemoryMB: 128}, CauseMemory},
		{"memory of many processes", eater("memory of many"), Limits{MemoryMB: 192}, CauseMemory},
		{"memory that nobody has attached", eater("shared memory"), Limits{MemoryMB: 128}, CauseMemory},
		{"file size", sh("head -c 20000000 /dev/zero > big"), Limits{FileSizeMB: 8}, CauseFileSize},
		{"own exit", sh("exit 7"), Limits{}, CauseExited},
		{"own signal", sh("kill -KILL $$"), Limits{}, CauseSignalled},
		{"no such program", []string{"/usr/bin/no-such-program"}, Limits{}, CauseNotStarted},
		{"not a program", []string{"/etc/hosts"}, Limits{}, CauseNotStarted},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := shell(t, "", limited(c.argv, c.limits))
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
	wantStopped(t, run(t, full(t, Options{}), w.spec))
}

func TestMemfd(t *testing.T) { attack(t, "memfd") }

func TestOutputClipped(t *testing.T) {
	res := shell(t, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last",
		func(s *Spec) { s.Limits.OutputKB = 4 })
	wantCause(t, res, CauseExited)
	out := string(res.Output)
	if len(out) > 4<<10 || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "\nlast\n") {
		t.Fatalf("%d bytes, %.20q ... %.20q", len(out), out, out[max(0, len(out)-20):])
	}
	if want := int64(3000000 + len("first\n\nlast\n") - len(out)); res.Dropped != want {
		t.Errorf("dropped %d, want %d", res.Dropped, want)
	}
	if len(res.Stdout) != 4<<10*stdoutFactor || res.StdoutDropped == 0 {
		t.Errorf("standard output: %d kept, %d dropped", len(res.Stdout), res.StdoutDropped)
	}
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
	if text(res) != "alive" {
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
