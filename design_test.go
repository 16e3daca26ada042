package agency_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cited is a comment's reference to a part of the design; a line may end in it.
var cited = regexp.MustCompile(`docs/design\.md, ([A-Z][a-z ]*[a-z])`)

// TestDesignIsThere holds that what comments cite of the design can be read there.
func TestDesignIsThere(t *testing.T) {
	page, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			parts[name] = true
		}
	}
	found := 0
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".go" && filepath.Ext(p) != ".sql" {
			return err
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, m := range cited.FindAllStringSubmatch(string(src), -1) {
			found++
			if !parts[m[1]] {
				t.Errorf("%s cites %q, which the design does not have", p, m[1])
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Fatal(found, err)
	}
}
