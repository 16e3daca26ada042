package agency

import (
	"path"
	"strings"
)

// Overlap tells whether two write sets may touch the same thing, and names the
// first pair that does. Entries are slash-separated paths from the
// repository's root, globs of *, ?, [...] and **, a folder (with a trailing
// slash), or file#Symbol: two different symbols of one file do not overlap. An
// entry that a shared glob matches does not count (docs/design.md, Contracts). Globs are
// compared for a common path, so a doubtful pair counts as overlapping.
func Overlap(a, b, shared []string) (string, string, bool) {
	for _, x := range a {
		if isShared(x, shared) {
			continue
		}
		for _, y := range b {
			if !isShared(y, shared) && entriesOverlap(x, y) {
				return x, y, true
			}
		}
	}
	return "", "", false
}

func entriesOverlap(x, y string) bool {
	xf, xs, _ := strings.Cut(x, "#")
	yf, ys, _ := strings.Cut(y, "#")
	if xs != "" && ys != "" && xs != ys {
		return false
	}
	return meet(segments(xf), segments(yf))
}

func isShared(entry string, shared []string) bool {
	file, _, _ := strings.Cut(entry, "#")
	for _, s := range shared {
		if s == file || !hasMeta(file) && !strings.HasSuffix(file, "/") && MatchPath(s, file) {
			return true
		}
	}
	return false
}

// MatchPath tells whether a path from the repository's root matches a glob of
// *, ?, [...] and **; ** stands for any number of folders, none included.
func MatchPath(glob, name string) bool { return meet(segments(glob), segments(name)) }

func segments(p string) []string {
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	return strings.Split(strings.TrimPrefix(path.Clean("/"+p), "/"), "/")
}

// meet tells whether two lists of segments have a path in common, in the time of one
// times the other however many ** there are.
func meet(a, b []string) bool {
	next, row := make([]bool, len(b)+1), make([]bool, len(b)+1) // whether a from i+1 and i on meets b from j on
	for i := len(a); i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == "**":
				row[j] = next[j] || j < len(b) && row[j+1]
			case j < len(b) && b[j] == "**":
				row[j] = row[j+1] || i < len(a) && next[j]
			case i == len(a) || j == len(b):
				row[j] = false
			default:
				row[j] = next[j+1] && segmentMeets(a[i], b[j])
			}
		}
		next, row = row, next
	}
	return next[0]
}

func hasMeta(s string) bool { return strings.ContainsAny(s, "*?[") }

// segmentMeets compares two segments; of two globs only the literal beginnings
// and ends are compared.
func segmentMeets(a, b string) bool {
	switch {
	case !hasMeta(a) && !hasMeta(b):
		return a == b
	case !hasMeta(a):
		ok, err := path.Match(b, a)
		return ok || err != nil
	case !hasMeta(b):
		return segmentMeets(b, a)
	}
	pa, pb := literalPrefix(a), literalPrefix(b)
	sa, sb := literalSuffix(a), literalSuffix(b)
	return (strings.HasPrefix(pa, pb) || strings.HasPrefix(pb, pa)) &&
		(strings.HasSuffix(sa, sb) || strings.HasSuffix(sb, sa))
}

func literalPrefix(s string) string { return s[:strings.IndexAny(s, "*?[")] }

func literalSuffix(s string) string { return s[strings.LastIndexAny(s, "*?]")+1:] }

// Admissible tells whether a contract may run beside those that run already:
// their write sets do not overlap, and no sequential sibling is among them. A
// contract without any writes runs beside anything. The reason names the other.
func Admissible(c Contract, running []Contract, shared []string) (reason string, ok bool) {
	for _, r := range running {
		if r.ID == c.ID {
			continue
		}
		siblings := r.ParentID == c.ParentID
		if siblings && (c.ExecutionMode == ExecutionSequential || r.ExecutionMode == ExecutionSequential) {
			return "not beside its sibling " + string(r.ID), false
		}
		if x, y, overlap := Overlap(c.WriteSet(), r.WriteSet(), shared); overlap {
			return x + " is also written by " + string(r.ID) + " (" + y + ")", false
		}
	}
	return "", true
}
