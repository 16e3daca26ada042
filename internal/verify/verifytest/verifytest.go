// Package verifytest has what tests of verification work on: a repository with a
// run on it, in real git, store and sandbox. Its own tests are the table of
// claims that verification is judged by (testdata/table/README.md).
package verifytest

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/verdicts"
	"agency/internal/verify"
	"agency/internal/workspace"
)

// Run is the run of every World.
const Run = agency.RunID("run-1")

// World is a repository with a run on it.
type World struct {
	Repo     string // its folder
	Base     agency.OID
	DB       *store.DB
	Run      *workspace.Run
	Options  verify.Options
	Verifier *verify.Verifier
	Commands check.Commands // that its files suggest
}

// New makes a world of these files; it skips where there is no full sandbox.
func New(t *testing.T, files map[string]string) *World {
	t.Helper()
	w := &World{Repo: t.TempDir()}
	Write(t, w.Repo, files)
	Git(t, w.Repo, "init", "-q", "-b", "main")
	Git(t, w.Repo, "add", "-A")
	Git(t, w.Repo, "commit", "-q", "--allow-empty", "-m", "state")
	w.Base = agency.OID(Git(t, w.Repo, "rev-parse", "HEAD"))
	state := t.TempDir()
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: state})
	if err != nil {
		t.Skipf("no full sandbox here: %v", err)
	}
	w.DB = storetest.Open(t, store.Options{
		Path: filepath.Join(state, "agency.db"),
		Sets: []store.Set{event.Migrations(), check.Migrations(), workspace.Migrations(), verdicts.Migrations()},
	})
	manager := w.open(t, state, runner)
	found, err := detect.Toolchain(t.Context(), detect.Input{Repo: os.DirFS(w.Repo), Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	checker := check.New(check.Options{
		Runner:      runner,
		DB:          w.DB,
		Environment: ecosystem.Environment{Tools: found.Tools, Version: found.Version},
		LayerDir:    filepath.Join(state, "cache"),
	})
	w.Commands, _ = detect.Commands(os.DirFS(w.Repo))
	w.Options = verify.Options{
		DB: w.DB, Workspaces: manager, Syntax: code.New(code.Options{}),
		Checker:  func(context.Context, agency.RunID) (*check.Checker, error) { return checker, nil },
		LinesFor: time.Hour, // what is found depends on no machine's speed
	}
	w.Verifier = verify.New(w.Options)
	return w
}

func (w *World) open(t *testing.T, state string, runner *sandbox.Runner) *workspace.Manager {
	t.Helper()
	host, err := git.NewProgram(t.Context(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	loc, err := git.Find(w.Repo)
	if err != nil {
		t.Fatal(err)
	}
	manager := workspace.New(workspace.Options{Git: host, DB: w.DB, ObjectsAt: runner.ObjectsAt})
	w.Run, err = manager.OpenRun(t.Context(), workspace.RunInfo{Run: Run, Repo: loc, Base: w.Base, StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

// Some leaves a third of the cases where time is short.
func Some[C any](cases map[string]C) map[string]C {
	if testing.Short() {
		for i, name := range slices.Sorted(maps.Keys(cases)) {
			if i%3 != 0 {
				delete(cases, name)
			}
		}
	}
	return cases
}

// Write writes files below a folder; an empty text removes one.
func Write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if text == "" {
			if err := os.RemoveAll(p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Git runs git in a folder, as nobody in particular, and gives what it prints.
func Git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@localhost", "-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Needs skips where a program is missing or does not answer.
func Needs(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Skipf("needs %s: %v: %s", program, err, out)
	}
}
