package textmerge

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// Lost compares a file in which two changes met with one of them, made from
// base: it returns the lines of that side of which the file has no trace. A line
// that the side added is there as it was, as often as it was, or in a line that
// nobody had before: who merges two changes of one line writes a third, and then
// the words that the side alone brought tell, or, where it brought none, those
// at the line's own place. A word that stands anywhere else tells nothing. A
// line that the side took away and that is back is lost too, with "-" in front.
// The rule is lenient: what it names is worth a look, what it does not name may
// be wrong.
func Lost(base, side, other, result []byte) []string {
	was, is := loose(base), loose(side)
	if len(was) > maxLines || len(is) > maxLines {
		return nil
	}
	hunks, ok := diff(was, is)
	if !ok {
		return nil
	}
	f := newFound(was, is, loose(other), loose(result))
	var out []string
	for _, h := range hunks {
		out = append(out, f.lost(was[h.a1:h.a2], is[h.b1:h.b2], h)...)
	}
	return out
}

// Marked tells whether a file holds conflict marks that none of the others has.
func Marked(result []byte, others ...[]byte) bool {
	marked := func(b []byte) bool {
		at := 0
		for line := range bytes.Lines(b) {
			if at < 3 && bytes.HasPrefix(line, []byte([]string{"<<<<<<<", "=======", ">>>>>>>"}[at])) {
				at++
			}
		}
		return at == 3
	}
	for _, o := range others {
		if marked(o) {
			return false
		}
	}
	return marked(result)
}

// found is what base, side, other side and result have.
type found struct {
	was, is, other, result map[string]int
	text                   []string       // of the result
	moved                  []hunk         // from base to result; nil where they differ too much
	known                  map[string]int // words of base and of the other side
	fresh                  map[string]int // words of the result's lines that nobody had
	named                  map[string]int // how often a line was said to be lost
}

func newFound(was, is, other, result []string) found {
	f := found{was: count(was), is: count(is), other: count(other), result: count(result), text: result, named: map[string]int{}}
	f.moved, _ = diff(was, result)
	f.known = wordsOf(append(was[:len(was):len(was)], other...))
	f.fresh = wordsOf(f.unknown(result))
	return f
}

// unknown are the lines that neither base nor a side has.
func (f found) unknown(lines []string) (out []string) {
	for _, l := range lines {
		if f.was[l]+f.is[l]+f.other[l] == 0 {
			out = append(out, l)
		}
	}
	return out
}

// lost judges one change of the side. Lines that base has elsewhere go with the
// others of the change: alone they tell little.
func (f found) lost(removed, added []string, h hunk) (out []string) {
	gone := map[string]bool{}
	own, any := false, false
	words := wordsOf(removed)
	for _, l := range added {
		if f.was[l] == 0 && len(wordsOf([]string{l})) > 0 {
			own, gone[l] = true, f.gone(l, words, h)
			any = any || gone[l]
		}
	}
	for _, l := range added {
		if (gone[l] || f.was[l] > 0 && (any || !own) && f.common(l, h)) && f.named[l] < f.short(l) {
			f.named[l]++
			out = append(out, l)
		}
	}
	for _, l := range removed {
		if f.back(l, h) {
			out = append(out, "- "+l)
		}
	}
	return out
}

// short is how often a line is missing: the result is to have it as often as the
// side, less what the other side took away, and once at least.
func (f found) short(line string) int {
	return max(1, f.is[line]+min(0, f.other[line]-f.was[line])) - f.result[line]
}

// gone tells whether nothing is left of a line that the side added beside what
// it removed there.
func (f found) gone(line string, removed map[string]int, h hunk) bool {
	if f.short(line) <= 0 {
		return false
	}
	brought, own, there := 0, 0, 0
	here := wordsOf(f.unknown(f.place(h)))
	placed := true
	for w, n := range wordsOf([]string{line}) {
		if n <= removed[w] {
			continue
		}
		brought++
		placed = placed && here[w] > 0
		if f.known[w] > 0 {
			continue
		}
		if own++; f.fresh[w] > 0 {
			there++
		}
	}
	switch {
	case brought == 0:
		return false
	case own > 0:
		return 2*there < own
	}
	return !placed
}

