package codebase_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/lsp"
	"agency/internal/codebase"
	"agency/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

// public are repositories whose names are changed, with the line that builds and tests each.
var public = []struct {
	name, line string
	languages  []code.Language
}{
	{"click", "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src /usr/bin/python3 -m pytest -q -x -p no:cacheprovider tests", []code.Language{code.Python}},
	{"boltons", "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -x -p no:cacheprovider tests", []code.Language{code.Python}},
	{"more-itertools", "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m unittest -q", []code.Language{code.Python}},
	{"ufo", "npx tsc --noEmit -p . && npx vitest run", []code.Language{code.TypeScript}},
	{"ts-pattern", "npx tsc --noEmit -p . && npx tsc --noEmit -p tests", []code.Language{code.TypeScript}},
	{"commander.js", "npx tsc -p tsconfig.ts.json && node --test", []code.Language{code.JavaScript}},
	{"parson", "make -B test", []code.Language{code.C}},
	{"cJSON", "make -B test", []code.Language{code.C}},
	{"inih", "cd tests && CC=cc bash unittest.sh && git diff --exit-code *.txt", []code.Language{code.C}},
	{"pflag", "go vet ./... && go test ./...", []code.Language{code.Go}},
	{"mux", "go vet ./... && go test ./...", []code.Language{code.Go}},
}

// TestPublicRenames renames definitions drawn at random in public repositories, whose clones
// lie in the folder that AGENCY_CLONES names, AGENCY_DRAWN of each, by language servers in the
// sandbox: what is renamed must build and pass its tests, or nothing be renamed.
func TestPublicRenames(t *testing.T) {
	clones := os.Getenv("AGENCY_CLONES")
	n, _ := strconv.Atoi(os.Getenv("AGENCY_DRAWN"))
	if clones == "" || n == 0 {
		t.Skip("AGENCY_CLONES names no folder with clones of public repositories, or AGENCY_DRAWN no number")
	}
	for _, r := range public {
		t.Run(r.name, func(t *testing.T) {
			dir := filepath.Join(clones, r.name)
			if _, err := os.Stat(dir); err != nil {
				t.Skip(err)
			}
			c := cloneOf(t, dir, r.line)
			drawn := c.definitions(t, r.languages)
			rand.New(rand.NewPCG(7, 7)).Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
			for _, s := range drawn[:min(n, len(drawn))] {
				c.rename(t, s)
			}
		})
	}
}

// clone is a checkout with its servers.
type clone struct {
	dir, line string
	tree      codebase.Tree
}

func cloneOf(t *testing.T, dir, line string) clone {
	t.Helper()
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := detect.Toolchain(t.Context(), detect.Input{Repo: root.FS(), Dir: dir, Env: os.LookupEnv, Sight: runner.Sight(dir), Commands: check.Commands{}})
	if err != nil {
		t.Fatal(err)
	}
	keeper, home := lsp.NewKeeper(4), t.TempDir()
	servers := keeper.Open(dir, func(ctx context.Context, p lsp.Process) (int, error) {
		defer func() { _ = p.Stdin.Close() }()
		tools := found.Tools
		tools.ReadOnly = append(slices.Clone(tools.ReadOnly), sandbox.Mount{Host: dir, At: dir, Own: true, Apart: true})
		limits := sandbox.DefaultLimits()
		limits.Wall = time.Hour
		res, err := runner.Run(ctx, sandbox.Spec{
			Place: sandbox.Place{Root: home, At: home}, Tools: tools, LayerDir: filepath.Join(filepath.Dir(home), "layers"), Argv: p.Argv,
			Env: append(slices.Clone(p.Env), "HOME="+home), Limits: limits, Input: p.Stdin, Stdout: p.Stdout,
		})
		t.Logf("a server ended: %s %d, at most %d MiB, %v; %.300s", res.Cause, res.ExitCode, res.MaxRSSKB>>10, err, res.Output)
		return res.ExitCode, err
	})
	engine := codebase.New(code.New(code.Options{}), func() gotypes.Place { return gotypes.FindPlace(os.Getenv) }, nil)
	t.Cleanup(func() {
		servers.Close()
		_ = engine.Close()
		_ = root.Close()
		_ = runner.Close()
	})
	c := clone{dir, line, engine.Of(root.FS()).Asking(servers)}
	if out, err := c.passes(t); err != nil {
		t.Fatalf("it does not pass as it is: %v\n%s", err, out)
	}
	return c
}

// passes builds and tests the checkout.
func (c clone) passes(t *testing.T) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", c.line)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	return string(out[max(0, len(out)-3000):]), err
}

// definitions are those of the clone's own files that a name of a file means.
func (c clone) definitions(t *testing.T, languages []code.Language) (out []codebase.Symbol) {
	t.Helper()
	err := filepath.WalkDir(c.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && codebase.Skipped(e.Name()) {
			return cmpErr(err, fs.SkipDir)
		}
		rel, _ := filepath.Rel(c.dir, p)
		if !e.Type().IsRegular() || !slices.Contains(languages, code.SyntaxOf(rel)) {
			return nil
		}
		o, err := c.tree.Outline(t.Context(), rel, 4, 5000)
		out = append(out, o.Symbols...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// rename renames one, builds and tests, and takes it back.
func (c clone) rename(t *testing.T, s codebase.Symbol) {
	t.Helper()
	name := s.Name
	if s.Container != "" {
		name = s.Container + "." + name
	}
	what := fmt.Sprintf("%s:%d %s %s", s.Path, s.Line, s.Kind, name)
	begun := time.Now()
	change, err := c.tree.Rename(t.Context(), name, s.Path, s.Name+"_anew")
	took := time.Since(begun).Round(time.Millisecond)
	if err != nil {
		t.Logf("REFUSED %s (%v): %s", what, took, err)
		if kind := agency.KindOf(err); kind != agency.KindConflict {
			t.Errorf("%s: an error of kind %s", what, kind)
		}
		return
	}
	write := func(text func(codebase.FileChange) []byte) {
		for _, f := range change.Files {
			if err := os.WriteFile(filepath.Join(c.dir, f.Path), text(f), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(func(f codebase.FileChange) []byte { return f.After })
	out, err := c.passes(t)
	write(func(f codebase.FileChange) []byte { return f.Before })
	if err != nil {
		t.Errorf("WRONG %s (%v, %s, %d places): %v\n%s", what, took, change.Certainty, change.Places, err, out)
		return
	}
	t.Logf("DONE %s (%v, %s, %d places, %d files)", what, took, change.Certainty, change.Places, len(change.Files))
}
