package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Bounds of the report files of one command.
const (
	maxReportFiles = 2000
	maxOutFiles    = 512 // of one call, in the folder for reports
)

// reportFiles is what the XML files of a checkout looked like before a command:
// only those that it wrote are its report.
type reportFiles map[string]string

// findReports lists the XML files of a checkout. Links are not followed.
func findReports(root *os.Root) reportFiles {
	found := reportFiles{}
	_ = walkRepository(root, func(name string, d fs.DirEntry) error {
		if !strings.HasSuffix(strings.ToLower(name), ".xml") {
			return nil
		}
		if info, err := d.Info(); err == nil {
			found[name] = fmt.Sprintf("%d %d %s", info.Size(), info.ModTime().UnixNano(), inode(info))
		}
		if len(found) >= maxReportFiles {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// newReports are the files that appeared or changed since before, sorted.
func (before reportFiles) newReports(root *os.Root) []string {
	var out []string
	for name, sign := range findReports(root) {
		if before[name] != sign {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// readReports reads every JUnit report among the files. ok is false where there
// is none.
func (r reader) readReports(names []string, at func(name string) paths, t *tally) (complete, ok bool) {
	complete = true
	for _, name := range names {
		f, is := openSome(r.root, name)
		if !is {
			continue
		}
		whole, err := parseJUnit(r.left.of(f), at(name), t)
		_ = f.Close() // only read
		if !errors.Is(err, errNoJUnit) {
			ok = true
			complete = complete && whole && err == nil
		}
	}
	return complete && !r.left.cut, ok
}
