package quality

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/regexp"
)

// A copy is so many lines in a row that stand elsewhere, too, without what says nothing:
// blanks, comments, brackets alone, imports. Fewer are idiom.
const (
	copyLines  = 10
	copySize   = 250 // their characters
	longCopy   = 400 // lines that one finding tells of at most
	maxProbes  = 32  // lines that the tree is searched for
	maxCopies  = 20  // that are told
	probeWidth = 24  // characters that a line must have to be searched for
)

var copied = rule{"copied-code", agency.IssueMinor, agency.Maintainability, ""}

// significant is a line that says something.
type significant struct {
	at   int
	text string
}

var saysNothing = regexp.MustCompile(`^(?:[\W_]*|//.*|#.*|\*.*|/\*.*|import\b.*|from\s.*\simport\b.*|"[\w./-]+"|package\b.*|use\s.*|return|break;?|continue;?|else:?|pass|\} else \{)$`)

func significantLines(src []byte) (out []significant) {
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		if t := strings.Join(strings.Fields(line), " "); !saysNothing.MatchString(t) {
			out = append(out, significant{n, t})
		}
	}
	return out
}

// compared tells of files in which copies are looked for.
func compared(f File) bool {
	return !f.Test && code.LanguageOf(f.Path) != "" && len(f.After) <= maxSource && !generated.Match(f.After[:min(len(f.After), 2048)])
}

// runs are the stretches of added lines that are long enough for a copy.
func (f File) runs() (out [][]significant) {
	var now []significant
	end := func() {
		if len(now) >= copyLines {
			out = append(out, now)
		}
		now = nil
	}
	for _, l := range significantLines(f.After) {
		if _, added := slices.BinarySearch(f.Added, l.at); !added {
			end()
			continue
		}
		now = append(now, l)
	}
	end()
	return out
}

// Probes are texts of added lines that stand wherever a copy of them stands: the longest
// of each few lines. Without any there is nothing that could be a copy.
func Probes(files []File) (out []string) {
	for _, f := range files {
		if !compared(f) {
			continue
		}
		for _, run := range f.runs() {
			for i := 0; i+copyLines <= len(run) && len(out) < maxProbes; i += copyLines / 2 {
				best := slices.MaxFunc(run[i:i+copyLines], func(a, b significant) int { return len(a.text) - len(b.text) })
				if len(best.text) >= probeWidth && len(best.text) < 400 && !slices.Contains(out, best.text) {
					out = append(out, best.text)
				}
			}
		}
	}
	return out
}

// Copies tells of added code that stands elsewhere in the tree, or twice in the change.
// Others are the files that hold one of the probes, by path, as they are now.
func Copies(files []File, others map[string][]byte) (r Report) {
	index := map[uint64][]place{}
	for _, p := range slices.Sorted(maps.Keys(others)) {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Path == p }) {
			remember(index, p, significantLines(others[p]))
		}
	}
	for _, f := range files {
		if compared(f) {
			remember(index, f.Path, significantLines(f.After))
			r.looked(agency.Maintainability)
		}
	}
	told := map[string]bool{}
	for _, f := range files {
		if !compared(f) {
			continue
		}
		for _, run := range f.runs() {
			for i := 0; i+copyLines <= len(run); {
				from, n := copyOf(index, f, run[i:])
				if n == 0 || len(r.Findings) >= maxCopies {
					i++
					continue
				}
				last := run[i+n-1].at
				here, there := fmt.Sprintf("%s:%d", f.Path, run[i].at), from.String()
				if !told[there+" "+here] { // of two in one change one is told
					told[here+" "+there] = true
					r.copied(f, run[i].at, last, from)
				}
				i += n
			}
		}
	}
	return r
}

func (r *Report) copied(f File, from, to int, at place) {
	r.Findings = append(r.Findings, agency.QualityFinding{
		Analyzer: analyzer, Rule: copied.name, Severity: copied.severity, Dimension: copied.of, File: f.Path, Line: from,
		Message: fmt.Sprintf("lines %d to %d stand in %s, too", from, to, at),
	})
}

// place is where a window of lines begins.
type place struct {
	file  string
	at    int // among its significant lines
	lines []significant
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.lines[p.at].at) }

// window stands for what so many lines say; not ok where they say too little.
func window(lines []significant) (sum uint64, ok bool) {
	h, size := fnv.New64a(), 0
	for _, l := range lines[:copyLines] {
		_, _ = io.WriteString(h, l.text+"\n") // a hash takes all
		size += len(l.text) + 1
	}
	return h.Sum64(), size >= copySize
}

func remember(index map[uint64][]place, file string, lines []significant) {
	for i := 0; i+copyLines <= len(lines); i++ {
		if w, ok := window(lines[i:]); ok && len(index[w]) < 8 {
			index[w] = append(index[w], place{file, i, lines})
		}
	}
}

// copyOf finds the longest copy of what a run begins with: where, and of how many lines.
func copyOf(index map[uint64][]place, f File, run []significant) (best place, n int) {
	run = run[:min(len(run), longCopy)]
	w, _ := window(run)
	for _, p := range index[w] {
		if p.file == f.Path && p.lines[p.at].at == run[0].at || path.Ext(p.file) != path.Ext(f.Path) {
			continue
		}
		same := 0
		for same < len(run) && p.at+same < len(p.lines) && p.lines[p.at+same].text == run[same].text {
			same++
		}
		if p.file == f.Path && abs(p.lines[p.at].at-run[0].at) < same {
			continue // it overlaps with itself
		}
		if same >= copyLines && same > n {
			best, n = p, same
		}
	}
	return best, n
}

func abs(n int) int { return max(n, -n) }
