package acts

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/git"
	"agency/internal/git/gittest"
)

// TestWhatHooksRun changes scripts that hooks and scripts of installation run,
// which themselves stay as they are, and files that these only speak of.
func TestWhatHooksRun(t *testing.T) {
	r := gittest.New(t)
	all := []string{
		".husky/pre-commit", "# see docs/hooks.md, scripts/unused.sh\nsh scripts/hook.sh && \"$(dirname \"$0\")/near.sh\"\nnpm test\n",
		".husky/near.sh", "true\n", "scripts/hook.sh", "# scripts/other.sh\n. ./scripts/lib.sh\n", "scripts/lib.sh", "true\n", "scripts/unused.sh", "true\n", "scripts/other.sh", "true\n",
		"web/package.json", `{"scripts": {"test": "node test.js", "postinstall": "node install && sh \"$INIT_CWD/tools/x.sh\""}}`,
		"web/install.js", "1\n", "web/test.js", "1\n", "web/tools/x.sh", "true\n",
		".envrc", "source_env env/dev.sh\n", "env/dev.sh", "true\n",
		".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: a\n    files: ^src/main.py$\n    entry: python tools/lint.py\n", "src/main.py", "1\n", "tools/lint.py", "1\n",
		".github/workflows/ci.yml", "run: sh scripts/ci.sh\n", "scripts/ci.sh", "true\n", "docs/hooks.md", "a\n", "test", "a\n",
	}
	r.Write(all...)
	from := r.Commit("before")
	for i := 0; i < len(all); i += 2 {
		if p := all[i]; !strings.HasPrefix(p, ".") && filepath.Base(p) != "package.json" || p == ".husky/near.sh" {
			r.Write(p, all[i+1]+"2\n")
		}
	}
	to := r.Commit("after")
	h, err := git.NewProgram(t.Context(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Find(t.Context(), h.Open(filepath.Join(r.Dir, ".git")), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, a := range got {
		named = append(named, a.Path+": "+a.Does)
		if Declares([]string{"**"}, a) {
			t.Errorf("declared: %s", a.Path)
		}
	}
	want := []string{
		".husky/near.sh: runs as a hook of git", "env/dev.sh: is run by .envrc", "scripts/hook.sh: is run by .husky/pre-commit", "scripts/lib.sh: is run by .husky/pre-commit",
		"tools/lint.py: is run by .pre-commit-config.yaml", "web/install.js: is run by web/package.json", "web/tools/x.sh: is run by web/package.json",
	}
	if fmt.Sprint(named) != fmt.Sprint(want) {
		t.Errorf("named\n%s\nwant\n%s", strings.Join(named, "\n"), strings.Join(want, "\n"))
	}
}
