package agentfile

import (
	"fmt"
	"strings"
	"unicode"

	"agency/internal/text"
)

// Bounds of a drawing: beyond them nobody reads it.
const (
	maxDrawn = 2000 // lines
	maxDeep  = 32
)

// Draw is a tree of the agents that one comes to, a line each with how. What is below
// an agent stands where it is first named. It is empty for an unknown name.
func (l Library) Draw(name string) string {
	if _, ok := l.files[name]; !ok {
		return ""
	}
	d := &drawing{lib: l, seen: map[string]bool{}}
	d.lines = append(d.lines, name)
	d.below(name, "", 1)
	return strings.Join(d.lines, "\n") + "\n"
}

type drawing struct {
	lib   Library
	seen  map[string]bool
	lines []string
}

func (d *drawing) below(name, indent string, deep int) {
	d.seen[name] = true
	links := d.lib.files[name].file.links()
	for i, k := range links {
		if len(d.lines) == maxDrawn {
			d.lines = append(d.lines, "and more")
		}
		if len(d.lines) > maxDrawn {
			return
		}
		branch, trunk := "├─ ", "│  "
		if i == len(links)-1 {
			branch, trunk = "└─ ", "   "
		}
		line := fmt.Sprintf("%s%s%s %s", indent, branch, k.how, k.to)
		other, known := d.lib.files[k.to]
		goesOn := known && len(other.file.links()) > 0
		switch {
		case !known:
			line += " (not known)"
		case goesOn && d.seen[k.to]:
			line += " (above)"
		case goesOn && deep == maxDeep:
			line += " (and more)"
		}
		d.lines = append(d.lines, line)
		if goesOn && !d.seen[k.to] && deep < maxDeep {
			d.below(k.to, indent+trunk, deep+1)
		}
	}
}

// Mermaid is the same as a flowchart of Mermaid, whose labels are names and
// descriptions. It is empty for an unknown name.
func (l Library) Mermaid(name string) string {
	if _, ok := l.files[name]; !ok {
		return ""
	}
	ids := map[string]string{}
	var nodes, edges []string
	var order []string
	id := func(name string) string {
		if ids[name] == "" {
			ids[name] = fmt.Sprintf("n%d", len(ids))
			order = append(order, name)
			nodes = append(nodes, fmt.Sprintf("  %s[\"%s\"]", ids[name], l.label(name)))
		}
		return ids[name]
	}
	id(name)
	for i := 0; i < len(order) && len(edges) < maxDrawn; i++ {
		r, ok := l.files[order[i]]
		if !ok {
			continue
		}
		for _, k := range r.file.links() {
			edges = append(edges, fmt.Sprintf("  %s -->|%s| %s", ids[order[i]], k.how, id(k.to)))
		}
	}
	return "flowchart TD\n" + strings.Join(append(nodes, edges...), "\n") + "\n"
}

func (l Library) label(name string) string {
	r, ok := l.files[name]
	switch {
	case !ok:
		return escape(name + " (not known)")
	case r.file.Description == "":
		return escape(name)
	}
	return escape(name) + "<br/>" + escape(text.OneLine(r.file.Description, 80))
}

// escape writes all but letters, digits and a few signs as Mermaid's character codes,
// in which no quote, bracket, tag or end of a fence can stand. What does not print is
// left out.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,-_", r):
			b.WriteRune(r)
		case unicode.IsPrint(r):
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
