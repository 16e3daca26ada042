// Package lexical tells comments and strings of a source from the rest of its
// text. It knows no more of a language than how it writes these two, and takes
// any text: what is no source gives no error. A syntax tree is package code's.
package lexical

import "strings"

// Style is how a language writes comments and strings. The zero value is what
// most that descend from C do: comments by // and /* */, strings in any quote,
// a backquote's and those in three double quotes over lines.
type Style struct {
	// Line begins a comment that ends with its line; "" is //.
	Line string
	// Lines: there are no comments but such.
	Lines bool
	// Quotes are the marks of strings; "" is all three.
	Quotes string
	// Tripled are the quotes three of which begin a string over lines; "" is the
	// double one.
	Tripled string
	// Long: every string may hold lines, and three quotes are no more than one.
	Long bool
}

// Bare puts spaces in place of comments and the insides of strings, so that
// nothing in them counts; every offset stays what it was.
func (s Style) Bare(src string) string { return s.scrub(src, true) }

// Uncommented puts spaces in place of comments; every offset stays what it was.
func (s Style) Uncommented(src string) string { return s.scrub(src, false) }

// WithoutCommentLines empties the lines that are comments and nothing else.
func (s Style) WithoutCommentLines(src string) string {
	mark := either(s.Line, "//")
	var b strings.Builder
	for line := range strings.Lines(src) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, mark) || strings.HasPrefix(t, "* ") || strings.HasPrefix(t, "/*") && strings.HasSuffix(t, "*/") {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

func (s Style) scrub(src string, strs bool) string {
	b := []byte(src)
	inside := func(from, to int) int {
		if strs {
			return wipe(b, from, to)
		}
		return max(from, min(to, len(b)))
	}
	line, quotes, tripled := either(s.Line, "//"), either(s.Quotes, "\"'`"), either(s.Tripled, `"`)
	for i := 0; i < len(b); {
		switch {
		case strings.HasPrefix(src[i:], line):
			i = wipe(b, i, EndOf(src, i, "\n"))
		case !s.Lines && strings.HasPrefix(src[i:], "/*"):
			i = wipe(b, i, EndOf(src, i+2, "*/")+2)
		case !s.Long && len(b) >= i+3 && b[i] == b[i+1] && b[i] == b[i+2] && strings.IndexByte(tripled, b[i]) >= 0:
			i = inside(i+3, EndOf(src, i+3, src[i:i+3])) + 3
		case strings.IndexByte(quotes, b[i]) >= 0:
			i = inside(i+1, closing(src, i, s.Long || b[i] == '`')) + 1
		default:
			i++
		}
	}
	return string(b)
}

func either(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

// wipe blanks a stretch but for its line ends, and tells where it ends.
func wipe(b []byte, from, to int) int {
	to = min(to, len(b))
	for i := from; i < to; i++ {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	return max(from, to)
}

// EndOf is where a mark stands from an offset on, else the end of the text.
func EndOf(src string, from int, mark string) int {
	if from >= len(src) {
		return len(src)
	}
	if n := strings.Index(src[from:], mark); n >= 0 {
		return from + n
	}
	return len(src)
}

// closing is where the string that begins at i ends. A quote that is not closed
// on its line ends there, so that a lone one swallows nothing, unless its
// strings may hold lines.
func closing(src string, i int, lines bool) int {
	for k := i + 1; k < len(src); k++ {
		switch {
		case src[k] == '\\':
			k++
		case src[k] == src[i]:
			return k
		case src[k] == '\n' && !lines:
			return k
		}
	}
	return len(src)
}
