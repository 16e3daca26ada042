package web

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown is the text of a page in one pass over its tags: headings, lists, links, code and
// tables keep their form, the rest their words. Pages come from outside: what a converter that
// builds a tree makes of one can take hours, this takes time and room in proportion to it.
func markdown(page []byte) (string, error) {
	m := &marker{z: html.NewTokenizer(bytes.NewReader(page))}
	for {
		switch m.z.Next() {
		case html.ErrorToken:
			if err := m.z.Err(); !errors.Is(err, io.EOF) {
				return "", err
			}
			return strings.TrimSpace(m.out.String()) + "\n", nil
		case html.TextToken:
			m.text(m.z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			m.begin()
		case html.EndTagToken:
			m.end()
		}
	}
}

// marker writes the text of a page.
type marker struct {
	z      *html.Tokenizer
	out    strings.Builder
	hidden atom.Atom // the element that is passed over; 0: none
	pre    bool
	href   string
	blank  bool // white space is due before the next word
	lines  int  // line ends that are written at the end, or due there at the beginning
}

// line has what follows stand on a line of its own, or below an empty one.
func (m *marker) line(ends int) {
	m.blank = m.blank && ends == 0
	for m.out.Len() > 0 && m.lines < ends {
		m.out.WriteByte('\n')
		m.lines++
	}
}

func (m *marker) write(s string) {
	if m.blank && m.lines == 0 && m.out.Len() > 0 {
		m.out.WriteByte(' ')
	}
	m.blank, m.lines = false, 0
	m.out.WriteString(s)
}

func (m *marker) text(t []byte) {
	switch {
	case m.hidden != 0:
	case m.pre:
		m.write(string(t))
	default:
		words := strings.Fields(string(t))
		m.blank = m.blank || len(t) > 0 && strings.ContainsRune(" \t\r\n", rune(t[0]))
		if len(words) == 0 {
			return
		}
		m.write(strings.Join(words, " "))
		m.blank = strings.ContainsRune(" \t\r\n", rune(t[len(t)-1]))
	}
}

// blocks stand on lines of their own; those with 2 below an empty one.
var blocks = map[atom.Atom]int{
	atom.P: 2, atom.Table: 2, atom.Pre: 2, atom.Blockquote: 2, atom.Ul: 2, atom.Ol: 2, atom.Dl: 2, atom.Section: 2, atom.Article: 2, atom.Hr: 2,
	atom.H1: 2, atom.H2: 2, atom.H3: 2, atom.H4: 2, atom.H5: 2, atom.H6: 2, atom.Title: 2,
	atom.Div: 1, atom.Br: 1, atom.Li: 1, atom.Tr: 1, atom.Dt: 1, atom.Dd: 1, atom.Header: 1, atom.Footer: 1, atom.Main: 1, atom.Nav: 1, atom.Form: 1,
}

// marks are written where an element begins.
var marks = map[atom.Atom]string{
	atom.H1: "# ", atom.H2: "## ", atom.H3: "### ", atom.H4: "#### ", atom.H5: "##### ", atom.H6: "###### ", atom.Li: "- ", atom.Td: "| ", atom.Th: "| ",
	atom.Hr: "---",
}

func (m *marker) begin() {
	name, attrs := m.z.TagName()
	tag := atom.Lookup(name)
	if m.hidden != 0 {
		return
	}
	m.line(blocks[tag])
	m.within(tag)
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe:
		m.hidden = tag
	case atom.Pre:
		m.write("```\n")
		m.pre = true
	case atom.A:
		m.href = ""
		for attrs {
			var key, value []byte
			if key, value, attrs = m.z.TagAttr(); string(key) == "href" {
				m.href = string(value)
			}
		}
		if m.href != "" {
			m.write("[")
		}
	default:
		if mark := marks[tag]; mark != "" {
			m.blank = m.blank || tag == atom.Td || tag == atom.Th
			m.write(mark)
		}
	}
}

func (m *marker) end() {
	name, _ := m.z.TagName()
	tag := atom.Lookup(name)
	if m.hidden != 0 {
		if tag == m.hidden {
			m.hidden = 0
		}
		return
	}
	switch {
	case tag == atom.Pre && m.pre:
		m.line(1)
		m.write("```")
		m.pre = false
	case tag == atom.A && m.href != "":
		m.write("](" + m.href + ")")
		m.href = ""
	}
	m.within(tag)
	m.line(blocks[tag])
}

// within writes the mark at both ends of words that a line has set apart.
func (m *marker) within(tag atom.Atom) {
	mark := map[atom.Atom]string{atom.Code: "`", atom.Strong: "**", atom.B: "**", atom.Em: "_", atom.I: "_"}[tag]
	if mark != "" && !m.pre {
		m.write(mark)
	}
}
