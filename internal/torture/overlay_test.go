//go:build linux

package torture

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// edit is a change of one source file for one build. The text must stand in it
// exactly once: code that has moved on is noticed, not passed over.
type edit struct {
	file     string // below the module
	old, new string
}

// overlay writes the edited files, and whole new ones, beside the sources and
// gives the flag with which the go command builds them instead. The sources
// themselves stay as they are.
func overlay(t *testing.T, edits []edit, added map[string]string) string {
	t.Helper()
	dir, root := t.TempDir(), moduleRoot(t)
	replace, texts := map[string]string{}, map[string]string{}
	for _, e := range edits {
		text, ok := texts[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("%s holds %d times what is to be changed for this test: %q", e.file, n, e.old)
		}
		texts[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	for file, text := range added {
		texts[file] = text
	}
	for file, text := range texts {
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, file)] = at
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return "-overlay=" + list
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}
