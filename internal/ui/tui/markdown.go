package tui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown is what others wrote in Markdown, fitted to the terminal and painted; where there are
// no colours it is the text itself.
func Markdown(st Style, text string) string {
	if !st.Color {
		return Clean(text)
	}
	return strings.Join(rendered(st, strings.TrimRight(text, "\n"), ""), "\n") + "\n"
}

// rendered are the lines of Markdown on a terminal: code without its fences, the rest painted.
func rendered(st Style, body, indent string) (out []string) {
	text := indented(Clean(body), indent)
	if !st.Color {
		for line := range strings.Lines(Fit(st, text)) {
			out = append(out, strings.TrimRight(line, " \n"))
		}
		return out
	}
	var rows []string
	flush := func() {
		if isTable(rows) {
			out = append(out, strings.Split(strings.TrimSuffix(aligned(st, rows, st.inline), "\n"), "\n")...)
			rows = nil
		}
		for _, row := range rows {
			text := strings.TrimLeft(row, " ")
			out = append(out, st.block(row[:len(row)-len(text)], text, st.inline)...)
		}
		rows = nil
	}
	code := ""
	for line := range strings.Lines(text) {
		text := strings.TrimLeft(line, " ")
		at := line[:len(line)-len(text)]
		text = strings.TrimRight(text, " \n")
		if code == "" && st.Width >= leastWidth && isRow(text, len(rows) > 0) {
			rows = append(rows, at+text)
			continue
		}
		flush()
		within := code
		if code = fenced(code, text); within != "" && within == code { // as it was written
			out = append(out, st.block(at+quoteOf(code)+"  ", strings.TrimPrefix(text, quoteOf(code)), func(s string) string { return st.paint(cyan, s) })...)
		} else if within == code {
			if said := strings.TrimPrefix(text, quote); said != text {
				at, text = at+quote, said
			}
			out = append(out, st.paragraph(at, text, len(at)-len(indent) < codeIndent)...)
		}
	}
	flush()
	return out
}

const (
	quote      = "> "
	codeIndent = 4 // of code without a fence, and of lists within lists
)

// fenced is what has begun code behind a line, with the mark of a quote where it stands in one,
// "" outside of code; before is that before the line. Code ends at a fence as long as its own.
func fenced(before, line string) string {
	line = strings.TrimSpace(line)
	mark, in := fenceOf(strings.TrimPrefix(line, quote)), quoteOf(line)
	switch {
	case before == "" && mark != "":
		return in + mark
	case before != "" && in == quoteOf(before) && strings.HasPrefix(in+mark, before) && len(in+mark) == len(line):
		return ""
	}
	return before
}

// fenceOf is the fence that a line begins with: three or more of ` or ~.
func fenceOf(line string) string {
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return ""
	}
	return line[:runOf(line, 0)]
}

// quoteOf is the mark of a quote that a text begins with, if it does.
func quoteOf(text string) string {
	if strings.HasPrefix(text, quote) {
		return quote
	}
	return ""
}

// inCode is what has begun code that goes on behind a text, "" where there is none.
func inCode(text string) (code string) {
	for line := range strings.Lines(text) {
		code = fenced(code, line)
	}
	return code
}

