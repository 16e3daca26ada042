//go:build unix

package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOff runs without a sandbox: wall limit, empty environment, tree killed.
func TestOff(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-51c1f2")
	r, err := New(Options{Mode: ModeOff})
	if err != nil {
		t.Fatal(err)
	}
	if r.Mode() != ModeOff || r.Tier() != TierNone {
		t.Fatalf("%s %s", r.Mode(), r.Tier())
	}
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	for _, c := range []struct {
		name, script string
		want         Cause
		code         int
		out          string
	}{
		{"environment", "env | grep -c canary", CauseExited, 1, "0"},
		{"folder", "pwd -P; cat", CauseExited, 0, realPath(t, dir) + "\ninput"},
		{"signal", "kill -TERM $$", CauseSignalled, 143, ""},
		{"wall", "sleep 1000 & echo $! > " + pid + "; wait", CauseTimeout, 137, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := r.Run(context.Background(), Spec{
				Place: Place{Root: dir, At: dir}, Argv: []string{"/bin/sh", "-c", c.script},
				Stdin: []byte("input"), Limits: Limits{Wall: 500 * time.Millisecond},
			})
			if err != nil || res.Cause != c.want || res.ExitCode != c.code || strings.TrimSpace(string(res.Output)) != c.out {
				t.Fatalf("%v %s %d %q", err, res.Cause, res.ExitCode, res.Output)
			}
		})
	}
	b, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	if alive(strings.TrimSpace(string(b))) {
		t.Fatalf("process %s survived", b)
	}
}

func TestOffNotStarted(t *testing.T) {
	r, err := New(Options{Mode: ModeOff})
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(context.Background(), Spec{Place: Place{Root: t.TempDir(), At: "/srv/p"}, Argv: []string{"no-such-program"}})
	if err != nil || res.Cause != CauseNotStarted || res.ExitCode != 127 {
		t.Fatalf("%v %+v", err, res)
	}
}

func TestUnknownMode(t *testing.T) {
	if _, err := New(Options{Mode: "sometimes"}); err == nil {
		t.Fatal("accepted")
	}
}

func realPath(t *testing.T, p string) string {
	t.Helper()
	r, err := filepath.EvalSymlinks(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
