package host

import (
	"fmt"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// statWidth is how far the counts of a summary are moved to the right at most,
// in letters: one long path must not make every line as long.
const statWidth = 80

// StatText is the summary of a change, a line a file, of the first most of them;
// those that are left out count.
func StatText(stats []git.Stat, most int) string {
	var b strings.Builder
	shown := stats[:min(len(stats), most)]
	names := make([]string, 0, len(shown))
	width, added, deleted := 0, 0, 0
	for _, s := range shown {
		name := s.Path
		if q := strconv.Quote(name); q != `"`+name+`"` { // a path may hold what looks like more lines
			name = q
		}
		names, width = append(names, name), max(width, len(name))
	}
	width = min(width, statWidth)
	for i, s := range shown {
		if s.Binary {
			fmt.Fprintf(&b, "  %-*s  binary\n", width, names[i])
			continue
		}
		fmt.Fprintf(&b, "  %-*s  +%d -%d\n", width, names[i], s.Added, s.Deleted)
	}
	for _, s := range stats {
		added, deleted = added+s.Added, deleted+s.Deleted
	}
	if more := len(stats) - len(shown); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	fmt.Fprintf(&b, "  %s changed, %s added, %d deleted\n", agency.Things(len(stats), "file", "files"), agency.Things(added, "line", "lines"), deleted)
	return b.String()
}
