package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/text"
)

// Gate is a waiting gate with everything that is needed to answer it, and the
// commands that do. Beside is what else a person should know of its run (SoFar,
// Anomalies). Where it is folded it takes so many lines, and keys answer it: no commands.
func Gate(st Style, g agency.Gate, beside string) string {
	beside = Fit(st, beside)
	if st.Fold <= 0 {
		return GateText(st, g) + beside + "\n" + answerLines(st, "  ", Answers(g))
	}
	lines := strings.Split(strings.TrimSpace(beside), "\n")
	beside = "  " + strings.Join(folded(Style{Color: st.Color, Fold: st.Fold / 3}, lines), "\n") + "\n"
	st.Fold = max(leastFold, st.Fold-strings.Count(title(st, g)+beside, "\n")-len(g.Options))
	return title(st, g) + Asked(st, g) + beside
}

// leastFold is how many lines of what a gate says are shown on any terminal.
const leastFold = 8

// GateText is a gate without the commands, for where nobody can answer it.
func GateText(st Style, g agency.Gate) string {
	if asked := Asked(st, g); asked != "" {
		return title(st, g) + "\n" + asked
	}
	return title(st, g)
}

func title(st Style, g agency.Gate) string {
	kind := strings.ToUpper(string(g.Kind)) + " GATE"
	return Fit(st, fmt.Sprintf("\n%s  %s\n", st.paint(bold+";"+yellow, kind), st.paint(bold, Line(g.Summary))))
}

// Asked is what a gate asks below its title, which is not said twice, and the options that
// there are.
func Asked(st Style, g agency.Gate) string {
	var b strings.Builder
	if body := Body(st, g.Body); body != "" && strings.TrimPrefix(Line(g.Body), quote) != Line(g.Summary) {
		b.WriteString(body + "\n")
	}
	for i, o := range g.Options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, Line(o))
	}
	return b.String()
}

// SoFar is what a run cost, and what it may still come to.
func SoFar(st Style, d api.InspectDoc, c api.CostDoc) string {
	line := "  " + st.paint(bold, "run") + "   " + d.ID.Beside(d.Number) + "\n" + "  " + st.paint(bold, "cost") + "  " + Cost(agency.USD(d.CostUSD), d.Tokens, d.Unpriced) + " so far"
	switch f := c.Forecast; {
	case f.Planning:
		line += ", what follows is not planned yet"
	case f.Open > 0 && f.High.USD > f.Mid.USD:
		line += fmt.Sprintf(", likely %s in the end, by past work up to %s", forecastUSD(f, f.Mid), forecastUSD(f, f.High))
	case f.Open > 0:
		line += fmt.Sprintf(", likely %s in the end", Cost(agency.USD(f.Mid.USD), f.Mid.Tokens, f.Unpriced))
	}
	switch {
	case d.Unpriced && c.Limits.Tokens > 0: // no limit of money holds what has no price
		line += ", never more than " + agency.Count(c.Limits.Tokens) + " tokens unasked"
	case c.Limits.USD > 0 && !d.Unpriced:
		line += ", never more than " + agency.USD(c.Limits.USD).String() + " unasked"
	}
	return line + "\n"
}

// sinceGate is when a person last answered a gate of a run before this one: what was to be
// seen by then was seen.
func sinceGate(gates []agency.Gate, g agency.Gate) (since time.Time) {
	for _, o := range gates {
		if at := o.Decision.At; o.ID != g.ID && !o.Open() && at.After(since) && (g.Open() || at.Before(g.Decision.At)) {
			since = at
		}
	}
	return since
}

// Anomalies are what a person should know before an answer, beside what the gate says: of
// what happened in the run, what did since the last of its gates was answered.
func Anomalies(st Style, d api.InspectDoc, gates []agency.Gate, g agency.Gate) string {
	var b strings.Builder
	since := sinceGate(gates, g)
	title := "anomalies"
	if !since.IsZero() {
		title += " since the last gate"
	}
	add := func(color, what, said string) {
		fmt.Fprintf(&b, "  %s  %s\n", st.paint(color, pad(cut(what, 10), 10)), Line(said))
	}
	for _, w := range g.Weakened {
		add(yellow, "weakened", w.String())
	}
	for _, r := range g.Red {
		add(red, "red", r.Head())
	}
	for _, a := range g.Acts {
		add(yellow, "elsewhere", a.String())
	}
	for _, c := range d.Contracts {
		if c.Error != "" && (c.CompletedAt.IsZero() || c.CompletedAt.After(since)) {
			add(red, string(c.ID), c.Error)
		}
	}
	for _, s := range d.Sessions {
		if s.Health != "ended" && s.HealthReason != "" && s.Health != "working" && (s.HealthSince == nil || s.HealthSince.After(since)) {
			add(yellow, s.Health, string(s.Role)+": "+s.HealthReason)
		}
	}
	for _, i := range d.Interventions {
		if i.Time.Before(since) {
			continue
		}
		add(yellow, "overseer", fmt.Sprintf("%s %s: %s", i.Action, i.Agent, cmp.Or(i.Reason, i.Cause)))
	}
	for _, c := range d.Conflicts {
		if c.DecidedAt.IsZero() && !c.CreatedAt.Before(since) {
			add(yellow, "conflict", c.Resource+", between "+agency.JoinIDs(c.Agents, ", "))
		}
	}
	if b.Len() == 0 {
		return "  " + st.paint(bold, title) + "  none\n"
	}
	return "  " + st.paint(bold, title) + "\n" + b.String()
}

