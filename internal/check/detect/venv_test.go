package detect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVenvAtTheRoot finds an environment beside tests of Python that have no
// manifest, and leaves it out of PATH: it is there only where it is shown.
func TestVenvAtTheRoot(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	for _, with := range []string{"pyproject.toml", "test_x.py"} {
		repo := t.TempDir()
		for name, text := range map[string]string{with: "", ".venv/pyvenv.cfg": "home = /usr/bin\n", ".venv/bin/tool": ""} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(repo, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		env := func(name string) (string, bool) {
			if name == "PATH" { // as where it is active
				return filepath.Join(repo, ".venv/bin") + ":" + os.Getenv("PATH"), true
			}
			return os.LookupEnv(name)
		}
		f, err := Toolchain(t.Context(), Input{Repo: os.DirFS(repo), Dir: repo, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Dependencies) != 1 || f.Dependencies[0].Folder != ".venv" {
			t.Errorf("with %s: %v", with, f.Dependencies)
		}
		if all := strings.Join(f.Tools.Env, " "); strings.Contains(all, ".venv") {
			t.Errorf("with %s: %s", with, all)
		}
	}
}
