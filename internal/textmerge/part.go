package textmerge

import (
	"slices"
	"strings"
)

type kind int

const (
	gap         kind = iota // statements, comments, or the whole of a text without declarations
	declaration             // a function, a method, a type: one whole
	box                     // a declaration that holds others
	goHead                  // package clause and imports of a Go file
	frame                   // first and last lines of a box
)

// part is a stretch of a text. The parts of a text, one after the other, are
// the text; blank lines and comments belong to what follows them.
type part struct {
	kind  kind
	key   string // unique in the text
	lines []string
	inner [2]int // of a box: the lines within
	level level  // of what is within a box
	names []string
}

// level says what the lines of a text are.
type level int

const (
	outside level = iota // of a file, or of a module within one
	members              // of a class
	cases                // of a suite of tests
)

// alike compares two parts; blank lines before them do not count.
func alike(a, b part) bool { return slices.Equal(trimBlank(a.lines), trimBlank(b.lines)) }

func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	return lines
}

func index(parts []part) (map[string]part, error) {
	out := make(map[string]part, len(parts))
	for _, p := range parts {
		if _, twice := out[p.key]; twice {
			return nil, doubt("%s stands there twice", p.key)
		}
		out[p.key] = p
	}
	return out, nil
}

// rename gives parts of a side the keys of the base's where they are the same
// in another place or of another first name: statements with the same text,
// groups of Go declarations that share a name.
func rename(base, side []part) {
	taken := map[string]bool{}
	for _, p := range side {
		taken[p.key] = true
	}
	var missing []part // of base, as long as no part of the side has its key
	for _, b := range base {
		if !taken[b.key] {
			missing = append(missing, b)
		}
	}
	for i := range side {
		p := &side[i]
		for _, b := range missing {
			if b.key == p.key || taken[b.key] || b.kind != p.kind {
				continue
			}
			if p.kind == gap && alike(b, *p) || len(p.names) > 0 && sharesName(b, *p) {
				taken[b.key] = true
				p.key = b.key
				break
			}
		}
	}
}

func sharesName(a, b part) bool {
	return slices.ContainsFunc(a.names, func(n string) bool { return slices.Contains(b.names, n) })
}

// parts takes a text into its parts.
func (m merger) parts(text []string, l level) ([]part, error) {
	switch {
	case m.lang == golang && l == outside:
		return goParts(text)
	case m.lang.decls == nil:
		if _, err := m.lang.scan(text); err != nil {
			return nil, err
		}
		return []part{{key: "the text", lines: text}}, nil
	}
	info, err := m.lang.scan(text)
	if err != nil {
		return nil, err
	}
	s := splitter{lang: m.lang, level: l, text: text, info: info}
	return s.split()
}

// open takes a box into its first lines, what it holds, and its last line.
func (m merger) open(p part) ([]part, error) {
	within, err := m.parts(p.lines[p.inner[0]:p.inner[1]], p.level)
	if err != nil {
		return nil, err
	}
	out := []part{{kind: frame, key: "the first lines of " + p.key, lines: p.lines[:p.inner[0]]}}
	out = append(out, within...)
	return append(out, part{kind: frame, key: "the last line of " + p.key, lines: p.lines[p.inner[1]:]}), nil
}

// splitter finds the declarations of one level of a text.
type splitter struct {
	lang  *language
	level level
	text  []string
	info  []lineInfo
	out   []part
	last  string // key of the declaration before
	lead  int    // first of the comments and blank lines before the line
	open  int    // first line of the gap that is open, -1 for none
}

func (s *splitter) split() ([]part, error) {
	s.open = -1
	indent, ok := s.indent()
	for i := 0; i < len(s.text); {
		if !s.quiet(i) && (!ok || !strings.HasPrefix(s.text[i], indent)) {
			return nil, doubt("line %d is indented strangely", i+1)
		}
		switch {
		case s.quiet(i), s.attribute(i):
			i = s.end(i)
			continue
		}
		d, found := s.declares(i)
		if !found {
			if s.open < 0 {
				s.open = s.lead
			}
			i = s.end(i)
			s.lead = i
			continue
		}
		end, err := s.whole(i, d)
		if err != nil {
			return nil, err
		}
		s.flush(s.lead)
		p := s.part(i, end, d)
		s.out, s.last = append(s.out, p), p.key
		i, s.lead = end, end
	}
	if s.lead < len(s.text) && s.open < 0 {
		s.open = s.lead
	}
	s.flush(len(s.text))
	return s.out, nil
}

// indent is that of the first line that says something.
func (s *splitter) indent() (string, bool) {
	for i := range s.text {
		if !s.quiet(i) {
			return s.text[i][:len(s.text[i])-len(strings.TrimLeft(s.text[i], " \t"))], true
		}
	}
	return "", true
}

