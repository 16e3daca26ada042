package check_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// provider gives a world what setup needs.
func (w *world) installer(mode sandbox.Mode, dir string, with ...func(*check.Options)) {
	w.t.Helper()
	runner := w.runner
	if mode != sandbox.ModeFull {
		var err error
		if runner, err = sandbox.New(sandbox.Options{Mode: mode}); err != nil {
			w.t.Skipf("no tier %s here: %v", mode, err)
		}
	}
	o := check.Options{
		Runner:      runner,
		DB:          w.db,
		LayerDir:    w.layers,
		Finder:      detect.Finder{},
		InstallDir:  dir,
		Environment: ecosystem.Environment{Caches: []ecosystem.Cache{{Name: "gomod", Env: []string{"GOMODCACHE={}"}, Fixed: true}}, Online: []string{"OUT=yes"}},
	}
	for _, set := range with {
		set(&o)
	}
	w.checker = check.New(o)
}

func (w *world) install(line string) agency.Receipt {
	w.t.Helper()
	s := w.subject("")
	s.Layer = check.LayerVerify
	r, err := w.checker.Install(w.t.Context(), s, check.Install{Command: check.Command{Line: line}})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

const lock2 = `{"packages": {"node_modules/dep": {"version": "2.0.0"}}}`

// TestInstall has setup fill a layer, which checkouts with the same lockfiles
// see, also after a restart, and others do not; commands never write it.
func TestInstall(t *testing.T) {
	t.Parallel()
	for _, mode := range []sandbox.Mode{sandbox.ModeFull, sandbox.ModeLandlock, sandbox.ModeOff} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t, map[string]string{"package.json": "{}", "package-lock.json": lock2, "go.mod": goMod})
			dir := t.TempDir()
			w.installer(mode, dir)
			line := `test "$OUT" = yes && mkdir -p node_modules/dep && echo two > node_modules/dep/v && echo mod > "$GOMODCACHE/m" && echo ran >> count`
			r := w.install(line)
			if !r.OK() {
				t.Fatalf("setup: %s", r.Output)
			}
			if again := w.install(line); again.ID != r.ID {
				t.Errorf("installed again, by receipt %s after %s", again.ID, r.ID)
			}
			if b, err := os.ReadFile(filepath.Join(w.dir, "count")); err != nil || string(b) != "ran\n" {
				t.Errorf("setup ran %q times, %v", b, err)
			}
			look := `cat node_modules/dep/v "$GOMODCACHE/m"; ! echo x 2>/dev/null > "$GOMODCACHE/m"; echo mine > node_modules/dep/v`
			if mode == sandbox.ModeOff {
				look = `cat node_modules/dep/v "$GOMODCACHE/m"; echo mine > node_modules/dep/v`
			}
			for range 2 {
				if r := w.run(w.subject(""), test(look)); r.ExitCode != 0 || !strings.Contains(r.Output, "two\nmod\n") {
					t.Errorf("exit code %d: %s", r.ExitCode, r.Output)
				}
				if err := os.RemoveAll(filepath.Join(w.dir, "node_modules")); err != nil { // a copy, where there are no overlays
					t.Fatal(err)
				}
				if err := os.RemoveAll(filepath.Join(w.layers, "agents")); err != nil {
					t.Fatal(err)
				}
				w.installer(mode, dir) // as after a restart
			}
			w.write(map[string]string{"package-lock.json": "{}"})
			if r := w.run(w.subject(""), test("test ! -e node_modules/dep && test -n \"$GOMODCACHE\"")); r.ExitCode != 0 {
				t.Errorf("shown for another lockfile: %s", r.Output)
			}
		})
	}
}

