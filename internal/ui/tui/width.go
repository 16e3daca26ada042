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
		if isTable(rows) {
			b.WriteString(aligned(st, rows, func(cell string) string { return cell }))
			rows = nil
		}
		for _, row := range rows { // of somebody's own that begin like a table
			b.WriteString(wrapLine(row, st.Width-1) + "\n")
		}
		rows = nil
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
	if !strings.HasSuffix(text, "\n") {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

// leastWidth is the narrowest terminal for which lines are broken.
const leastWidth = 20

// isRow tells whether a line is one of a table of Markdown; goes: one stands before it.
func isRow(line string, goes bool) bool {
	return strings.HasPrefix(line, "| ") || goes && strings.HasPrefix(line, "|")
}

// isTable tells whether rows are a table of Markdown: below its head stands a rule.
func isTable(rows []string) bool {
	return len(rows) > 1 && strings.Contains(rows[1], "-") && strings.Trim(rows[1], " |-:") == ""
}

// aligned is a table of Markdown in columns, each cell as it is painted. Where the terminal is
// too narrow cells are broken between words, and where that does not help the rows are text:
// nothing of them is lost.
func aligned(st Style, rows []string, paint func(string) string) string {
	indent := rows[0][:len(rows[0])-len(strings.TrimLeft(rows[0], " "))]
	cells, most := [][]string{}, 0
	for i, row := range rows {
		if i != 1 {
			cells = append(cells, cellsOf(row))
			most = max(most, len(cells[len(cells)-1]))
		}
	}
	least, widths := make([]int, most), make([]int, most)
	for i, row := range cells {
		cells[i] = append(row, make([]string, most-len(row))...)
		for j, cell := range cells[i] {
			widths[j] = max(widths[j], columns(paint(cell)))
			for word := range strings.FieldsSeq(cell) {
				least[j] = max(least[j], min(columns(word), columns(paint(cell))))
			}
		}
	}
	room := st.Width - 1 - columns(indent) - 2*(most-1)
	var b strings.Builder
	if !narrow(widths, least, room) {
		for _, row := range cells {
			b.WriteString(strings.Join(st.block(indent, "| "+strings.Join(row, " | ")+" |", paint), "\n") + "\n")
		}
		return b.String()
	}
	for i, row := range cells {
		for _, line := range rowLines(row, widths, paint) {
			if i == 0 {
				line = st.paint(dim, line)
			}
			b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
		}
	}
	return b.String()
}

// narrow takes columns from the widest, as long as they have words that can be parted, until all
// fit into the room; false: they do not.
func narrow(widths, least []int, room int) bool {
	for {
		sum, widest := 0, -1
		for i, w := range widths {
			sum += w
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if sum <= room || widest < 0 {
			return sum <= room
		}
		widths[widest]--
	}
}

// rowLines is a row of a table in as many lines as its longest cell takes.
func rowLines(row []string, widths []int, paint func(string) string) (out []string) {
	parts, most := make([][]string, len(row)), 1
	for i, cell := range row {
		parts[i] = []string{paint(cell)}
		if columns(parts[i][0]) > widths[i] {
			parts[i] = strings.Split(paint(wrapLine(cell, widths[i])), "\n")
		}
		most = max(most, len(parts[i]))
	}
	for n := range most {
		line := make([]string, len(row))
		for i := range row {
			if n < len(parts[i]) {
				line[i] = parts[i][n]
			}
			line[i] = pad(line[i], widths[i])
		}
		out = append(out, strings.TrimRight(strings.Join(line, "  "), " "))
	}
	return out
}

// cellsOf are the cells of a row: a bar behind a backslash or within code parts none.
func cellsOf(row string) (out []string) {
	row = strings.TrimPrefix(strings.TrimSpace(row), "|")
	code, from := false, 0
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '`':
			code = !code && strings.Contains(row[i+1:], "`")
		case '|':
			if !code {
				out, from = append(out, strings.TrimSpace(row[from:i])), i+1
			}
		}
	}
	if last := strings.TrimSpace(row[from:]); last != "" {
		out = append(out, last)
	}
	return out
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
	for _, w := range words(body, width-columns(hang)) {
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

// words are parted by spaces, each with those before it. Code between backticks is one, but
// where it is longer than a line.
func words(s string, most int) (out []string) {
	for _, w := range parted(s, true) {
		if columns(strings.TrimLeft(w, " ")) > most {
			out = append(out, parted(w, false)...)
			continue
		}
		out = append(out, w)
	}
	return out
}

// parted is a text by its spaces, each part with those before it; whole: not by those in code.
func parted(s string, whole bool) (out []string) {
	code, from := false, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			code = !code && whole
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
