package tui

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/agency"
)

// Gate is a waiting gate with everything that is needed to answer it, and the
// commands that do. Several says that more gates of the run wait.
func Gate(st Style, g agency.Gate, several bool) string {
	return GateText(st, g) + "\n" + answerLines(st, "  ", Answers(g, several))
}

// GateText is a gate without the commands, for where nobody can answer it.
func GateText(st Style, g agency.Gate) string {
	var b strings.Builder
	title := strings.ToUpper(string(g.Kind)) + " GATE"
	b.WriteString(Fit(st, fmt.Sprintf("\n%s  %s\n", st.paint(bold+";"+yellow, title), st.paint(bold, Line(g.Summary)))))
	if body := Body(st, g.Body); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	for i, o := range g.Options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, Line(o))
	}
	return b.String()
}

// Body is what a gate says, indented, fitted to the terminal and painted.
func Body(st Style, body string) string {
	var out []string
	for line := range strings.Lines(Fit(st, indented(strings.TrimSpace(Clean(body)), "  "))) {
		text := strings.TrimLeft(line, " ")
		out = append(out, line[:len(line)-len(text)]+st.markdown(strings.TrimRight(text, " \n")))
	}
	return strings.Join(out, "\n")
}

// indented is a text with something before each line that is not empty.
func indented(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

// GateNotice is a gate in few lines, for standard error where a program reads
// the rest: its kind, what it is about, and the commands that answer it.
func GateNotice(g agency.Gate, several bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s waits at the %s gate %s: %s", g.RunID, g.Kind, g.ID, Line(g.Summary))
	for i, o := range g.Options {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, Line(o))
	}
	b.WriteString("\n" + strings.TrimRight(answerLines(Style{}, "  ", Answers(g, several)), "\n"))
	return b.String()
}

// answerLines are the commands, each with what it means beside it, or below it
// where the terminal is too narrow.
func answerLines(st Style, indent string, all []Answer) string {
	widest, longest := 0, 0
	for _, c := range all {
		widest, longest = max(widest, columns(c.Command)), max(longest, columns(c.What))
	}
	narrow := st.Width > 0 && len(indent)+widest+2+longest >= st.Width
	var b strings.Builder
	for _, c := range all {
		if narrow {
			fmt.Fprintf(&b, "%s%s\n%s    %s\n", indent, st.paint(cyan, c.Command), indent, st.paint(dim, c.What))
			continue
		}
		fmt.Fprintf(&b, "%s%s  %s\n", indent, st.paint(cyan, pad(c.Command, widest)), st.paint(dim, c.What))
	}
	return b.String()
}

// Answer is a command that answers a gate, and what it means.
type Answer struct{ Command, What string }

// Answers are the commands that answer a gate.
func Answers(g agency.Gate, several bool) []Answer {
	run := string(g.RunID)
	if several {
		run += " --gate " + string(g.ID)
	}
	approve, reject := "agency approve "+run, "agency reject "+run
	switch g.Kind {
	case agency.GateMerge:
		return []Answer{
			{"agency diff " + string(g.RunID), "the whole change"},
			{approve, cmp.Or(g.Approving, "land it")},
			{reject + " --reason TEXT", "send it back once; a second time ends the run"},
		}
	case agency.GateQuestion:
		how := "your answer"
		if len(g.Options) > 0 {
			how = "your answer, or an option's number"
		}
		return []Answer{{approve + " --note TEXT", how}, {reject, "no answer; the agent goes on without"}}
	case agency.GateBudget:
		if g.Approving != "" {
			return []Answer{{approve, g.Approving}, {reject, "end the run"}}
		}
		return append(grants(g, approve), Answer{reject, "end the run"})
	case agency.GateEscalation:
		if g.Approving != "" {
			return []Answer{{approve, g.Approving}, {reject + " --reason TEXT", g.Rejecting}}
		}
		return []Answer{{approve + " --note TEXT", "one more attempt, with your hint"}, {reject, "end the run"}}
	case agency.GateFault:
		return []Answer{{approve, "try to go on"}, {reject, "end the run; its branch and record stay"}}
	default:
		return []Answer{{approve, cmp.Or(g.Approving, "go on")}, {reject + " --reason TEXT", cmp.Or(g.Rejecting, "not like this")}}
	}
}

// grants are the approvals of a budget gate.
func grants(g agency.Gate, approve string) []Answer {
	if g.Grant != nil && g.Grant.Limit != "usd" {
		return []Answer{{approve, cmp.Or(g.Grant.Raises, "raise the limit that is reached")}}
	}
	of := "the whole run"
	if g.Grant != nil && g.Grant.Node != "run" {
		of = g.Grant.Node
	}
	double := Answer{approve, "double what is used up, or more, so that it holds ten requests like this one"}
	if g.Grant == nil || g.Grant.EnoughUSD == 0 {
		return []Answer{{approve + " --budget USD", "a new limit for " + of}, double}
	}
	return []Answer{
		{approve + " --budget " + agency.USD(g.Grant.EnoughUSD).Typed(), "the smallest new limit for " + of + " that helps; any above it does"}, double,
	}
}

// markdown paints headings, bold words and code of one line; the text itself
// stays as it is.
func (s Style) markdown(line string) string {
	if !s.Color {
		return line
	}
	if t := strings.TrimLeft(line, "#"); t != line && strings.HasPrefix(t, " ") {
		return s.paint(bold, strings.TrimSpace(t))
	}
	line = s.between(line, "**", bold)
	return s.between(line, "`", cyan)
}

func (s Style) between(line, mark, code string) string {
	parts := strings.Split(line, mark)
	if len(parts)%2 == 0 { // a mark without its other half is text
		return line
	}
	for i := 1; i < len(parts); i += 2 {
		parts[i] = s.paint(code, parts[i])
	}
	return strings.Join(parts, "")
}

// Diff is a patch, coloured line by line.
func Diff(st Style, patch string) string {
	if !st.Color {
		return Clean(patch)
	}
	var b strings.Builder
	for line := range strings.Lines(Clean(patch)) {
		text := strings.TrimRight(line, "\n")
		b.WriteString(st.paint(diffColor(text), text) + "\n")
	}
	return b.String()
}

func diffColor(line string) string {
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return plain
}