// common tells whether a line that base has elsewhere, too, is missing.
func (f found) common(line string, h hunk) bool {
	return len(wordsOf([]string{line})) > 0 && f.short(line) > 0 && !slices.Contains(f.place(h), line)
}

// back tells whether a line that the side removed is there again: anywhere where
// it removed all of them, else at its place.
func (f found) back(line string, h hunk) bool {
	if len(wordsOf([]string{line})) == 0 || f.result[line] <= f.is[line]+max(0, f.other[line]-f.was[line]) {
		return false
	}
	return f.is[line] == 0 || slices.Contains(f.place(h), line)
}

// place are the lines of the result that stand where a change of the base does.
func (f found) place(h hunk) []string {
	from, to := placeOf(f.moved, h.a1, h.a2)
	return f.text[from:min(to, len(f.text))]
}

// placeOf is where lines of a base are in what edits made of it, with the edits
// that touch them.
func placeOf(edits []hunk, a1, a2 int) (from, to int) {
	shift := 0
	from, to = -1, -1
	for _, e := range edits {
		if e.a1 > a2 {
			break
		}
		if e.a2 >= a1 && from < 0 {
			from = min(a1+shift, e.b1)
		}
		shift = e.b2 - e.a2
		if e.a2 >= a1 {
			to = max(a2+shift, e.b2)
		}
	}
	if from < 0 {
		from = a1 + shift
	}
	return from, max(from, to, a2+shift)
}

// Alone compares a file in which two changes met with both: it names, by a line
// each, what of one side was dropped because the other was taken whole, for the
// file or where both changed the same lines. A side that holds all of the other
// drops nothing.
func Alone(base, ours, theirs, result []byte) (out []string) {
	b, o, t, r := loose(base), loose(ours), loose(theirs), loose(result)
	if len(b)+len(o)+len(t)+len(r) > 4*maxLines || slices.Equal(b, o) || slices.Equal(b, t) {
		return nil
	}
	name := func(whole string, base, kept, dropped, is []string) bool {
		if !slices.Equal(is, kept) || slices.Equal(is, dropped) {
			return false
		}
		line := dropping(base, kept, dropped)
		if line != "" {
			out = append(out, whole+", without "+line)
		}
		return line != ""
	}
	if name("as the work had it before", b, o, t, r) || name("as it had landed", b, t, o, r) {
		return out
	}
	both, ok := regions(b, o, t)
	edits, near := diff(b, r)
	if !ok || !near {
		return nil
	}
	for _, g := range both {
		if !g.byOurs || !g.byTheirs {
			continue
		}
		from, to := placeOf(edits, g.a1, g.a2)
		is := r[from:min(to, len(r))]
		if !name("there as the work had it before", b[g.a1:g.a2], g.ours, g.theirs, is) {
			name("there as it had landed", b[g.a1:g.a2], g.theirs, g.ours, is)
		}
	}
	return out
}

// dropping is the first line of a change that what was kept does not have, "-"
// in front where it was to go; "" where it has all of it.
func dropping(base, kept, dropped []string) string {
	was, have, want := count(base), count(kept), count(dropped)
	for _, l := range dropped {
		if want[l] > was[l] && have[l] < want[l] && l != "" {
			return l
		}
	}
	for _, l := range base {
		if want[l] < was[l] && have[l] > want[l] && l != "" {
			return "- " + l
		}
	}
	return ""
}

// loose is a text's lines without their indentation.
func loose(b []byte) []string {
	var out []string
	for line := range strings.Lines(strings.ToValidUTF8(string(b), "?")) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func count(lines []string) map[string]int {
	out := map[string]int{}
	for _, l := range lines {
		out[l]++
	}
	return out
}

// wordsOf counts names and numbers.
func wordsOf(lines []string) map[string]int {
	out := map[string]int{}
	for _, l := range lines {
		for w := range strings.FieldsFuncSeq(l, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			out[w]++
		}
	}
	return out
}
