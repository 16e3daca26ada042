package check_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/sandbox"
)

// put writes files below a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWorldChanges looks up a receipt after one thing around the tree changed:
// it counts only where that is not loaded.
func TestWorldChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package.json": "{}"})
	for name, tt := range map[string]struct {
		change func(t *testing.T, user string)
		same   bool
	}{
		"nothing": {func(*testing.T, string) {}, true},
		"an edit of a package": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"node_modules/dep/index.js": "exports.x = 2"})
		}, false},
		"an edit that keeps size and time": {func(t *testing.T, user string) {
			at := filepath.Join(user, "node_modules/dep/index.js")
			info, err := os.Stat(at)
			if err != nil {
				t.Fatal(err)
			}
			put(t, user, map[string]string{"node_modules/dep/index.js": "exports.x = 3"})
			if err := os.Chtimes(at, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a package more": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"node_modules/other/index.js": ""})
		}, false},
		"a package less": {func(t *testing.T, user string) {
			if err := os.RemoveAll(filepath.Join(user, "node_modules/dep")); err != nil {
				t.Fatal(err)
			}
		}, false},
		"all packages gone": {func(t *testing.T, user string) {
			if err := os.RemoveAll(filepath.Join(user, "node_modules")); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a link elsewhere": {func(t *testing.T, user string) {
			at := filepath.Join(user, "node_modules/link")
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("other", at); err != nil {
				t.Fatal(err)
			}
		}, false},
		"what a bundler keeps": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"node_modules/.cache/x": ""})
		}, false},
		"what Python makes of packages": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"node_modules/dep/__pycache__/x.pyc": ""})
		}, true},
		"a folder that is read": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"read/data": "2"})
		}, false},
		"the runner": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"bin/runner": "#!/bin/sh\nexit 1\n"})
		}, false},
		"the toolchain": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"tool/bin/compiler": "2"})
		}, false},
		"beside all": {func(t *testing.T, user string) {
			put(t, user, map[string]string{"else/x": "2", "target/debug/x": "2"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			user := t.TempDir()
			put(t, user, map[string]string{
				"package.json": "{}", "node_modules/dep/index.js": "exports.x = 1", "read/data": "1", "bin/runner": "#!/bin/sh\nexit 0\n",
				"tool/bin/compiler": "1", "target/debug/x": "1", "else/x": "1",
			})
			if err := os.Symlink("dep", filepath.Join(user, "node_modules/link")); err != nil {
				t.Fatal(err)
			}
			options := check.Options{
				Runner:      w.runner,
				DB:          w.db,
				LayerDir:    w.layers,
				Environment: ecosystem.Environment{Tools: sandbox.Toolchain{Env: []string{"PATH=" + filepath.Join(user, "bin") + ":/usr/bin:/bin"}}, Loads: []fingerprint.Load{{Path: filepath.Join(user, "tool"), Depth: 2}}},
				Reads:       []sandbox.Mount{{Host: filepath.Join(user, "read"), At: filepath.Join(user, "read")}},
				Dependencies: []check.Dependency{
					{Unit: ecosystem.Unit{Folder: "node_modules", Locks: []string{"package.json"}}, Host: filepath.Join(user, "node_modules"), Repo: user},
					{Unit: ecosystem.Unit{Folder: "target"}, Host: filepath.Join(user, "target"), Repo: user},
				},
			}
			options.Tools.ReadOnly = []sandbox.Mount{{Host: filepath.Join(user, "bin"), At: filepath.Join(user, "bin")}}
			s, cmd := w.subject("tree "+name), test("runner")
			s.Run = agency.RunID("run " + name)
			first, err := check.New(options).Run(t.Context(), s, cmd)
			if err != nil || !first.OK() {
				t.Fatalf("%+v, %v", first, err)
			}
			tt.change(t, user)
			if _, known, err := check.New(options).Known(t.Context(), s, cmd); err != nil || known != tt.same {
				t.Errorf("known: %v, %v", known, err)
			}
		})
	}
}

// TestWorldWithinARun changes a package while the run's one checker lives, again
// and again within ticks of the file system's clock: no receipt of before counts.
func TestWorldWithinARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package.json": "{}"})
	user := t.TempDir()
	put(t, user, map[string]string{"package.json": "{}", "node_modules/dep/x": "0"})
	checker := check.New(check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Dependencies: []check.Dependency{
		{Unit: ecosystem.Unit{Folder: "node_modules", Locks: []string{"package.json"}}, Host: filepath.Join(user, "node_modules"), Repo: user},
	}})
	s, cmd := w.subject("tree"), test("cat node_modules/dep/x")
	for n := range 12 {
		said := fmt.Sprint(n % 10)
		put(t, user, map[string]string{"node_modules/dep/x": said})
		r, err := checker.Run(t.Context(), s, cmd)
		if err != nil || r.Output != said || r.CopyOf != "" {
			t.Fatalf("change %d: %+v, %v", n, r, err)
		}
	}
	if _, known, err := checker.Known(t.Context(), s, cmd); err != nil || !known {
		t.Errorf("nothing changed, and the receipt does not count: %v", err)
	}
}

// TestChangedWhileItRan installs something while a command runs: nobody knows
// with what it ran.
func TestChangedWhileItRan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"go": "", "wait.sh": "touch started; while test ! -e go2; do sleep 0.02; done\n"})
	read := t.TempDir()
	put(t, read, map[string]string{"data": "1"})
	options := check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Reads: []sandbox.Mount{{Host: read, At: read}}}
	s, cmd := w.subject("tree"), test("sh wait.sh")
	done := make(chan agency.Receipt, 1)
	go func() {
		r, err := check.New(options).Run(t.Context(), s, cmd)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if _, err := os.Stat(filepath.Join(w.dir, "started")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command did not start")
		}
	}
	put(t, read, map[string]string{"data": "2"})
	put(t, w.dir, map[string]string{"go2": ""})
	if r := <-done; !r.OK() {
		t.Fatalf("%+v", r)
	}
	put(t, read, map[string]string{"data": "1"})
	if _, known, err := check.New(options).Known(t.Context(), s, cmd); err != nil || known {
		t.Errorf("known: %v, %v", known, err)
	}
}