func (s *splitter) flush(to int) {
	if s.open >= 0 {
		s.out = append(s.out, part{key: "the lines after " + s.last, lines: s.text[s.open:to]})
	}
	s.open = -1
}

// quiet tells whether a line is blank or a comment.
func (s *splitter) quiet(i int) bool {
	return !s.info[i].inText && s.info[i].depth == 0 && strings.TrimSpace(s.info[i].code) == ""
}

func (s *splitter) attribute(i int) bool {
	if s.lang.attribute == nil || !s.lang.attribute.MatchString(strings.TrimSpace(s.info[i].code)) {
		return false
	}
	end := s.end(i)
	return end < len(s.text)
}

// end is the line after the statement, or comment, that begins at a line.
func (s *splitter) end(i int) int {
	own, quiet := s.indentOf(i), s.quiet(i)
	for i++; i < len(s.text); i++ {
		in := s.info[i]
		deeper := s.lang.indented && !quiet && strings.TrimSpace(in.code) != "" && s.indentOf(i) > own
		if in.depth == 0 && !in.inText && !deeper {
			break
		}
	}
	return i
}

func (s *splitter) indentOf(i int) int {
	return len(s.text[i]) - len(strings.TrimLeft(s.text[i], " \t"))
}

func (s *splitter) declares(i int) (decl, bool) {
	line, code := strings.TrimSpace(s.text[i]), strings.TrimSpace(s.info[i].code)
	for _, d := range s.lang.decls {
		if d.level != s.level && !(d.level == outside && s.level == cases) {
			continue
		}
		if !d.form.MatchString(code) {
			continue
		}
		if m := d.name.FindStringSubmatch(line); m != nil {
			d.key = strings.Join(strings.Fields(strings.Join(m[1:], " ")), " ")
			return d, d.key != "" && !s.lang.keywords[strings.Fields(d.key)[0]]
		}
	}
	return decl{}, false
}

// whole is the line after a declaration.
func (s *splitter) whole(i int, d decl) (int, error) {
	if s.lang.indented {
		return s.block(i), nil
	}
	for end := i; end < len(s.text); end++ {
		next := end + 1
		if next < len(s.text) && (s.info[next].depth > 0 || s.info[next].inText) {
			continue
		}
		code := strings.TrimSpace(s.info[end].code)
		if code != "" && (strings.HasSuffix(code, "}") || strings.HasSuffix(code, ";") || d.call && strings.HasSuffix(code, ")")) {
			return next, nil
		}
	}
	return 0, doubt("%s does not end", d.key)
}

// block is the line after a block by indentation; blank lines and comments
// after it belong to what follows.
func (s *splitter) block(i int) int {
	own, end := s.indentOf(i), i+1
	for j := i + 1; j < len(s.text); j++ {
		in := s.info[j]
		loud := in.inText || in.depth > 0 || strings.TrimSpace(in.code) != ""
		if loud && !in.inText && in.depth == 0 && s.indentOf(j) <= own {
			break
		}
		if loud || s.indentOf(j) > own && strings.TrimSpace(s.text[j]) != "" {
			end = j + 1
		}
	}
	return end
}

func (s *splitter) part(i, end int, d decl) part {
	p := part{kind: declaration, key: d.kindOf + " " + d.key, lines: s.text[s.lead:end]}
	for j := s.lead; j < i; j++ {
		if m := s.lang.variant; m != nil && m.MatchString(s.text[j]) {
			p.key += " " + strings.TrimSpace(s.text[j])
		}
	}
	if !d.box {
		return p
	}
	first := i + 1 // the line after the one that opens it
	for first < end && s.info[first].depth == 0 && !s.lang.indented {
		first++
	}
	last := end
	if !s.lang.indented {
		last--
		closes := strings.TrimSpace(s.text[last])
		if closes != "}" && closes != "};" && closes != "});" && closes != "})" {
			return p
		}
		if open := strings.TrimSpace(s.info[first-1].code); !strings.HasSuffix(open, "{") || s.deep(first, last) {
			return p
		}
	} else if !strings.HasSuffix(strings.TrimSpace(s.info[i].code), ":") {
		return p
	}
	if first < last {
		p.kind, p.level, p.inner = box, d.within, [2]int{first - s.lead, last - s.lead}
	}
	return p
}

// deep tells whether more than one bracket is open at the end of a box's first
// line, other than the one of a call.
func (s *splitter) deep(first, last int) bool {
	if first >= last {
		return true
	}
	return s.info[last].depth != s.info[first].depth || s.info[first].depth > 2
}
