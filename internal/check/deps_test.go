package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// TestDependencies shows a checkout the user's node_modules while the lockfile
// is the user's, and keeps what is written there from the user.
func TestDependencies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package-lock.json": "1", "web/x": ""})
	user := t.TempDir()
	for name, text := range map[string]string{"package-lock.json": "1", "web/node_modules/dep": "from the user\n"} {
		p := filepath.Join(user, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dep := check.Dependency{
		Unit: ecosystem.Unit{Folder: "web/node_modules", Locks: []string{"package-lock.json"}},
		Host: filepath.Join(user, "web/node_modules"), Repo: user,
	}
	for _, mode := range []sandbox.Mode{sandbox.ModeAuto, sandbox.ModeLandlock, sandbox.ModeOff} {
		runner := w.runner
		if mode != sandbox.ModeAuto {
			var err error
			if runner, err = sandbox.New(sandbox.Options{Mode: mode}); err != nil {
				t.Logf("%s: %v", mode, err) // no Landlock here
				continue
			}
			t.Cleanup(func() { _ = runner.Close() })
		}
		w.checker = check.New(check.Options{Runner: runner, DB: w.db, LayerDir: w.layers, Dependencies: []check.Dependency{dep}})
		line := "cd web && cat node_modules/dep && echo mine > node_modules/dep"
		if r := w.run(w.subject(""), test(line)); r.ExitCode != 0 || !strings.Contains(r.Output, "from the user") {
			t.Errorf("mode %s: exit code %d: %s", mode, r.ExitCode, r.Output)
		}
		if b, err := os.ReadFile(filepath.Join(user, "web/node_modules/dep")); err != nil || string(b) != "from the user\n" {
			t.Errorf("mode %s: the user's folder holds %q, %v", mode, b, err)
		}
		if mode != sandbox.ModeAuto {
			if err := os.RemoveAll(filepath.Join(w.dir, "web/node_modules")); err != nil { // the copy
				t.Fatal(err)
			}
		}
	}
	if note, err := w.checker.Withheld(t.Context(), w.subject("").Place, "c1"); note != "" || err != nil {
		t.Errorf("nothing is withheld, and it says %q, %v", note, err)
	}
	w.write(map[string]string{"package-lock.json": "2"})
	if note, err := w.checker.Withheld(t.Context(), w.subject("").Place, "c1"); !strings.Contains(note, "web/node_modules (package-lock.json)") || err != nil {
		t.Errorf("the agent is told %q, %v", note, err)
	}
	w.checker = check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Dependencies: []check.Dependency{dep}})
	if r := w.run(w.subject(""), test("test ! -e web/node_modules/dep")); r.ExitCode != 0 {
		t.Errorf("dependencies of another lockfile are shown: %s", r.Output)
	}
}

// TestUnkeptLock: a repository that ignores its lockfile is judged by its
// manifest; one whose manifest asks for something else is not shown the user's
// packages.
func TestUnkeptLock(t *testing.T) {
	t.Parallel()
	const manifest = `{"dependencies": {"dep": "1"}}`
	w := newWorld(t, map[string]string{"package.json": manifest})
	user := t.TempDir()
	for name, text := range map[string]string{"package.json": manifest, "package-lock.json": "1", "node_modules/dep": "from the user\n"} {
		p := filepath.Join(user, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.checker = check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Dependencies: []check.Dependency{{
		Unit: ecosystem.Unit{Folder: "node_modules", Locks: []string{"package-lock.json"}}, Host: filepath.Join(user, "node_modules"), Repo: user,
	}}})
	if r := w.run(w.subject(""), test("cat node_modules/dep")); r.ExitCode != 0 {
		t.Errorf("not shown: %s", r.Output)
	}
	for name, text := range map[string]string{"package.json": `{"dependencies": {"dep": "2"}}`, "package-lock.json": "2"} {
		w.write(map[string]string{"package.json": manifest, name: text})
		if r := w.run(w.subject(""), test("test ! -e node_modules/dep")); r.ExitCode != 0 {
			t.Errorf("shown although %s is another: %s", name, r.Output)
		}
	}
}

// TestOnlyShownEnvironments puts a virtual environment into PATH where the
// user's is shown, and not where a tree has files of its own in its place.
func TestOnlyShownEnvironments(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	for name, mode := range map[string]os.FileMode{".venv/pyvenv.cfg": 0o600, ".venv/bin/tool": 0o700} {
		p := filepath.Join(user, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("#!/bin/sh\necho the user\\'s; echo at $VIRTUAL_ENV\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	dep := check.Dependency{Unit: ecosystem.Unit{Folder: ".venv"}, Host: filepath.Join(user, ".venv"), Repo: user}
	for _, mode := range []sandbox.Mode{sandbox.ModeFull, sandbox.ModeLandlock, sandbox.ModeOff} {
		r, err := sandbox.New(sandbox.Options{Mode: mode})
		if err != nil {
			t.Logf("%s: %v", mode, err)
			continue
		}
		t.Cleanup(func() { _ = r.Close() })
		o := check.Options{Runner: r, LayerDir: t.TempDir(), Dependencies: []check.Dependency{dep}}
		o.Tools.Env = []string{"PATH=/usr/bin:/bin"}
		for _, own := range []bool{false, true} {
			w := newWorld(t, map[string]string{"a": ""})
			o.DB = w.db
			w.checker = check.New(o)
			if own {
				w.write(map[string]string{".venv/bin/tool": "#!/bin/sh\necho the claim\\'s\n"})
				if err := os.Chmod(filepath.Join(w.dir, ".venv/bin/tool"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second finds the copy of the first
				r := w.run(w.subject(""), test("tool || echo none"))
				want := "the user's\nat " + filepath.Join(w.dir, ".venv")
				if own {
					want = "none"
				}
				if !strings.Contains(r.Output, want) || own && strings.Contains(r.Output, "the claim") {
					t.Errorf("%s, own %t: %s", mode, own, r.Output)
				}
			}
		}
	}
}
