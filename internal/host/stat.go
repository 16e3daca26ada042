package host

import (
	"fmt"
	"strings"

	"agency/internal/agency"
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
	fmt.Fprintf(&b, "  %s changed, %s added, %d deleted\n", agency.Things(len(stats), "file", "files"), agency.Things(added, "line", "lines"), deleted)
	return b.String()
}