// TestInstallIsWhole leaves nothing of a setup that fails or whose host was
// killed, nor takes a link for a folder.
func TestInstallIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package.json": "{}", "package-lock.json": lock2})
	dir, secret := t.TempDir(), t.TempDir()
	w.installer(sandbox.ModeFull, dir)
	if r := w.install("mkdir node_modules && echo half > node_modules/v && false"); r.OK() {
		t.Error("a setup that fails passes")
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secret, "key"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.install("ln -s " + secret + " node_modules; rm -rf \"$GOMODCACHE\"; ln -s " + secret + ` "$GOMODCACHE"`); !r.OK() {
		t.Errorf("setup: %s", r.Output)
	}
	if err := os.Remove(filepath.Join(w.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if r := w.run(w.subject(""), test("cat node_modules/key $GOMODCACHE/key")); strings.HasPrefix(r.Output, "key") {
		t.Errorf("a link of setup's led out: %s", r.Output)
	}
	half := filepath.Join(dir, "new-0123", "0")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	w.installer(sandbox.ModeFull, dir)
	if r := w.run(w.subject(""), test("test ! -e node_modules/key")); r.ExitCode != 0 {
		t.Errorf("with a half-made layer: %s", r.Output)
	}
	if err := check.SweepInstalled(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("a half-made layer stays: %v", err)
	}
}

// TestInstalledIsOnesOwn keeps what a claim's setup installed from other contracts
// until it has landed, and from the next claim of the same one.
func TestInstalledIsOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package.json": "{}", "package-lock.json": lock2})
	landed := map[agency.ContractID]bool{}
	w.installer(sandbox.ModeFull, t.TempDir(), func(o *check.Options) {
		o.Contracts.Landed = func(_ context.Context, _ agency.RunID, id agency.ContractID) (bool, error) { return landed[id], nil }
	})
	sees := func(id agency.ContractID) string {
		s := w.subject("")
		s.Contract = id
		return strings.TrimSpace(w.run(s, test("cat node_modules/v; true")).Output)
	}
	install := func(tree, what string) {
		s := w.subject(tree)
		s.Layer = check.LayerVerify
		if r, err := w.checker.Install(t.Context(), s, check.Install{Command: check.Command{Line: "mkdir -p node_modules; echo " + what + " > node_modules/v"}}); err != nil || !r.OK() {
			t.Fatal(err, r.Output)
		}
	}
	satisfied := func(id agency.ContractID) bool {
		root, err := os.OpenRoot(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		ok, err := w.checker.Satisfied(t.Context(), root, id, ecosystem.Unit{Folder: "node_modules", Locks: []string{"package-lock.json"}})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	install("tree1", "poison")
	if got := sees("main"); got != "poison" || !satisfied("main") {
		t.Fatalf("its own contract sees %q", got)
	}
	if got := sees("other"); strings.Contains(got, "poison") || satisfied("other") {
		t.Errorf("another contract sees %q", got)
	}
	if err := w.checker.Withdraw(t.Context(), "main", "tree2"); err != nil {
		t.Fatal(err)
	}
	if got := sees("main"); strings.Contains(got, "poison") || satisfied("main") {
		t.Errorf("the next claim sees %q", got)
	}
	install("tree2", "good")
	landed["main"] = true
	if err := w.checker.Withdraw(t.Context(), "main", "tree3"); err != nil {
		t.Fatal(err)
	}
	if got := sees("other"); got != "good" || !satisfied("other") {
		t.Errorf("once it has landed others see %q", got)
	}
}

func TestOnlyInstalls(t *testing.T) {
	for line, want := range map[string]bool{
		"npm ci": true, "npm ci && npm run build": false, "(cd web && pnpm install --frozen-lockfile)": true, "yarn": true, "yarn build": false,
		"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt": true, "uv sync --locked": true, "go mod download": true,
		"go generate ./...": false, "mvn -B dependency:go-offline": true, "mvn package": false, "cargo fetch --locked": true, "$SETUP": false,
		"": false, "npm ci; rm -rf x": false, "cargo build": false, "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev": true,
	} {
		if got := check.OnlyInstalls(line); got != want {
			t.Errorf("%q only installs: %t, want %t", line, got, want)
		}
	}
}

// TestSetupOnce does not run a line that only installs where what it would
// install is there: by a setup of the run, or in the user's own checkout as npm
// itself has noted it. A line that does more runs each time.
func TestSetupOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"package.json": "{}", "package-lock.json": lock2})
	user := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		p := filepath.Join(user, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("package-lock.json", lock2)
	put("node_modules/.package-lock.json", lock2)
	dep := check.Dependency{Unit: ecosystem.Unit{Folder: "node_modules", Locks: []string{"package-lock.json"}}, Host: filepath.Join(user, "node_modules"), Repo: user}
	setup := func(line string) string {
		t.Helper()
		return w.run(w.subject(""), check.Command{Kind: agency.CheckSetup, Line: line}).Output
	}
	w.installer(sandbox.ModeFull, t.TempDir(), func(o *check.Options) { o.Dependencies = []check.Dependency{dep} })
	const known = "npm ci --offline"
	if out := setup(known); !strings.Contains(out, "in the user's checkout") {
		t.Errorf("ran although it is installed: %s", out)
	}
	if out := setup("echo more"); !strings.Contains(out, "more") {
		t.Errorf("did not run: %s", out)
	}
	put("node_modules/.package-lock.json", strings.ReplaceAll(lock2, "2.0.0", "1.0.0"))
	if out := setup(known); strings.Contains(out, "installed in") {
		t.Errorf("did not run although another version is installed: %s", out)
	}
}
