package briefing

import (
	"fmt"
	"strings"
	"testing"
)

// An overview names files a folder a line, as deep as there is room for; what is deeper is
// counted, and no name breaks a line.
func TestOverview(t *testing.T) {
	files := []string{"README.md", "a/b/c/deep.go", "a/b/one.go", "a/b/two.go", "a/x.go", "odd\nname", "z/last.go"}
	for depth, want := range map[int]string{
		1: "./: README.md a/(4) \"odd\\nname\" z/(1)",
		2: "./: README.md \"odd\\nname\"\na/: b/(3) x.go\nz/: last.go",
		3: "./: README.md \"odd\\nname\"\na/: x.go\na/b/: c/(1) one.go two.go\nz/: last.go",
	} {
		if got := overview(files, depth, 100); got != want {
			t.Errorf("depth %d:\n%s\nwant\n%s", depth, got, want)
		}
	}
	if got, want := overview(files, 3, 8), overview(files, 2, 100); got != want {
		t.Errorf("with little room:\n%s", got)
	}
	if overview(nil, 3, 100) != "" || overview(files, 0, 0) != "" {
		t.Error("something of nothing")
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("f%03d.go", i))
	}
	if got := overview(many, 3, 100); len(got) > 600 || !strings.HasSuffix(got, " [460 more]") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
