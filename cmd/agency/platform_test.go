//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/git/gittest"
	"agency/internal/ui/tui"
)

// on performs a command as another system would, in a repository of its own.
func on(t *testing.T, goos, own string, args ...string) (code int, mend, said, state string) {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_RUNTIME_DIR": filepath.Join(home, "run")}
	if err := os.MkdirAll(filepath.Join(home, "agency"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "agency", "config.yaml"), []byte("models: {capable: [rehearsal/x]}\n"+own), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{goos: goos, repository: repository{
		terminal: terminal{out: tui.NewScreen(&out, tui.Style{}), err: tui.NewScreen(&out, tui.Style{})}, now: time.Now,
		env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}}
	root := a.root()
	root.SetArgs(append(args, "--repo", gittest.New(t, "README", "x\n").Dir))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	a.report(err)
	return codeOf(err), agency.MendOf(err), out.String(), env["XDG_STATE_HOME"]
}

// Windows has no sandbox and no way around it: commands that let agents work
// name WSL2 and change nothing; those that look work.
func TestWindowsNamesWSL2(t *testing.T) {
	for _, args := range [][]string{
		{"run", "x"},
		{"resume", "x"},
		{"approve", "x"},
		{"reject", "x"},
		{"merge", "x"},
		{"say", "x", "y"},
		{"pause", "x"},
		{"cancel", "x"},
		{"rm", "x"},
		{"demo"},
	} {
		code, mend, said, state := on(t, "windows", "", args...)
		if code != exitEnvironment || !strings.Contains(mend, "WSL2") {
			t.Errorf("%v: code %d, mend %q\n%s", args, code, mend, said)
		}
		if _, err := os.Stat(state); err == nil {
			t.Errorf("%v: left a state folder", args)
		}
	}
	for _, args := range [][]string{{"version"}, {"config", "show"}, {"config", "schema"}, {"config", "validate"}, {"ps"}} {
		if code, _, said, _ := on(t, "windows", "", args...); code != 0 {
			t.Errorf("%v: code %d\n%s", args, code, said)
		}
	}
}

// On macOS a run needs an explicit word that there is no sandbox.
func TestMacNeedsTheSandboxOff(t *testing.T) {
	code, mend, said, _ := on(t, "darwin", "", "run", "x")
	if code != exitEnvironment || !strings.Contains(mend, "mode: \"off\"") || !strings.Contains(said, "macOS has no sandbox") {
		t.Errorf("code %d, mend %q\n%s", code, mend, said)
	}
	cfg := config.Defaults()
	cfg.Sandbox.Mode = "off"
	if err := (&app{goos: "darwin"}).walls(cfg); err != nil {
		t.Errorf("with the word: %v", err)
	}
	if err := (&app{goos: "linux"}).walls(config.Defaults()); err != nil {
		t.Errorf("on Linux: %v", err)
	}
}
