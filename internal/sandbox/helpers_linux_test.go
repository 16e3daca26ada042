package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/linux/escape"
	"agency/internal/supervisor"
)

// attackerArg starts the test binary as an attacker inside the sandbox.
const attackerArg = "sandbox-attacker"

// attackerAt is where the test binary lies inside.
const attackerAt = "/opt/attacker"

// at is the user's repository path of these tests; nothing is there on the
// host.
const at = "/srv/project"

// forms are the two ways in which a command gets its sandbox: one of its own,
// and one in which another command has run before.
var forms = [...]struct {
	name string
	idle time.Duration
}{{"cold", -1}, {"warm", time.Minute}}

// full gives a runner of the full tier that gives each command a sandbox of its
// own, or skips the test by name where user namespaces are refused.
func full(t testing.TB, o Options) *Runner {
	t.Helper()
	o.Idle = -1
	return fullOf(t, o)
}

// shared are the runners of either form that tests have in common: to make one
// tries the machine.
var shared = [...]func() (*Runner, error){
	sync.OnceValues(func() (*Runner, error) { return New(Options{Idle: forms[0].idle}) }),
	sync.OnceValues(func() (*Runner, error) { return New(Options{Idle: forms[1].idle}) }),
}

func fullOf(t testing.TB, o Options) *Runner {
	t.Helper()
	for i, form := range forms {
		if reflect.DeepEqual(o, Options{Idle: form.idle}) {
			r, err := shared[i]()
			if err != nil {
				t.Skipf("needs user namespaces: %v", err)
			}
			return r
		}
	}
	r, err := New(o)
	if err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// eachForm runs a test on both forms. The warm runner has a sandbox ready for
// every spec that goes through run.
func eachForm(t *testing.T, f func(t *testing.T, r *Runner)) {
	t.Helper()
	full(t, Options{}) // where there is none, the whole test is skipped by its name
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) { f(t, fullOf(t, Options{Idle: form.idle})) })
	}
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
		Limits:   Limits{Wall: 2 * time.Minute},
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

// probing has the command make all of doctor's attempts.
func (w *workspace) probing(t Tier) *workspace {
	w.t.Helper()
	dir := w.t.TempDir()
	p, err := escape.PlantTraps(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Close)
	shown := escape.TrapsAt
	if t == TierLandlock {
		shown = p.Dir
	}
	w.spec.Argv = []string{attackerAt, supervisor.ProbeArg}
	w.spec.Tools.ReadOnly = append(w.spec.Tools.ReadOnly, Mount{Host: p.Dir, At: escape.TrapsAt})
	w.spec.Env = append(w.spec.Env, escape.TrapsEnv+"="+shown, escape.TrapsOwnEnv+"="+filepath.Join(dir, escape.TrapOwn))
	return w
}

// run runs a command; where sandboxes are kept, in one that has run another.
func run(t testing.TB, r *Runner, s Spec) Result {
	t.Helper()
	warmUp(t, r, s)
	res, err := r.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// warmUp has a sandbox wait for the spec, in which a command has left behind
// what it could.
func warmUp(t testing.TB, r *Runner, s Spec) {
	t.Helper()
	if r.tier != TierFull || r.machine.pool.idle < 0 {
		return
	}
	s.Argv, s.Stdin, s.Dir, s.Limits = []string{"/bin/sh", "-c", leftovers}, nil, "", Limits{}
	if res, err := r.Run(context.Background(), s); err != nil || res.ExitCode != 0 {
		t.Fatalf("%v %s %d %s", err, res.Cause, res.ExitCode, res.Output)
	}
	r.machine.pool.mu.Lock()
	defer r.machine.pool.mu.Unlock()
	if len(r.machine.pool.kept) == 0 {
		t.Fatal("no sandbox waits")
	}
}

// leftovers are files and processes that the next command must not meet.
const leftovers = `exec >/dev/null 2>&1
echo left > /tmp/left; echo left > /dev/shm/left; setsid sleep 1000 & kill -USR1 1; ulimit -n 20; true`

// shell runs a script in a full sandbox of either form; the result is the
// warm one's.
func shell(t *testing.T, script string, change ...func(*Spec)) (res Result) {
	t.Helper()
	w := newWorkspace(t, "/bin/sh", "-c", script)
	for _, c := range change {
		c(&w.spec)
	}
	eachForm(t, func(t *testing.T, r *Runner) { res = run(t, r, w.spec) })
	return res
}

// attack runs one of the attackers inside either form and wants it to report
// that it was stopped: exit code 0 and its reason.
func attack(t *testing.T, name string, args ...string) {
	t.Helper()
	w := newWorkspace(t, append([]string{attackerAt, attackerArg, name}, args...)...)
	eachForm(t, func(t *testing.T, r *Runner) { wantStopped(t, run(t, r, w.spec)) })
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

func printed(res Result) string { return strings.TrimSpace(string(res.Output)) }