// Body is what a gate says, indented, fitted to the terminal and painted, and folded where the
// style says so.
func Body(st Style, body string) string {
	return strings.Join(folded(st, rendered(st, strings.TrimSpace(body), "  ")), "\n")
}

// mostBelow is how many entries below another one are shown where a text is folded, leastRows
// how many lines of a paragraph: its first two, a mark, and its last, such as the sum of a list.
const mostBelow, leastRows = 3, 4

// folded leaves out what is too much to be read in passing: empty lines before any other, then
// lines of paragraphs, of the longest first, and at last those that come last.
func folded(st Style, lines []string) []string {
	if st.Fold <= 0 || len(lines) <= st.Fold {
		return lines
	}
	parts := paragraphs(st, lines)
	rows, sum := make([]int, len(parts)), 0
	for i, p := range parts {
		rows[i], sum = len(p), sum+len(p)
	}
	most := st.Fold
	for ; sum > most && len(rows) > 0; most = st.Fold - 1 { // below it stands how all of it is read
		longest, last := 0, len(rows)-1
		for i, n := range rows {
			if n >= rows[longest] {
				longest = i
			}
		}
		if rows[longest] > leastRows {
			rows[longest], sum = rows[longest]-1, sum-1
		} else {
			rows, sum = rows[:last], sum-rows[last]
		}
	}
	var out []string
	for i, n := range rows {
		out = append(out, middle(st, parts[i], n)...)
	}
	if most < st.Fold {
		out = append(out, "  "+st.paint(dim, text.Ellipsis+" v shows all of it"))
	}
	return out
}

// middle is a paragraph in so many lines, without its middle, or without its end where that is
// about an entry that is not shown.
func middle(st Style, p []string, n int) []string {
	if n >= len(p) {
		return p
	}
	depth := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	mark, last := "    "+st.paint(dim, text.Ellipsis), p[len(p)-1]
	if depth(last) > depth(p[1]) {
		return append(slices.Clone(p[:n-1]), mark)
	}
	return append(slices.Clone(p[:n-2]), mark, last)
}

// paragraphs are the parts of a text between its empty lines, with few of the entries that stand
// below others. What a heading announces belongs to it.
func paragraphs(st Style, lines []string) (out [][]string) {
	begins := true
	for i := 0; i < len(lines); {
		n := 0
		for i+n < len(lines) && strings.HasPrefix(lines[i+n], "      - ") {
			n++
		}
		some := lines[i : i+max(n, 1)]
		i += len(some)
		if strings.TrimSpace(some[0]) == "" {
			begins = begins || !strings.HasSuffix(lines[max(0, i-2)], ":")
			continue
		}
		if n > mostBelow+1 {
			some = append(slices.Clone(some[:mostBelow]), "      "+st.paint(dim, fmt.Sprintf("+%d more", n-mostBelow)))
		}
		if begins {
			out = append(out, nil)
		}
		out[len(out)-1], begins = append(out[len(out)-1], some...), false
	}
	return out
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
func GateNotice(g agency.Gate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s waits at the %s gate %s: %s", g.RunID, g.Kind, g.ID, Line(g.Summary))
	for i, o := range g.Options {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, Line(o))
	}
	b.WriteString("\n" + strings.TrimRight(answerLines(Style{}, "  ", Answers(g)), "\n"))
	return b.String()
}

// answerLines are the commands, each with what it means beside it, or below it
// where the terminal is too narrow.
func answerLines(st Style, indent string, all []Answer) string {
	widest, longest := 0, 0
	for i, c := range all {
		all[i].What = Line(c.What)
		widest, longest = max(widest, columns(c.Command)), max(longest, columns(c.What))
	}
	narrow := st.Width > 0 && len(indent)+widest+2+longest >= st.Width
	var b strings.Builder
	for _, c := range all {
		if narrow {
			b.WriteString(st.lines(cyan, Wrap(st, indent, c.Command)) + "\n" + st.lines(dim, Wrap(st, indent+"    ", c.What)) + "\n")
			continue
		}
		fmt.Fprintf(&b, "%s%s  %s\n", indent, st.paint(cyan, pad(c.Command, widest)), st.paint(dim, c.What))
	}
	return b.String()
}

// Answer is a command that answers a gate, and what it means.
type Answer struct{ Command, What string }

