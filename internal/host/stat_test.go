package host

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/git"

	"github.com/google/go-cmp/cmp"
)

func TestStatText(t *testing.T) {
	stats := []git.Stat{
		{Path: "a.go", Added: 1, Deleted: 2},
		{Path: "x\n  fake.go  +0 -0", Added: 1},
		{Path: "\xff\u202e", Binary: true},
		{Path: strings.Repeat("d/", 1500) + "long", Added: 3},
	}
	want := []string{
		"  a.go" + strings.Repeat(" ", 76) + "  +1 -2",
		fmt.Sprintf("  %-80s  +1 -0", `"x\n  fake.go  +0 -0"`),
		fmt.Sprintf("  %-80s  binary", `"\xff\u202e"`),
		"  " + strings.Repeat("d/", 1500) + "long  +3 -0",
		"  4 files changed, 5 lines added, 2 deleted", "",
	}
	if diff := cmp.Diff(want, strings.Split(StatText(stats, 10), "\n")); diff != "" {
		t.Error(diff)
	}
	want = []string{"  a.go  +1 -2", "  and 3 more", "  4 files changed, 5 lines added, 2 deleted", ""}
	if diff := cmp.Diff(want, strings.Split(StatText(stats, 1), "\n")); diff != "" {
		t.Error(diff)
	}
}
