package host

import (
	"fmt"
	"strings"

	"agency/internal/git"
)

// StatText is the summary of a change, a line a file.
func StatText(stats []git.Stat) string {
	var b strings.Builder
	width, added, deleted := 0, 0, 0
	for _, s := range stats {
		width = max(width, len(s.Path))
	}
	for _, s := range stats {
		if s.Binary {
			fmt.Fprintf(&b, "  %-*s  binary\n", width, s.Path)
			continue
		}
		fmt.Fprintf(&b, "  %-*s  +%d -%d\n", width, s.Path, s.Added, s.Deleted)
		added, deleted = added+s.Added, deleted+s.Deleted
	}
	files := "files"
	if len(stats) == 1 {
		files = "file"
	}
	fmt.Fprintf(&b, "  %d %s changed, %d lines added, %d deleted\n", len(stats), files, added, deleted)
	return b.String()
}
