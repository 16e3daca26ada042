package detect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsLeaveNoTrace runs the commands of a module with one program, and
// finds the folder as it was.
func TestCommandsLeaveNoTrace(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/tool\n\ngo 1.21\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmds, _ := Commands(os.DirFS(dir))
	for _, line := range []string{cmds.Build, cmds.Lint, cmds.Test} {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestCargoTarget builds elsewhere where git would see what is built.
func TestCargoTarget(t *testing.T) {
	if _, err := exec.LookPath("rustc"); err != nil {
		t.Skip("needs rustc")
	}
	for ignore, want := range map[string]bool{"": true, "/target\n": false} {
		dir := t.TempDir()
		for name, text := range map[string]string{"Cargo.toml": "[package]\n", ".gitignore": ignore} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		found, err := Toolchain(t.Context(), Input{Repo: os.DirFS(dir), Dir: dir, Env: os.LookupEnv})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Missing) > 0 {
			t.Skip(found.Missing)
		}
		if got := strings.Contains(strings.Join(found.Tools.Env, " "), "CARGO_TARGET_DIR="); got != want {
			t.Errorf("ignored by %q: %t", ignore, got)
		}
	}
}

// TestCompilerAlone checks types in the place of a build that would write among the
// sources.
func TestCompilerAlone(t *testing.T) {
	cmds, _ := Commands(tree(map[string]string{
		"package.json": `{"scripts": {"build": "tsc"}, "devDependencies": {"typescript": "5"}}`, "tsconfig.json": "{}",
	}))
	if cmds.Build != "" || cmds.Typecheck != "npx tsc --noEmit" {
		t.Errorf("%+v", cmds)
	}
}
