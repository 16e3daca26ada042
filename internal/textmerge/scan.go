package textmerge

import "strings"

// lineInfo is what is known of a line without knowing its language's grammar.
type lineInfo struct {
	depth  int      // brackets open before it
	inText bool     // it begins within a string or a comment
	code   string   // without comments and what is in strings
	open   *opening // the innermost bracket that is open before it
}

// opening is a bracket that is not closed yet.
type opening struct {
	char   byte
	line   int
	before string // the code before it on its line
	up     *opening
	tmpl   bool // of an expression within a template string
}

// scan looks for brackets, strings and comments. Brackets that do not match,
// and strings that do not end, are a doubt.
func (l *language) scan(text []string) ([]lineInfo, error) {
	out := make([]lineInfo, len(text))
	if l.plain {
		for i, t := range text {
			out[i].code = t
		}
		return out, nil
	}
	s := scanner{l: l}
	for i, t := range text {
		out[i] = lineInfo{depth: s.depth, inText: s.until != "", open: s.open}
		if err := s.line(i, t); err != nil {
			return nil, err
		}
		out[i].code = s.code.String()
	}
	if s.depth > 0 || s.until != "" {
		return nil, doubt("a bracket, string or comment does not end")
	}
	return out, nil
}

type scanner struct {
	l     *language
	depth int
	open  *opening
	until string // what ends the string or comment
	esc   bool   // it knows escapes
	nest  int    // of comments
	code  strings.Builder
}

func (s *scanner) line(n int, t string) error {
	s.code.Reset()
	for i := 0; i < len(t); {
		if s.until != "" {
			i += s.within(t[i:], n)
			continue
		}
		rest := t[i:]
		if s.begins(rest, s.l.comments...) {
			return nil
		}
		step, err := s.bare(rest, n)
		if err != nil {
			return err
		}
		i += step
	}
	if s.until == `"` || s.until == "'" {
		return doubt("line %d: a string does not end", n+1)
	}
	return nil
}

func (s *scanner) begins(rest string, with ...string) bool {
	for _, w := range with {
		if strings.HasPrefix(rest, w) {
			return true
		}
	}
	return false
}

// within goes on in a string or comment and tells how far.
func (s *scanner) within(rest string, n int) int {
	switch {
	case s.esc && rest[0] == '\\':
		return min(2, len(rest))
	case s.until == "*/" && s.l.nested && strings.HasPrefix(rest, "/*"):
		s.nest++
		return 2
	case s.until == "`" && s.l.templates && strings.HasPrefix(rest, "${"):
		s.push('{', n, true)
		s.until = ""
		return 2
	case strings.HasPrefix(rest, s.until):
		n := len(s.until)
		if s.until == "*/" {
			if s.nest--; s.nest > 0 {
				return n
			}
		} else {
			s.code.WriteString(s.until)
		}
		s.until = ""
		return n
	}
	return 1
}

func (s *scanner) push(c byte, n int, tmpl bool) {
	s.open = &opening{char: c, line: n, before: s.code.String(), up: s.open, tmpl: tmpl}
	s.depth++
}

// bare takes one step outside of strings and comments.
func (s *scanner) bare(rest string, n int) (int, error) {
	if strings.HasPrefix(rest, "/*") && s.l.blocks {
		s.until, s.esc, s.nest = "*/", false, 1
		return 2, nil
	}
	for _, q := range s.l.quotes {
		if strings.HasPrefix(rest, q) {
			return s.quote(rest, q)
		}
	}
	c := rest[0]
	switch c {
	case '(', '[', '{':
		s.push(c, n, false)
	case ')', ']', '}':
		if s.open == nil || strings.IndexByte("([{", s.open.char) != strings.IndexByte(")]}", c) {
			return 0, doubt("line %d: brackets do not match", n+1)
		}
		if s.depth--; s.open.tmpl {
			s.until, s.esc = "`", true
		}
		s.open = s.open.up
	case '/':
		if s.l.templates && s.expression() {
			return s.regex(rest, n)
		}
	}
	s.code.WriteByte(c)
	return 1, nil
}

// quote begins a string.
func (s *scanner) quote(rest, q string) (int, error) {
	if q == "'" && s.l.lifetimes {
		end := strings.IndexByte(rest[1:], '\'') + 1
		if end == 0 || rest[1] != '\\' && len([]rune(rest[1:end])) != 1 {
			s.code.WriteByte('\'') // a lifetime
			return 1, nil
		}
	}
	if s.l.lifetimes && q == `"` && s.code.Len() > 0 {
		if last := s.code.String()[s.code.Len()-1]; last == '#' || last == 'r' {
			return 0, doubt("a raw string")
		}
	}
	s.until, s.esc = q, q != "`" || s.l.templates
	s.code.WriteString(q)
	return len(q), nil
}

// expression tells whether a slash here begins a regular expression.
func (s *scanner) expression() bool {
	code := strings.TrimRight(s.code.String(), " \t")
	if code == "" {
		return true
	}
	return strings.ContainsRune("(,=:[!&|?{};+", rune(code[len(code)-1])) || strings.HasSuffix(code, "return")
}

func (s *scanner) regex(rest string, n int) (int, error) {
	class := false
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				s.code.WriteString("//")
				return i + 1, nil
			}
		}
	}
	return 0, doubt("line %d: a regular expression does not end", n+1)
}
