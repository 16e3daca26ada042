package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// TestVenvOfCheckout uses the virtual environment of the user's checkout in each tier: the
// programs in it by name, by module and by path, and the package that it has
// installed from the checkout itself, which is the agent's and not the user's.
func TestVenvOfCheckout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	user := filepath.Join(t.TempDir(), "project")
	root := map[string]string{
		"near":   filepath.Join(t.TempDir(), "tree"),
		"far":    filepath.Join(t.TempDir(), strings.Repeat("deep", 60), "tree"), // no first line of a script holds it
		"spaced": filepath.Join(t.TempDir(), "a tree"),
	}
	files := map[string]string{"pyproject.toml": "[project]\nname = \"mine\"\n", "web/setup.py": "", "src/mine.py": "whose = 'AGENT'\n"}
	for _, dir := range []string{user, root["near"], root["far"], root["spaced"]} {
		for name, text := range files {
			if dir == user {
				text = strings.ReplaceAll(text, "AGENT", "USER")
			}
			writeAs(t, filepath.Join(dir, name), text, 0o600)
		}
	}
	for _, part := range []string{".venv", "web/.venv"} {
		venv := filepath.Join(user, part)
		if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
			t.Skipf("needs python3 with venv: %v: %s", err, out)
		}
		site, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
		if err != nil || len(site) != 1 {
			t.Fatal(site, err)
		}
		writeAs(t, filepath.Join(site[0], "tool.py"), "import sys, mine\nprint(sys.prefix.rsplit('/', 1)[0], mine.whose, mine.__file__)\n", 0o600)
		writeAs(t, filepath.Join(site[0], "mine.pth"), filepath.Join(user, "src")+"\n", 0o600)
		writeAs(t, filepath.Join(venv, "bin", "tool"), "#!"+venv+"/bin/python3\nimport sys\nsys.argv[0] = 'tool'\nimport tool\n", 0o700)
	}
	found, err := detect.Toolchain(t.Context(), detect.Input{Repo: os.DirFS(user), Dir: user, Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(t.TempDir(), "installed") // of all, as after a restart
	for _, mode := range []sandbox.Mode{sandbox.ModeFull, sandbox.ModeLandlock, sandbox.ModeOff} {
		for name, root := range root {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				runner, err := sandbox.New(sandbox.Options{Mode: mode, StateDir: t.TempDir()})
				if err != nil {
					t.Skipf("no tier %s here: %v", mode, err)
				}
				t.Cleanup(func() { _ = runner.Close() })
				c := check.New(check.Options{Runner: runner, DB: w.db, LayerDir: t.TempDir(), InstallDir: installed, Environment: ecosystem.Environment{Tools: found.Tools}, Dependencies: found.Dependencies})
				s := w.subject("")
				s.Place.Root, s.Place.At = root, user
				at := user
				if mode != sandbox.ModeFull {
					at = root
				}
				for line, part := range map[string]string{
					"tool": "", "python3 -m tool": "", ".venv/bin/tool": "", ". .venv/bin/activate && tool": "",
					`"$VIRTUAL_ENV/bin/python" -m tool`: "", "web/.venv/bin/tool": "/web", "cd web && .venv/bin/python -m tool": "/web",
				} {
					r, err := c.Run(t.Context(), s, test(line))
					if err != nil {
						t.Fatal(err)
					}
					if want := at + part + " AGENT " + at + "/src/mine.py\n"; r.ExitCode != 0 || r.Output != want {
						t.Errorf("%s: exit code %d: %s\nwant %s", line, r.ExitCode, r.Output, want)
					}
				}
			})
		}
	}
	if b, err := os.ReadFile(filepath.Join(user, ".venv/bin/tool")); err != nil || !strings.HasPrefix(string(b), "#!"+user+"/.venv/") {
		t.Errorf("the user's own now says %.80s, %v", b, err)
	}
}

func writeAs(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestVenvOfSetup uses a virtual environment that setup made on one checkout in
// another, by its programs' names, as often as a command asks for it.
func TestVenvOfSetup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	user := t.TempDir()
	for _, mode := range []sandbox.Mode{sandbox.ModeFull, sandbox.ModeLandlock, sandbox.ModeOff} {
		t.Run(string(mode), func(t *testing.T) {
			setup, other := filepath.Join(t.TempDir(), "setup"), filepath.Join(t.TempDir(), "other")
			for _, dir := range []string{setup, other} {
				writeAs(t, filepath.Join(dir, "requirements.txt"), "dep\n", 0o600)
			}
			runner, err := sandbox.New(sandbox.Options{Mode: mode, StateDir: t.TempDir()})
			if err != nil {
				t.Skipf("no tier %s here: %v", mode, err)
			}
			t.Cleanup(func() { _ = runner.Close() })
			c := check.New(check.Options{
				Runner:      runner,
				DB:          w.db,
				LayerDir:    t.TempDir(),
				Finder:      detect.Finder{},
				InstallDir:  t.TempDir(),
				Environment: ecosystem.Environment{Tools: sandbox.Toolchain{Env: []string{"PATH=/usr/bin:/bin"}}},
			})
			s := w.subject("")
			s.Place.At, s.Place.Root, s.Layer = user, setup, check.LayerVerify
			line := `mkdir -p .venv/bin && echo "home = /usr/bin" >.venv/pyvenv.cfg && ln -s "$PWD/.venv/bin/tool" .venv/bin/linked &&
				printf '#!%s/.venv/bin/shell\necho "$0"' "$PWD" >.venv/bin/tool && ln -s /bin/sh .venv/bin/shell && chmod +x .venv/bin/tool`
			if r, err := c.Install(t.Context(), s, check.Install{Command: check.Command{Line: line}}); err != nil || !r.OK() {
				t.Fatalf("%v: %s", err, r.Output)
			}
			if err := os.RemoveAll(setup); err != nil {
				t.Fatal(err)
			}
			s.Place.Root = other
			at := other
			if mode == sandbox.ModeFull {
				at = user
			}
			for range 2 {
				r, err := c.Run(t.Context(), s, test(`tool && linked && echo "$VIRTUAL_ENV"`))
				if want := at + "/.venv/bin/tool\n" + at + "/.venv/bin/linked\n" + at + "/.venv\n"; err != nil || r.Output != want {
					t.Errorf("%v, exit code %d: %s\nwant %s", err, r.ExitCode, r.Output, want)
				}
				if note, err := c.Withheld(t.Context(), s.Place, s.Contract); note != "" || err != nil {
					t.Errorf("%q, %v", note, err)
				}
			}
		})
	}
}
