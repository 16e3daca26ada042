package agency_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var namedTest = regexp.MustCompile("`(Test\\w+)`")

// TestSecurityPage holds that each wall of the page has the tests that it names,
// and that the page stays short enough to be read.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "\n"); n > 120 {
		t.Errorf("%d lines", n)
	}
	var tests strings.Builder
	for _, root := range []string{"internal", "."} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && root == "." && p != "." {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(p, "_test.go") {
				return err
			}
			b, err := os.ReadFile(p)
			tests.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := namedTest.FindAllStringSubmatch(string(page), -1)
	if len(named) < 50 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !strings.Contains(tests.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("there is no %s", m[1])
		}
	}
	// A row of a table without a test is a promise only.
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 || len(cells) == 6 {
			last := strings.TrimSpace(cells[len(cells)-2])
			if last != "held by" && strings.Trim(last, "-") != "" && !namedTest.MatchString(last) {
				t.Errorf("no test holds: %s", line)
			}
		}
	}
}
