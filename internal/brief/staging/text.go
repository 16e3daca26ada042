package staging

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// around is how many lines are shown before and after one that holds a word of
// the contract.
const around = 12

// parts are the places of a long text that hold the terms, its head first, in
// at most so many bytes.
func parts(full string, terms []term, most int) string {
	lines := strings.Split(full, "\n")
	want := make([]bool, len(lines))
	mark := func(from, to int) {
		for i := max(0, from); i < min(len(lines), to); i++ {
			want[i] = true
		}
	}
	mark(0, 30)
	size := 0
	for _, t := range terms {
		for i, l := range lines {
			if strings.Contains(l, t.word) && size < most*2 {
				mark(i-around, i+around)
				size += len(l)
			}
		}
	}
	var b strings.Builder
	skipping := false
	for i, l := range lines {
		if !want[i] {
			skipping = true
			continue
		}
		if b.Len()+len(l) > most-40 {
			skipping = true
			break
		}
		if skipping {
			fmt.Fprintf(&b, "[... to line %d left out ...]\n", i)
			skipping = false
		}
		b.WriteString(l + "\n")
	}
	if skipping {
		b.WriteString("[... the rest left out ...]\n")
	}
	return b.String()
}

var declarations = map[string]*regexp.Regexp{
	".go":   regexp.MustCompile(`^(?:func (?:\([^)]*\) )?[A-Z]|type [A-Z]|var [A-Z]|const [A-Z]|package )`),
	".py":   regexp.MustCompile(`^(?:class |(?:    )?(?:async )?def [A-Za-z]|[A-Z_]{3,} = )`),
	".js":   regexp.MustCompile(`^(?:export |module\.exports|class |(?:async )?function )`),
	".rs":   regexp.MustCompile(`^\s*pub (?:async |unsafe |const )*(?:fn|struct|enum|trait|type|const|mod) `),
	".java": regexp.MustCompile(`^\s*(?:public|protected) `),
}

// maxOutline is the most bytes of a file's declarations.
const maxOutline = 4 << 10

// outline are the lines of a file that declare what others may use.
func outline(p, full string) string {
	re := declarations[languageOf(p)]
	if languageOf(p) == ".kt" {
		re = regexp.MustCompile(`^\s*(?:public |open |data )*(?:class|fun|interface|object) `)
	}
	if re == nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(full) {
		if re.MatchString(line) && b.Len()+len(line) < maxOutline {
			b.WriteString(strings.TrimRight(line, "\n {") + "\n")
		}
	}
	return b.String()
}

// shingles are the words of a text, to compare it with another.
func shingles(s string) []string {
	words := wordForm.FindAllString(s, 3000)
	slices.Sort(words)
	return slices.Compact(words)
}

// overlap is the share of words that two sorted sets have in common.
func overlap(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// containsWord tells whether a name stands in a text by itself.
func containsWord(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		at, end := from+i, from+i+len(name)
		if (at == 0 || !nameByte(text[at-1])) && (end == len(text) || !nameByte(text[end])) {
			return true
		}
		from = end
	}
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// globMatch matches a glob with * within a name and ** across folders.
func globMatch(glob, p string) bool {
	if !strings.ContainsAny(glob, "*?[") {
		return false
	}
	if !strings.Contains(glob, "/") {
		ok, _ := path.Match(glob, baseName(p)) // a bad glob matches nothing
		return ok
	}
	head, tail, deep := strings.Cut(glob, "**")
	if !deep {
		ok, _ := path.Match(glob, p)
		return ok
	}
	rest, below := strings.CutPrefix(p, head)
	if !below {
		return false
	}
	tail = strings.TrimPrefix(tail, "/")
	if tail == "" {
		return true
	}
	ok, _ := path.Match(tail, baseName(rest))
	return ok || strings.HasSuffix(rest, tail)
}