// TestUnknownWorld looks up receipts where a folder that is read cannot be read
// whole: they count in the work that they were made in only.
func TestUnknownWorld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"x": ""})
	read := t.TempDir()
	if err := os.Symlink("loop", filepath.Join(read, "loop")); err != nil {
		t.Fatal(err)
	}
	options := check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Environment: ecosystem.Environment{Loads: []fingerprint.Load{{Path: filepath.Join(read, "loop")}}}}
	s, cmd := w.subject("tree"), test("true")
	for range 2 {
		if r, err := check.New(options).Run(t.Context(), s, cmd); err != nil || r.CopyOf != "" {
			t.Errorf("without a name of the work: %+v, %v", r, err)
		}
	}
	s.Work = "one"
	if _, err := check.New(options).Run(t.Context(), s, cmd); err != nil {
		t.Fatal(err)
	}
	for work, want := range map[string]bool{"one": true, "two": false, "": false} {
		s.Work = work
		if _, known, err := check.New(options).Known(t.Context(), s, cmd); err != nil || known != want {
			t.Errorf("work %q: known %v, %v", work, known, err)
		}
	}
}

// TestInstalledOverlay shows packages as they are now: what commands wrote over
// the packages of before is not laid over others.
func TestInstalledOverlay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package.json": "{}"})
	user := t.TempDir()
	put(t, user, map[string]string{"package.json": "{}", "node_modules/dep/x": "old"})
	options := check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Dependencies: []check.Dependency{
		{Unit: ecosystem.Unit{Folder: "node_modules", Locks: []string{"package.json"}}, Host: filepath.Join(user, "node_modules"), Repo: user},
	}}
	s := w.subject("")
	if r, err := check.New(options).Run(t.Context(), s, test("printf mine > node_modules/dep/x")); err != nil || !r.OK() {
		t.Fatalf("%+v, %v", r, err)
	}
	put(t, user, map[string]string{"node_modules/dep/x": "new"})
	if r, err := check.New(options).Run(t.Context(), s, test("cat node_modules/dep/x")); err != nil || r.Output != "new" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestVenv makes a virtual environment by hand, as the user's own python does,
// and changes a package in it.
func TestVenv(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	w := newWorld(t, map[string]string{"requirements.txt": "dep\n", "test_x.py": `import unittest, dep
class X(unittest.TestCase):
    def test_x(self): self.assertEqual(dep.V, 2)
`})
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", filepath.Join(w.dir, ".venv")).CombinedOutput(); err != nil {
		t.Skipf("no venv here: %s", out)
	}
	site, err := filepath.Glob(filepath.Join(w.dir, ".venv/lib/python3*/site-packages"))
	if err != nil || len(site) != 1 {
		t.Fatal(site, err)
	}
	put(t, site[0], map[string]string{"dep/__init__.py": "V = 1\n"})
	clean := t.TempDir()
	for _, name := range []string{"requirements.txt", "test_x.py"} {
		b, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, clean, map[string]string{name: string(b)})
	}
	run := func(of agency.RunID) agency.Receipt {
		t.Helper()
		found, err := detect.Toolchain(t.Context(), detect.Input{Repo: os.DirFS(w.dir), Dir: w.dir, Env: os.LookupEnv})
		if err != nil {
			t.Fatal(err)
		}
		c := check.New(check.Options{
			Runner:       w.runner,
			DB:           w.db,
			LayerDir:     w.layers,
			Environment:  ecosystem.Environment{Tools: found.Tools, Version: found.Version, Loads: found.Loads},
			Dependencies: found.Dependencies,
		})
		s := w.subject("tree")
		s.Run, s.Stage, s.Place = of, check.StageBase, sandbox.Place{Root: clean, At: w.dir}
		r, err := c.Run(t.Context(), s, test("python3 -m unittest"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := run("run-1"); r.Failed != 1 {
		t.Fatalf("%+v", r)
	}
	if r := run("run-2"); r.CopyOf == "" {
		t.Errorf("nothing changed, and it ran again: %+v", r)
	}
	put(t, site[0], map[string]string{"dep/__init__.py": "V = 2\n"})
	if r := run("run-3"); r.CopyOf != "" || r.Passed != 1 {
		t.Errorf("another version is installed: %+v", r)
	}
}

// TestCostOfALargeWorld signs a node_modules of 40 000 files, and says what that
// costs.
func TestCostOfALargeWorld(t *testing.T) {
	w := newWorld(t, map[string]string{"package.json": "{}"})
	user := t.TempDir()
	put(t, user, map[string]string{"package.json": "{}"})
	for pkg := range 1000 {
		dir := filepath.Join(user, "node_modules", fmt.Sprintf("pkg-%d", pkg), "lib")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	options := check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Dependencies: []check.Dependency{
		{Unit: ecosystem.Unit{Folder: "node_modules", Locks: []string{"package.json"}}, Host: filepath.Join(user, "node_modules"), Repo: user},
	}}
	s, cmd := w.subject("tree"), test("true")
	var took []time.Duration
	for range 7 {
		started := time.Now()
		if _, _, err := check.New(options).Known(t.Context(), s, cmd); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(started))
	}
	t.Logf("a look-up beside 40000 files: %v", took)
	if best := slices.Min(took); best > 2*time.Second {
		t.Errorf("takes %v", best)
	}
}