// streamed are the last lines of Markdown that still comes, so many at most; 0: all. What is
// complete looks as it will when all of it has come, and the line that goes on as if what is open
// in it ended there, so that nothing changes its looks by what follows.
func streamed(st Style, said, indent string, most int) (out []string) {
	said = Clean(said)
	lines := strings.Split(said, "\n")
	from := 0
	if most > 0 {
		left := most
		for from = len(lines); from > 0 && (left > 0 || isRow(strings.TrimLeft(lines[from-1], " "), true)); from-- {
			if strings.TrimSpace(lines[from-1]) != "" {
				left--
			}
		}
	}
	code := inCode(strings.Join(lines[:from], "\n"))
	if last := len(lines) - 1; st.Color {
		within := inCode(strings.Join(lines[:last], "\n"))
		switch {
		case strings.Trim(lines[last], "`~> ") == "" && fenced(within, lines[last]) == within: // half of a fence
			lines[last] = ""
		case within == "":
			lines[last] = closed(lines[last])
		}
	}
	text := strings.Join(lines[from:], "\n")
	if code != "" {
		text = code + "\n" + text
	}
	for _, line := range rendered(st, text, indent) {
		if most == 0 || strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	if most > 0 {
		out = out[max(0, len(out)-most):]
	}
	return out
}

// closed is a line that is not complete, or was cut, with its emphasis, code and link ended where it
// ends. Marks at its end are left out: what they begin or end is not known yet.
func closed(line string) string {
	line = strings.TrimRight(line, "*_` ")
	if strings.Trim(line, "#> ") == "" { // of a heading or a quote that begins
		return ""
	}
	ends := ""
	for i := 0; i < len(line); {
		n := runOf(line, i)
		switch line[i] {
		case '\\':
			i += 2
		case '`':
			end := closingCode(line, i+n, n)
			if end < 0 {
				return line + line[i:i+n] + ends
			}
			i = end + n
		case '[':
			_, _, end := link(line, i)
			if _, _, whole := link(line+")", i); end < 0 && whole >= 0 {
				return line + ")" + ends
			}
			i = max(i+1, end)
		case '*', '_':
			end := closingMark(line, i, n)
			if end < 0 && begins(line, i, n) && startsWord(line[i+n:]) {
				ends = line[i:i+n] + ends
			}
			i = max(i+n, end+n)
		default:
			i++
		}
	}
	return line + ends
}

// startsWord tells whether a text begins as what is emphasized does; a glob does not.
func startsWord(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(first) || unicode.IsDigit(first) || strings.ContainsRune("`*_\"'([", first)
}

// inWords is a line of Markdown without its marks; empty where it has no words.
func inWords(line string) string {
	text := strings.TrimLeft(line, " ")
	if fenced("", text) != "" {
		return ""
	}
	var st Style
	return strings.Join(st.paragraph("", closed(text), true), " ")
}

// paragraph is a block whose text is painted, and a heading where it may be one.
func (s Style) paragraph(at, text string, may bool) []string {
	if heading := strings.TrimLeft(text, "#"); may && heading != text && strings.HasPrefix(heading, " ") {
		return s.block(at, strings.TrimSpace(heading), func(s1 string) string { return s.spans(s1, bold) })
	}
	return s.block(at, text, s.inline)
}

// block is a line as the lines that it takes behind what stands at each of them.
func (s Style) block(at, text string, paint func(string) string) []string {
	if s.Width >= leastWidth {
		text = wrapLine(text, max(leastWidth/2, s.Width-1-columns(at)))
	}
	at = strings.Replace(at, ">", s.paint(dim, ">"), 1)
	lines := strings.Split(paint(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(at+lines[i], " ")
	}
	return lines
}

// inline paints what stands within a paragraph: emphasis, code, links with their addresses.
func (s Style) inline(text string) string { return s.spans(text, plain) }

// spans is inline within another emphasis. Marks that have no other half are text, and so are
// those of a multiplication, a glob or a name: emphasis begins and ends between words.
func (s Style) spans(text, of string) string {
	var b strings.Builder
	plainFrom := 0
	add := func(from, to int, painted string) int {
		b.WriteString(s.lines(of, text[plainFrom:from]) + painted)
		plainFrom = to
		return to
	}
	for i := 0; i < len(text); {
		switch n := runOf(text, i); text[i] {
		case '\\':
			if i+1 < len(text) && strings.IndexByte("\\`*_[]<>#|", text[i+1]) >= 0 {
				i = add(i, i+1, "")
			}
			i++
		case '`':
			end := closingCode(text, i+n, n)
			if end < 0 {
				i += n
				continue
			}
			i = add(i, end+n, s.lines(with(of, cyan), text[i+n:end]))
		case '[', '<':
			said, address, end := link(text, i)
			if end < 0 {
				i++
				continue
			}
			if i > plainFrom && text[i-1] == '!' { // a picture is named like a link
				add(i-1, i, "")
			}
			shown := s.lines(with(of, cyan), address)
			if said != "" && said != address {
				shown = s.spans(said, of) + s.lines(of, " (") + shown + s.lines(of, ")")
			}
			i = add(i, end, shown)
		case '*', '_':
			end := closingMark(text, i, n)
			if end < 0 {
				i += n
				continue
			}
			i = add(i, end+n, s.spans(text[i+n:end], with(of, emphasis[n])))
		default:
			i++
		}
	}
	add(len(text), len(text), "")
	return b.String()
}

// emphasis is how a text between so many stars looks.
var emphasis = map[int]string{1: italic, 2: bold, 3: bold + ";" + italic}

// with is one ink and another.
func with(of, more string) string {
	for code := range strings.SplitSeq(more, ";") {
		switch {
		case of == plain:
			of = code
		case !slices.Contains(strings.Split(of, ";"), code):
			of += ";" + code
		}
	}
	return of
}

// lines is paint, line by line: no colour goes on behind the end of one.
func (s Style) lines(of, text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		said := strings.TrimLeft(line, " ")
		all[i] = line[:len(line)-len(said)] + s.paint(of, said)
	}
	return strings.Join(all, "\n")
}

// runOf is how often the mark at a place stands there.
func runOf(text string, at int) int {
	return len(text[at:]) - len(strings.TrimLeft(text[at:], text[at:at+1]))
}

// closingCode is where code ends that so many backticks began; -1: nowhere.
func closingCode(text string, from, n int) int {
	for i := from; i < len(text); i++ {
		if text[i] != '`' {
			continue
		}
		run := runOf(text, i)
		if run == n {
			return i
		}
		i += run - 1
	}
	return -1
}

// begins tells whether so many marks at a place may begin emphasis.
func begins(text string, at, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	first, _ := utf8.DecodeRuneInString(text[at+n:])
	return n <= 3 && (text[at] != '_' || n == 1) && at+n < len(text) && !unicode.IsSpace(first) && (at == 0 || opens(before))
}

// closingMark is where the emphasis ends that so many marks began; -1: it is none.
func closingMark(text string, at, n int) int {
	mark := text[at]
	if !begins(text, at, n) {
		return -1
	}
	for i := at + n; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			run := runOf(text, i)
			if end := closingCode(text, i+run, run); end >= 0 {
				i = end
			}
			i += run - 1
		case mark:
			run := runOf(text, i)
			last, _ := utf8.DecodeLastRuneInString(text[:i])
			if run == n && !unicode.IsSpace(last) && closes(text[i+n:]) {
				return i
			}
			i += run - 1
		}
	}
	return -1
}

