//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "embed"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/git/gittest"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
	"agency/internal/sandbox"
)

// binary is the built command, made once for all tests.
var binary string

func TestMain(m *testing.M) {
	sandbox.Child()
	if n, err := strconv.Atoi(os.Getenv("TORTURE_ORDER")); err == nil {
		if err := orderChild(os.Getenv("TORTURE_DIR"), n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "agency-torture-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "agency")
	build := exec.Command("go", "build", "-o", binary, "agency/cmd/agency")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

//go:embed testdata/script.yaml
var script []byte

// rig is one user with one repository and one model server that outlives
// every kill.
type rig struct {
	t      *testing.T
	home   string
	repo   *gittest.Repo
	server *wire.Server // nil: the host's own player
	bin    string       // the command
	env    []string
	goal   []string // what is run, with its flags
	lands  int      // contracts that land
	mates  []string // whom a person writes to; nobody: whoever leads
	answer string   // of a person to questions; empty: nobody asks
	mortal bool     // its host may die by itself, at any command
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := newServed(t, script, "")
	gittest.WriteFiles(t, r.repo.Dir,
		"go.mod", "module sample\n\ngo 1.24\n",
		"sum.go", "// Package sample adds.\npackage sample\n\n// Sum adds two numbers.\nfunc Sum(a, b int) int { return a - b }\n",
		"sum_test.go", "package sample\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif got := Sum(2, 3); got != 5 {\n\t\tt.Errorf(\"Sum(2, 3) = %d\", got)\n\t}\n}\n",
	)
	r.repo.Commit("start")
	return r
}

// newServed is a rig with an empty repository and a model server that plays a
// script; settings are lines of the configuration.
func newServed(t *testing.T, script []byte, settings string) *rig {
	t.Helper()
	parsed, err := rehearsal.Parse("script.yaml", script)
	if err != nil {
		t.Fatal(err)
	}
	server := wire.New(rehearsal.NewPlayer(parsed), wire.Options{})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	r := newUser(t, fmt.Sprintf(`version: 1
providers:
  server: {type: openai, base_url: %s/v1, api_key: none}
models:
  capable: [server/m]
  fast-cheap: [server/m]
  reasoning-heavy: [server/m]
prices:
  server/m: {in: 1, cached_in: 0.1, out: 5}
%s`, web.URL, settings))
	r.server = server
	r.repo = gittest.Init(t)
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // kept: they are not what is tested
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(out)))
	}
	return r
}

// newUser is a rig without a repository: a home with a configuration.
func newUser(t *testing.T, settings string) *rig {
	t.Helper()
	r := &rig{t: t, home: t.TempDir(), bin: binary, goal: []string{"Mend Sum so that its test passes"}, lands: 1}
	sockets := filepath.Join(r.home, "run")
	config := filepath.Join(r.home, "config", "agency", "config.yaml")
	for _, d := range []string{sockets, filepath.Dir(config)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "HOME="+r.home, "XDG_CONFIG_HOME="+filepath.Join(r.home, "config"), "XDG_STATE_HOME="+filepath.Join(r.home, "state"),
		"XDG_CACHE_HOME="+filepath.Join(r.home, "cache"), "XDG_RUNTIME_DIR="+sockets, "AGENCY_HOST_IDLE=2s", "NO_COLOR=1")
	t.Cleanup(r.killAll)
	return r
}

// agency runs the command to its end, with its exit code.
func (r *rig) agency(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	return r.agencyIn(r.repo.Dir, args...)
}

func (r *rig) agencyIn(dir string, args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.bin, args...)
	cmd.Dir, cmd.Env = dir, r.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("agency %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (r *rig) must(args ...string) string {
	r.t.Helper()
	out, errs, code := r.agency(args...)
	if code != 0 {
		r.t.Fatalf("agency %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

func (r *rig) start() agency.RunID {
	r.t.Helper()
	return agency.RunID(strings.TrimSpace(r.must(append([]string{"run", "--yes", "--detach"}, r.goal...)...)))
}

// finish follows a run to its end and answers what it asks a person.
func (r *rig) finish(id agency.RunID) {
	r.t.Helper()
	for range 20 {
		out, errs, code := r.agency("resume", string(id), "--yes", "--no-wait")
		if code == 0 {
			return
		}
		if r.mortal && code == 4 {
			continue
		}
		if code != 3 || r.answers(id) == 0 {
			r.t.Fatalf("the run ended with %d\n%s%s\n%s", code, out, errs, r.must("inspect", string(id)))
		}
	}
	r.t.Fatalf("the run comes to no end\n%s", r.must("inspect", string(id)))
}

// answers answers the questions of a run that wait for a person, and counts
// them.
func (r *rig) answers(id agency.RunID) (n int) {
	r.t.Helper()
	for _, g := range r.inspect(id).Gates {
		if g.Kind == agency.GateQuestion && r.answer != "" {
			n++
			if out, errs, code := r.agency("approve", string(id), "--gate", string(g.ID), "--note", r.answer); code != 0 && !r.mortal {
				r.t.Fatalf("the answer at %s: exit %d\n%s%s", g.ID, code, out, errs)
			}
		}
	}
	return n
}

func (r *rig) inspect(id agency.RunID) api.InspectDoc {
	r.t.Helper()
	var doc api.InspectDoc
	if err := json.Unmarshal([]byte(r.must("inspect", string(id), "--json")), &doc); err != nil {
		r.t.Fatal(err)
	}
	return doc
}

// processes are those that run our binary, sandboxed ones too: inside, the
// child is the same file.
func processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil && strings.HasPrefix(exe, binary) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killAll ends what this user has started; a host's commands die with it.
func (r *rig) killAll() {
	for _, pid := range processes() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && bytes.Contains(env, []byte(r.home+"/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
		}
	}
}

// killHosts kills every process of the binary at once, as a power cut would.
func (r *rig) killHosts() int {
	pids := processes()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	return len(pids)
}

// settle waits until none of our processes is left, and says which stayed.
func settle(ctx context.Context) []int {
	for ctx.Err() == nil {
		if pids := processes(); len(pids) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return processes()
}

// tree is the tree of the branch the user works on.
func (r *rig) tree() string { return strings.TrimSpace(r.repo.Git("rev-parse", "HEAD^{tree}")) }

// steps are the step keys in the history, sorted.
func (r *rig) steps() []string {
	out := r.repo.Git("log", "--format=%(trailers:key=Agency-Step,valueonly,separator=%x2c)", "HEAD")
	steps := strings.Fields(out)
	slices.Sort(steps)
	return steps
}