// Answers are the commands that answer a gate. They name it, not its run: typed later,
// they must not answer another, which nobody has read.
func Answers(g agency.Gate) []Answer {
	approve, reject := "agency approve "+string(g.ID), "agency reject "+string(g.ID)
	switch g.Kind {
	case agency.GateMerge:
		return []Answer{
			{"agency diff " + string(g.RunID), "the whole change"},
			{approve, cmp.Or(g.Approving, "merge it")},
			{reject + " --reason TEXT", cmp.Or(g.Rejecting, "send it back; why")},
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

// AnswerKeys are the keys that answer a gate of a kind.
func AnswerKeys(kind agency.GateKind) []string {
	if kind == agency.GateQuestion {
		return []string{"a answer", "r no answer"}
	}
	return []string{"a approve", "r reject"}
}

// AnswerWith is the command that answers a gate by a verb.
func AnswerWith(verb agency.Verb, kind agency.GateKind, gate string) string {
	command := fmt.Sprintf("agency %s %s", verb, gate)
	switch {
	case verb == agency.Reject: // some take none, and none is in the way of a copy
		return command + " --reason TEXT"
	case kind == agency.GateQuestion:
		return command + " --note TEXT"
	}
	return command
}

// WantsReason tells whether whoever rejects a gate is to say why: somebody acts on it.
func WantsReason(g agency.Gate) bool {
	return slices.ContainsFunc(Answers(g), func(a Answer) bool {
		return strings.HasPrefix(a.Command, "agency reject") && strings.HasSuffix(a.Command, " --reason TEXT")
	})
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
	double := Answer{approve, "set the limit to " + PlainLimit(g)}
	if g.Grant == nil || g.Grant.EnoughUSD == 0 {
		return []Answer{double}
	}
	return []Answer{
		{approve + " --budget " + agency.USD(g.Grant.EnoughUSD).Typed(), "the smallest new limit for " + of + " that helps; any above it does"}, double,
	}
}

// PlainLimit is the limit that an approval of a budget gate sets without a sum.
func PlainLimit(g agency.Gate) string {
	if g.Grant == nil || g.Grant.PlainUSD == 0 { // of an older version
		return "twice what it is, or what ten requests like this one need"
	}
	return agency.USD(g.Grant.PlainUSD).String()
}

// Diff is a patch, coloured line by line. What nobody would see of it is shown as \u001b: it
// lands as well.
func Diff(st Style, patch string) string {
	patch = visible(patch)
	if !st.Color {
		return patch
	}
	var b strings.Builder
	for line := range strings.Lines(patch) {
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

// Waiting is a gate that waits, with its run.
type Waiting struct {
	Run    agency.RunID
	Number int
	Gate   api.GateDoc
}

// WaitingOf are the gates of all runs that wait, what is most urgent first, then the oldest.
func WaitingOf(runs []api.RunDoc) []Waiting {
	var out []Waiting
	for _, r := range runs {
		if r.State.Final() {
			continue
		}
		for _, g := range r.Gates {
			out = append(out, Waiting{r.ID, r.Number, g})
		}
	}
	slices.SortStableFunc(out, func(a, b Waiting) int {
		return agency.MoreUrgent(a.Gate.Kind, a.Gate.CreatedAt, b.Gate.Kind, b.Gate.CreatedAt)
	})
	return out
}

// Waits lists the gates that wait, each with the command that answers it.
func Waits(st Style, all []Waiting, verb agency.Verb, now time.Time) string {
	if len(all) == 0 {
		return "no gate waits\n"
	}
	t := choices{table: table{head: []string{"GATE", "WAITS", strings.ToUpper(string(verb)) + " WITH", "WHAT"}}}
	for _, w := range all {
		command := AnswerWith(verb, w.Gate.Kind, string(w.Gate.ID))
		waits := age(now.Sub(w.Gate.CreatedAt))
		t.choice(st, command, fmt.Sprintf("%s, waits %s: %s", w.Gate.Kind, waits, Line(w.Gate.Summary)), string(w.Gate.Kind), waits, command, Line(w.Gate.Summary))
	}
	return t.text(st)
}

// Candidates lists runs that a command may be about, each with the command; none: what is said
// where there are none.
func Candidates(st Style, all []api.RunDoc, command, none string, now time.Time) string {
	if len(all) == 0 {
		return none + "\n"
	}
	verb, _, _ := strings.Cut(command, " ")
	t := choices{table: table{head: []string{"#", "STATE", "AGE", strings.ToUpper(verb) + " WITH", "GOAL"}, right: []bool{true}}}
	for _, r := range all {
		begun, typed := age(now.Sub(r.CreatedAt)), strings.Replace("agency "+command, verb, verb+" "+string(r.ID), 1)
		t.choice(st, typed, fmt.Sprintf("%s, begun %s ago: %s", r.State, begun, Line(r.Goal)), number(r.Number), string(r.State), begun, typed, cut(Line(r.Goal), 60))
	}
	return t.text(st)
}

// choices is a table of what a person may choose from, each with its command. Where it does not
// fit, each is a text above its command: what tells them apart is read, and a command copied, whole.
type choices struct {
	table
	narrow string
}

func (c *choices) choice(st Style, command, said string, cells ...string) {
	c.add(cells...)
	c.narrow += Wrap(st, "", said) + "\n    " + st.paint(cyan, command) + "\n"
}

func (c *choices) text(st Style) string {
	if st.Width > 0 && !c.fits(st.Width) {
		return c.narrow
	}
	return c.render(st, "")
}