// opens tells whether emphasis may begin behind a character.
func opens(before rune) bool {
	return unicode.IsSpace(before) || strings.ContainsRune("([{\"'*_~|—–-:", before)
}

// closes tells whether emphasis may end before a text: no word and no file's name goes on there.
func closes(after string) bool {
	rest := strings.TrimLeft(after, ")]}\"'*_~|—–-.,;:!?…")
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || unicode.IsSpace(next)
}

// link is the link at a place: what it says, and its address; end -1: there is none.
func link(text string, at int) (said, address string, end int) {
	if text[at] == '<' {
		n := strings.IndexByte(text[at:], '>')
		if n < 0 || !strings.Contains(text[at:at+n], "://") || strings.ContainsAny(text[at:at+n], " \n") {
			return "", "", -1
		}
		return "", text[at+1 : at+n], at + n + 1
	}
	n := strings.Index(text[at:], "](")
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	if n < 0 || at > 0 && before != '!' && !opens(before) || strings.ContainsAny(text[at+1:at+n], "[]") {
		return "", "", -1
	}
	from, depth := at+n+2, 1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ', '\n': // a title, which is shown with the rest
			return "", "", -1
		}
		if depth == 0 {
			return text[at+1 : at+n], text[from:i], i + 1
		}
	}
	return "", "", -1
}
