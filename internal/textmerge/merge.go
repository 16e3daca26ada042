package textmerge

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a file. What is larger conflicts.
const (
	MaxBytes = 512 << 10
	maxLines = 20_000
)

// Doubt is why a merge was not made.
type Doubt string

func (d Doubt) Error() string { return string(d) }

func doubt(format string, args ...any) error { return Doubt(fmt.Sprintf(format, args...)) }

// Merge merges ours and theirs, both made from base, as the file at a path of
// the repository. Where both put something at one place, ours stands first. The
// error is a Doubt: the sides conflict.
func Merge(name string, base, ours, theirs []byte) ([]byte, error) {
	sides := [][]byte{base, ours, theirs}
	if bytes.Equal(ours, theirs) {
		return ours, nil
	}
	crlf := bytes.Contains(base, []byte("\r\n"))
	var texts [3][]string
	for i, s := range sides {
		var err error
		if texts[i], err = split(s, crlf); err != nil {
			return nil, err
		}
	}
	merged, err := mergeTexts(languageOf(name), path.Base(name), texts[0], texts[1], texts[2])
	if err != nil {
		return nil, err
	}
	end := "\n"
	if crlf {
		end = "\r\n"
	}
	return []byte(strings.Join(append(merged, ""), end)), nil
}

// split takes a text into its lines.
func split(b []byte, crlf bool) ([]string, error) {
	switch {
	case len(b) > MaxBytes:
		return nil, doubt("larger than %d KiB", MaxBytes>>10)
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return nil, doubt("not a text")
	case len(b) == 0:
		return nil, nil
	case b[len(b)-1] != '\n':
		return nil, doubt("the last line is not ended")
	}
	lines := strings.Split(string(b[:len(b)-1]), "\n")
	if len(lines) > maxLines {
		return nil, doubt("more than %d lines", maxLines)
	}
	for i, l := range lines {
		rest, has := strings.CutSuffix(l, "\r")
		if has != crlf || strings.ContainsRune(rest, '\r') {
			return nil, doubt("mixed line endings")
		}
		lines[i] = rest
	}
	return lines, nil
}

func mergeTexts(lang *language, file string, base, ours, theirs []string) ([]string, error) {
	m := merger{lang: lang, file: file}
	var parts [3][]part
	for i, text := range [][]string{base, ours, theirs} {
		var err error
		if parts[i], err = m.parts(text, outside); err != nil {
			return nil, err
		}
	}
	merged, err := m.merge(parts[0], parts[1], parts[2])
	if err != nil {
		return nil, err
	}
	if err := m.sound(merged); err != nil {
		return nil, err
	}
	return merged, m.keeps(base, ours, theirs, merged)
}

// merger merges one file.
type merger struct {
	lang *language
	file string // its last name
}

// sound tells whether a merged text still reads as its language.
func (m merger) sound(text []string) error {
	parts, err := m.parts(text, outside)
	if err == nil {
		_, err = index(parts)
	}
	if err == nil && m.lang == jsonText {
		err = validJSON(text)
	}
	return err
}

// keeps is the promise of the package, checked on each result: a line that one
// side added or removed is, and every other line stays as often as it was.
// Brackets, and whatever else both changed alike, count once or twice.
func (m merger) keeps(base, ours, theirs, merged []string) error {
	count := func(text []string) map[string]int {
		n := map[string]int{}
		for _, l := range text {
			for _, a := range m.lang.atoms(l) {
				n[a]++
			}
		}
		return n
	}
	b, o, t, r := count(base), count(ours), count(theirs), count(merged)
	for _, side := range []map[string]int{b, o, t, r} {
		for l := range side {
			do, dt := o[l]-b[l], t[l]-b[l]
			least, most := b[l]+do+dt, b[l]+do+dt
			switch {
			case do > 0 && dt > 0:
				least = b[l] + max(do, dt)
			case do < 0 && dt < 0:
				most = b[l] + min(do, dt)
			}
			if r[l] < least || r[l] > most {
				return doubt("the line %q would stand %d times", l, r[l])
			}
		}
	}
	return nil
}

// atoms are what a line is made of that may move to another line: the names
// of an import. A comma at the end comes and goes with what follows.
func (l *language) atoms(line string) []string {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	if s, ok := l.parseImport(line); ok && len(s.names) > 0 {
		out := make([]string, len(s.names))
		for i, n := range s.names {
			out[i] = s.head + n + s.tail
		}
		return out
	}
	return []string{strings.TrimSuffix(line, ",")}
}

