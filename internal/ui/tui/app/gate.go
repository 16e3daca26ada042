package app

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// layGate makes the text of the gate that is shown: what it asks and what an answer
// does, what the run came to, then the change file by file.
func (r *runView) layGate(st tui.Style, now time.Time, width int) {
	g, ok := r.shownGate()
	if !ok {
		r.page.set("no gate waits\n", width)
		return
	}
	st.Width = width
	head := r.gateHead(st, g, now) + tui.SoFar(st, r.doc, r.cost) + tui.Anomalies(st, r.doc, r.gates, g) + "\n"
	r.page.lay(append([]part{{text: head + r.contracts(st, g)}}, r.changes(st)...), width)
}

// gateHead is what a gate asks, in the words of the printed views, and what answers do, or
// how it was answered.
func (r *runView) gateHead(st tui.Style, g agency.Gate, now time.Time) string {
	var b strings.Builder
	since := "waits for " + tui.Age(now.Sub(g.CreatedAt))
	as := r.decision(g)
	if as.Verb != "" {
		since = ""
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", st.Paint(tui.Alarm, strings.ToUpper(string(g.Kind))+" GATE"), st.Paint(tui.Bold, tui.Line(g.Summary)), st.Paint(tui.Dim, since))
	if as.Verb != "" {
		fmt.Fprintf(&b, "%s\n", st.Paint(tui.Green, decisionText(g.Kind, as)))
	} else if verb := r.answers[g.ID]; verb != "" {
		fmt.Fprintf(&b, "%s\n", st.Paint(tui.Dim, "your answer is on its way: "+string(verb)))
	}
	b.WriteString("\n")
	if r.answerable(g) {
		fmt.Fprintf(&b, "  %s  %s\n", st.Paint(tui.Cyan, "a"), approving(g))
		fmt.Fprintf(&b, "  %s  %s\n\n", st.Paint(tui.Cyan, "r"), rejecting(g))
	}
	if asked := tui.Asked(st, g); asked != "" {
		b.WriteString(asked + "\n")
	}
	return b.String()
}

// decisionText is how a gate was answered, and by whom.
func decisionText(kind agency.GateKind, d agency.Decision) string {
	words := map[agency.Verb]string{agency.Approve: "approved", agency.Reject: "rejected"}
	if kind == agency.GateQuestion {
		words = map[agency.Verb]string{agency.Approve: "answered", agency.Reject: "not answered"}
	}
	word := words[d.Verb] + " by " + d.By
	if d.By == agency.ByHarness {
		word = "withdrawn"
	}
	if d.BudgetUSD > 0 {
		word += ", with a limit of " + agency.USD(d.BudgetUSD).String()
	}
	if d.Note != "" {
		word += ": " + d.Note
	}
	return tui.Line(word)
}

// contracts are those of the plan with what each is to do and who does it.
func (r *runView) contracts(st tui.Style, g agency.Gate) string {
	if len(r.doc.Contracts) < 2 && g.Kind != agency.GatePlan {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", st.Paint(tui.Bold, "Contracts"))
	for _, c := range r.doc.Contracts {
		fmt.Fprintf(&b, "  %s  %s  %s  %s\n", st.Paint(tui.StatusInk(c.Status), cmp.Or(marks[c.Status], "?")), st.Paint(tui.Bold, tui.Line(string(c.ID))),
			st.Paint(tui.Cyan, tui.Line(string(c.AssignedRole))), tui.Line(c.Title))
		if text := tui.Line(c.Description); text != "" && text != tui.Line(c.Title) {
			fmt.Fprintf(&b, "     %s\n", st.Paint(tui.Dim, text))
		}
	}
	return b.String() + "\n"
}

// unshown is why there are no files of a change; empty: there are.
func (r *runView) unshown() string {
	switch {
	case !r.diff.known:
		return "the change is read…"
	case r.diff.err != nil:
		return "no change to show: " + tui.Line(r.diff.err.Error())
	case strings.TrimSpace(r.diff.doc.Patch) == "" && r.diff.doc.Local == nil:
		return "nothing is changed yet"
	}
	return ""
}

// changes are what the run would land, a part for each file.
func (r *runView) changes(st tui.Style) []part {
	if why := r.unshown(); why != "" {
		return []part{{text: st.Paint(tui.Dim, why) + "\n"}}
	}
	d := r.diff.doc
	out := []part{{text: st.Paint(tui.Bold, "The change") + "  " + st.Paint(tui.Dim, "] next file, [ the one before") + "\n" + tui.Clean(d.Stat)}}
	if d.Local != nil {
		out = append(out, part{text: "\n" + st.Paint(tui.Bold, "your local edits, which land with it") + "\n"})
		out = append(out, files(st, d.Local.Patch)...)
		out = append(out, part{text: "\n" + st.Paint(tui.Bold, "the work of the run on top of them") + "\n"})
	}
	return append(out, files(st, d.Patch)...)
}

// files are the parts of a patch, painted.
func files(st tui.Style, patch string) []part {
	var out []part
	from := 0
	for at := 0; at < len(patch); {
		end := min(len(patch), at+1+strings.Index(patch[at:]+"\n", "\n"))
		if end == len(patch) || strings.HasPrefix(patch[end:], fileHead) {
			one := patch[from:end]
			out, from = append(out, part{text: "\n" + tui.Diff(st, one), marked: strings.HasPrefix(one, fileHead)}), end
		}
		at = end
	}
	return out
}

// fileHead begins what a patch says of a file.
const fileHead = "diff --git "

// limitBar is what is spent of a limit, with a bar of a width or none.
func limitBar(st tui.Style, d api.InspectDoc, limit float64, width int) string {
	spent := tui.Cost(agency.USD(d.CostUSD), d.Tokens, d.Unpriced)
	if limit <= 0 || d.Unpriced && d.CostUSD == 0 { // it does not hold
		return spent
	}
	share := d.CostUSD / limit
	ink := tui.Cyan
	switch {
	case share >= 0.9:
		ink = tui.Red
	case share >= 0.7:
		ink = tui.Yellow
	}
	said := spent + " of " + agency.USD(limit).String()
	if width <= 0 {
		return st.Paint(ink, said)
	}
	return said + " " + bar(st, share, width, ink)
}
