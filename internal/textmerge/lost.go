package textmerge

import (
	"bytes"
	"strings"
	"unicode"
)

// Lost compares a file in which two changes met with one of them, made from
// base: it returns the lines of that side of which the file has no trace. A
// line that the side added is there as it was, or by one of the words that it
// brought: who merges two changes of one line writes a third. A line that the
// side took away and that is back is lost too, with "-" in front. The rule is
// lenient: what it names is worth a look, what it does not name may be wrong.
func Lost(base, side, result []byte) []string {
	was, is := loose(base), loose(side)
	if len(was) > maxLines || len(is) > maxLines {
		return nil
	}
	hunks, ok := diff(was, is)
	if !ok {
		return nil
	}
	f := found{lines: [3]map[string]int{count(was), count(is), count(loose(result))}, words: [2]map[string]int{wordsOf(was), wordsOf(loose(result))}}
	var out []string
	for _, h := range hunks {
		removed := wordsOf(was[h.a1:h.a2])
		for _, l := range is[h.b1:h.b2] {
			if f.gone(l, removed) {
				out = append(out, l)
			}
		}
		for _, l := range was[h.a1:h.a2] {
			if f.back(l) {
				out = append(out, "- "+l)
			}
		}
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

// found is what base, side and result have; words are those of base and result.
type found struct {
	lines [3]map[string]int
	words [2]map[string]int
}

// gone tells whether nothing is left of a line that the side added beside what
// it removed there. Lines that base has elsewhere tell nothing.
func (f found) gone(line string, removed map[string]int) bool {
	if f.lines[0][line] > 0 || f.lines[2][line] > 0 {
		return false
	}
	brought := 0
	for w, n := range wordsOf([]string{line}) {
		if n <= removed[w] {
			continue
		}
		brought++
		if f.words[1][w] > f.words[0][w] {
			return false
		}
	}
	return brought > 0
}

// back tells whether a line that the side removed altogether is there again.
func (f found) back(line string) bool {
	return len(wordsOf([]string{line})) > 0 && f.lines[1][line] == 0 && f.lines[2][line] > 0
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
