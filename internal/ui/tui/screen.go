package tui

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Screen is a writer for what people read: whatever a command prints, only text
// and, where the style has them, the colours of this package come out of it. A
// view that forgot to clean what somebody else wrote harms nobody.
//
// A text has to be written in one piece: an escape sequence that is parted at
// the end of a write is not known for one, and what is left of it is shown.
type Screen struct {
	out   io.Writer
	style Style
}

// NewScreen makes one that writes to out.
func NewScreen(out io.Writer, style Style) *Screen { return &Screen{out, style} }

// Write writes what is safe of a text.
func (s *Screen) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, s.safe(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ClearLine takes a line behind whose end the cursor stands off a terminal of so many columns, in
// all the rows that it takes there.
func (s *Screen) ClearLine(line string, width int) error {
	if !s.style.Live {
		_, err := io.WriteString(s.out, "\n")
		return err
	}
	up := ""
	if rows := (columns(Clean(line)) - 1) / max(1, width); width > 0 && rows > 0 {
		up = fmt.Sprintf("\x1b[%dA", rows)
	}
	return cursor(s.out, "\r"+up+"\x1b[J")
}

// Answer writes the answer of an agent: to a terminal what is safe of it, and to a file or a
// program as it is but for what would steer the terminal behind that.
func (s *Screen) Answer(text string) error {
	if s.style.Live || s.style.Width > 0 {
		text = s.safe(Markdown(s.style, text))
	} else {
		text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) {
				return -1
			}
			return r
		}, text)
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// Raw writes a text byte by byte, for who asked for that.
func (s *Screen) Raw(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// safe cleans what stands between our own colours.
func (s *Screen) safe(text string) string {
	if !s.style.Color {
		return Clean(text)
	}
	var b strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], "\x1b[")
		if at < 0 {
			b.WriteString(Clean(text))
			return b.String()
		}
		at += from
		n := paintLen(text[at:])
		if from = at + 1; n == 0 {
			continue
		}
		b.WriteString(Clean(text[:at]))
		b.WriteString(text[at : at+n])
		text, from = text[at+n:], 0
	}
}

// mostInk is the length of the longest ink: a bold, slanted colour.
const mostInk = len(bold + ";" + italic + ";" + cyan)

// paintLen is the length of a sequence that paint writes; 0: it is none.
func paintLen(s string) int {
	const start = "\x1b["
	end := strings.IndexByte(s[:min(len(s), len(start)+mostInk+1)], 'm')
	if !strings.HasPrefix(s, start) || end < 0 {
		return 0
	}
	for code := range strings.SplitSeq(s[len(start):end], ";") {
		switch code {
		case "0", dim, bold, italic, reverse, red, green, yellow, cyan:
		default:
			return 0
		}
	}
	return end + 1
}

// cursor writes what moves the cursor, which only a log does.
func cursor(w io.Writer, seq string) error {
	if s, ok := w.(*Screen); ok {
		w = s.out
	}
	_, err := io.WriteString(w, seq)
	return err
}

// JSON is a document in which the characters that Clean would take away or show
// are written as escapes: they are in strings only, and mean the same there.
func JSON(doc []byte) []byte {
	text := string(doc)
	if isClean(text) {
		return doc
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case unsafe(r):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r) // what is no UTF-8 becomes the replacement character
		}
		i += n
	}
	return []byte(b.String())
}

// escaped is a character as JSON and many languages write it.
func escaped(r rune) string {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return escaped(high) + escaped(low)
	}
	hex := strconv.FormatInt(int64(r), 16)
	return `\u` + strings.Repeat("0", max(0, 4-len(hex))) + hex
}
