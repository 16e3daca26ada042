package tui

import (
	"strings"

	"github.com/mattn/go-runewidth"

	"agency/internal/text"
)

// terminal measures texts as a terminal does whose font is none for East Asia.
var terminal = runewidth.Condition{StrictEmojiNeutral: true}

// columns is how many columns a text takes; its own colours take none.
func columns(s string) int {
	n := 0
	for len(s) > 0 {
		plain, rest, _ := strings.Cut(s, "\x1b[")
		n += terminal.StringWidth(plain)
		_, s, _ = strings.Cut(rest, "m") // the end of the colour; none: nothing is left
	}
	return n
}

// cut shortens a text to a number of columns; 0 or less: unknown.
func cut(s string, width int) string {
	if width <= 0 || columns(s) <= width {
		return s
	}
	if !strings.Contains(s, "\x1b[") {
		return terminal.Truncate(s, width, text.Ellipsis)
	}
	var b strings.Builder
	left := width - columns(text.Ellipsis)
	for {
		words, rest, _ := strings.Cut(s, "\x1b[")
		if n := columns(words); n > left {
			b.WriteString(terminal.Truncate(words, left, "") + text.Ellipsis + "\x1b[0m")
			return b.String()
		} else {
			left -= n
		}
		code, after, _ := strings.Cut(rest, "m")
		b.WriteString(words + "\x1b[" + code + "m")
		s = after
	}
}

// end is the end of a line in so many columns.
func end(s string, width int) string {
	over := columns(s) - width
	if over <= 0 {
		return s
	}
	return text.Ellipsis + terminal.TruncateLeft(s, over+1, "")
}

// Cut shortens each line of a text to the terminal's columns.
func Cut(st Style, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = cut(line, st.Width)
	}
	return strings.Join(lines, "\n")
}

func pad(s string, width int) string {
	if n := width - columns(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// Wrap indents the lines of a text and breaks them between words, so that a
// terminal need not break them within; what follows a line hangs below its
// first word. Code between backticks stays whole. Where the width is not known
// nothing is broken.
func Wrap(st Style, indent, text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			line = indent + line
		}
		if st.Width >= leastWidth {
			line = wrapLine(line, st.Width-1)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Fit is Wrap for a text whose lines are laid out already, and in which the
// tables of Markdown are aligned.
func Fit(st Style, text string) string {
	if st.Width < leastWidth {
		return text
	}
	var b strings.Builder
	var rows []string
	flush := func() {
		if len(rows) > 0 {
			b.WriteString(aligned(st, rows, func(cell string) string { return cell }))
			rows = nil
		}
	}
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if isRow(strings.TrimLeft(line, " "), len(rows) > 0) {
			rows = append(rows, line)
			continue
		}
		flush()
		b.WriteString(wrapLine(line, st.Width-1))
		if ended {
			b.WriteByte('\n')
		}
	}
	flush()
	return b.String()
}

// leastWidth is the narrowest terminal for which lines are broken.
const leastWidth = 20

// isRow tells whether a line is one of a table of Markdown; goes: one stands before it.
func isRow(line string, goes bool) bool {
	return strings.HasPrefix(line, "| ") || goes && strings.HasPrefix(line, "|-")
}

// aligned is a table of Markdown in columns, each cell as it is painted.
func aligned(st Style, rows []string, paint func(string) string) string {
	indent := rows[0][:len(rows[0])-len(strings.TrimLeft(rows[0], " "))]
	var t table
	for i, row := range rows {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for j := range cells {
			cells[j] = paint(strings.TrimSpace(cells[j]))
		}
		switch {
		case i == 0:
			t.head = cells
		case strings.Trim(row, " |-:") != "":
			t.add(cells[:min(len(cells), len(t.head))]...)
		}
	}
	return t.render(st, indent)
}

// hangOf is what begins the lines that a broken line goes on in.
func hangOf(line string, width int) string {
	body := strings.TrimLeft(line, " ")
	indent := min(len(line)-len(body), width/2)
	hang := strings.Repeat(" ", indent)
	switch {
	case strings.HasPrefix(body, "- "), strings.HasPrefix(body, "* "):
		return hang + "  "
	case numbered(body) > 0:
		return hang + strings.Repeat(" ", numbered(body))
	case strings.HasPrefix(body, "> "):
		return hang + "> "
	}
	return hang
}

func wrapLine(line string, width int) string {
	if columns(line) <= width {
		return line
	}
	body := strings.TrimLeft(line, " ")
	hang := hangOf(line, width)
	var b strings.Builder
	b.WriteString(line[:len(line)-len(body)])
	at, first := len(line)-len(body), true
	for _, w := range words(body) {
		gap, word := columns(w)-columns(strings.TrimLeft(w, " ")), strings.TrimLeft(w, " ")
		n := columns(word)
		switch {
		case first:
		case at+gap+n > width:
			b.WriteString("\n" + hang)
			at = columns(hang)
		default:
			b.WriteString(strings.Repeat(" ", gap))
			at += gap
		}
		b.WriteString(word)
		at, first = at+n, false
	}
	return b.String()
}

// words are parted by spaces outside of backticks; each has those before it.
func words(s string) (out []string) {
	code, from := false, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			code = !code
		}
		if s[i] == ' ' && !code && i > 0 && s[i-1] != ' ' {
			out, from = append(out, s[from:i]), i
		}
	}
	if strings.TrimSpace(s[from:]) != "" {
		out = append(out, s[from:])
	}
	return out
}

// numbered is the length of the number that begins an entry of a list; 0: it is none.
func numbered(body string) int {
	digits := len(body) - len(strings.TrimLeft(body, "0123456789"))
	if digits == 0 || digits > 3 || !strings.HasPrefix(body[digits:], ". ") {
		return 0
	}
	return digits + 2
}
