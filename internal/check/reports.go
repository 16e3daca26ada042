package check

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Bounds of the report files of one command.
const (
	maxReportFiles = 2000
	maxReportBytes = 64 << 20
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
func readReports(root *os.Root, files []string) (t *tally, complete, ok bool) {
	t, complete = newTally(), true
	var read int64
	for _, name := range files {
		doc := readSome(root, name, maxReport+1)
		if read += int64(len(doc)); read > maxReportBytes {
			return t, false, ok
		}
		if !looksLikeJUnit(doc) {
			continue
		}
		whole, err := parseJUnit(doc, t)
		ok = true
		complete = complete && whole && err == nil
	}
	return t, complete, ok
}