// merge merges the parts of a text one by one: a part that only one side
// changed is that side's.
func (m merger) merge(base, ours, theirs []part) ([]string, error) {
	rename(base, ours)
	rename(base, theirs)
	b, err := index(base)
	if err != nil {
		return nil, err
	}
	o, err := index(ours)
	if err != nil {
		return nil, err
	}
	t, err := index(theirs)
	if err != nil {
		return nil, err
	}
	if err := comparable3(base, ours, theirs, b, o, t); err != nil {
		return nil, err
	}
	newOurs, newTheirs := added(b, ours), added(b, theirs)
	var out []string
	put := func(after string) error {
		for _, p := range newOurs[after] {
			out = append(out, p.lines...)
		}
		for _, p := range newTheirs[after] {
			if same, both := o[p.key]; !both {
				out = append(out, p.lines...)
			} else if !alike(same, p) {
				return doubt("both sides add %s", p.key)
			}
		}
		return nil
	}
	if err := put(""); err != nil {
		return nil, err
	}
	for _, p := range base {
		lines, err := m.one(p, o, t)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
		if err := put(p.key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// one merges a part of the base.
func (m merger) one(b part, ours, theirs map[string]part) ([]string, error) {
	o, inOurs := ours[b.key]
	t, inTheirs := theirs[b.key]
	switch {
	case !inOurs && !inTheirs:
		return nil, nil
	case !inOurs || !inTheirs:
		if left := orPart(inOurs, o, t); !alike(b, left) {
			return nil, doubt("one side removes %s, the other changes it", b.key)
		}
		return nil, nil
	case alike(b, o):
		return t.lines, nil
	case alike(b, t), alike(o, t):
		return o.lines, nil
	}
	return m.both(b, o, t)
}

func orPart(first bool, a, b part) part {
	if first {
		return a
	}
	return b
}

// both merges a part that both sides changed.
func (m merger) both(b, o, t part) ([]string, error) {
	switch b.kind {
	case goHead:
		return mergeGoHead(b.lines, o.lines, t.lines)
	case box:
		var parts [3][]part
		for i, p := range []part{b, o, t} {
			var err error
			if parts[i], err = m.open(p); err != nil {
				return nil, err
			}
		}
		return m.merge(parts[0], parts[1], parts[2])
	}
	lines, err := m.linewise(b, o, t)
	if err != nil && b.kind == declaration {
		return nil, doubt("both sides change %s", b.key)
	}
	return lines, err
}

// linewise merges by lines. Of a declaration both sides may only have added
// entries to its lists or given them other values: two changes of one function
// are for its owner.
func (m merger) linewise(b, o, t part) ([]string, error) {
	text, err := m.lang.scan(b.lines)
	if err != nil {
		return nil, err
	}
	if b.kind == declaration {
		for _, side := range []part{o, t} {
			if err := m.onlyEntries(text, b.lines, side.lines); err != nil {
				return nil, err
			}
		}
	}
	return mergeLines(b.lines, o.lines, t.lines, func(r region) (patch, error) {
		if b.kind != declaration {
			if p, err := m.imports(text, b.lines, r); err == nil {
				return p, nil
			}
		}
		return m.lists(text, b.lines, r)
	})
}

// onlyEntries tells whether a side did no more than add entries to lists and
// give entries other values.
func (m merger) onlyEntries(text []lineInfo, base, side []string) error {
	rs, ok := regions(base, side, base)
	if !ok {
		return doubt("the sides differ too much")
	}
	for _, r := range rs {
		if _, err := m.entered(text, base, r); err != nil && !m.onlyValues(text, base, r) {
			return err
		}
	}
	return nil
}

// comparable3 refuses what no order could be given to, and a part that both
// sides took away while both brought others: it may have been renamed twice.
func comparable3(base, ours, theirs []part, b, o, t map[string]part) error {
	for _, pair := range [][2][]part{{base, ours}, {base, theirs}, {ours, theirs}} {
		if !sameOrder(pair[0], pair[1]) {
			return doubt("declarations changed places")
		}
	}
	brings := func(side []part) bool {
		return slices.ContainsFunc(side, func(p part) bool { _, old := b[p.key]; return !old && p.kind != gap })
	}
	for key, p := range b {
		_, inOurs := o[key]
		_, inTheirs := t[key]
		if !inOurs && !inTheirs && p.kind != gap && brings(ours) && brings(theirs) {
			return doubt("both sides replace %s", key)
		}
	}
	return nil
}

func sameOrder(a, b []part) bool {
	at := map[string]int{}
	for i, p := range a {
		at[p.key] = i
	}
	last := -1
	for _, p := range b {
		if i, ok := at[p.key]; ok {
			if i < last {
				return false
			}
			last = i
		}
	}
	return true
}

// added are the new parts of a side by the key of the old one before them.
func added(b map[string]part, side []part) map[string][]part {
	out, after := map[string][]part{}, ""
	for _, p := range side {
		if _, old := b[p.key]; old {
			after = p.key
			continue
		}
		out[after] = append(out[after], p)
	}
	return out
}
