package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// attackerArg starts the test binary as an attacker inside the sandbox.
const attackerArg = "sandbox-attacker"

// attackerAt is where the test binary lies inside.
const attackerAt = "/opt/attacker"

// at is the user's repository path of these tests; nothing is there on the
// host.
const at = "/srv/project"

// full gives a runner of the full tier, or skips the test by name where user
// namespaces are refused.
func full(t testing.TB, o Options) *Runner {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// workspace is a checkout as the host sees it.
type workspace struct {
	t    testing.TB
	dir  string
	spec Spec
}

func newWorkspace(t testing.TB, argv ...string) *workspace {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "tree")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{t: t, dir: dir}
	w.spec = Spec{
		Place:    Place{Root: root, At: at},
		LayerDir: filepath.Join(dir, "layers"),
		Argv:     argv,
		Tools:    Toolchain{ReadOnly: []Mount{{Host: self, At: attackerAt}}},
		Env:      []string{"GORACE=atexit_sleep_ms=0"},
		Limits:   Limits{Wall: 20 * time.Second},
	}
	return w
}

func (w *workspace) write(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func run(t testing.TB, r *Runner, s Spec) Result {
	t.Helper()
	res, err := r.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// shell runs a script in a full sandbox.
func shell(t *testing.T, script string, change ...func(*Spec)) Result {
	t.Helper()
	w := newWorkspace(t, "/bin/sh", "-c", script)
	for _, c := range change {
		c(&w.spec)
	}
	return run(t, full(t, Options{}), w.spec)
}

// attack runs one of the attackers inside and wants it to report that it was
// stopped: exit code 0 and its reason.
func attack(t *testing.T, name string, args ...string) Result {
	t.Helper()
	w := newWorkspace(t, append([]string{attackerAt, attackerArg, name}, args...)...)
	res := run(t, full(t, Options{}), w.spec)
	wantStopped(t, res)
	return res
}

func wantStopped(t *testing.T, res Result) {
	t.Helper()
	if res.Cause != CauseExited || res.ExitCode != 0 {
		t.Fatalf("not stopped: %s %d\n%s", res.Cause, res.ExitCode, res.Output)
	}
}

func wantCause(t *testing.T, res Result, want Cause) {
	t.Helper()
	if res.Cause != want {
		t.Fatalf("cause %s (exit %d), want %s\n%s", res.Cause, res.ExitCode, want, res.Output)
	}
}

func text(res Result) string { return strings.TrimSpace(string(res.Output)) }
