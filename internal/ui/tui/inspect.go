package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// Inspect is a run as a tree: its contracts with their proof, under each its
// sessions, then what was checked and what landed.
func Inspect(st Style, d api.InspectDoc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", st.paint(bold, string(d.ID)), st.paint(stateColor(d.State), string(d.State)), Line(d.Reason))
	b.WriteString(Next(st, d.Next, ""))
	if d.Number != 0 {
		fmt.Fprintf(&b, "  number  %s\n", agency.NumberName(d.Number))
	}
	fmt.Fprintf(&b, "  goal    %s\n", strings.ReplaceAll(strings.TrimSpace(Clean(d.Goal)), "\n", "\n          "))
	if m := modes(d.RunDoc); m != string(d.Mode) {
		fmt.Fprintf(&b, "  mode    %s: agency watch %s says why it moved\n", m, d.ID)
	}
	if d.Agent != "" {
		return b.String() + answered(st, d)
	}
	fmt.Fprintf(&b, "  branch  %s, from %s, for %s\n", Line(d.Branch), d.Base.Short(), Line(d.Target))
	b.WriteString(follows(d.RunDoc))
	fmt.Fprintf(&b, "  cost    %s\n", spentBy(d.RunDoc))
	of := about(d)
	for _, c := range d.Contracts {
		b.WriteString(contract(st, d.ID, c, of[c.ID]))
	}
	b.WriteString(agents(st, d.Agents))
	b.WriteString(receipts(st, d.Receipts))
	b.WriteString(conflicts(st, d.Conflicts))
	b.WriteString(landings(st, d.Landings))
	b.WriteString(joints(st, d.Joints))
	b.WriteString(amendments(st, d.Amendments, ""))
	b.WriteString(saidAtGates(st, d.Report))
	b.WriteString(elsewhere(st, d.Report))
	b.WriteString(interventions(st, d.Interventions))
	return b.String()
}

// spentBy is what a run cost, in money and in tokens, each once.
func spentBy(d api.RunDoc) string {
	cost := Cost(agency.USD(d.CostUSD), d.Tokens, d.Unpriced)
	if tokens := agency.Count(d.Tokens) + " tokens"; !strings.Contains(cost, tokens) {
		cost += ", " + tokens
	}
	return cost
}

// Next is what a person may do about a run, a line a command; where is what each is told of
// the repository.
func Next(st Style, steps []agency.Step, where string) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "  %s %s\n", st.paint(dim, Line(s.Does)+":"), Line(s.Command)+where)
	}
	return b.String()
}

// follows is where a run begins, and what begins where it stands.
func follows(d api.RunDoc) string {
	s := ""
	if f := d.Follows; f != nil {
		of, _ := f.What.Words()
		s = fmt.Sprintf("  begins  %s %s\n", of, f.Run)
		if f.Contract != "" {
			s = strings.TrimSuffix(s, "\n") + ", up to " + Line(string(f.Contract)) + "\n"
		}
	}
	for _, n := range d.FollowedBy {
		_, by := n.What.Words()
		s += fmt.Sprintf("  then    %s %s: it %s", n.ID, by, n.State.Has())
		if n.TakenBack != "" {
			s += ", and was taken back by " + string(n.TakenBack)
		}
		s += "\n"
	}
	return s
}

// answered is a run of an agent: who worked for whom, and the answer.
func answered(st Style, d api.InspectDoc) string {
	s := fmt.Sprintf("  agent   %s\n  cost    %s\n\n", Line(d.Agent), spentBy(d.RunDoc))
	s += pattern(st, d.Pattern) + receipts(st, d.Receipts) + interventions(st, d.Interventions)
	if d.Answer != "" {
		s += "\n" + st.paint(bold, "Answer:") + "\n" + strings.TrimRight(Markdown(st, d.Answer), "\n") + "\n"
	}
	return s
}

// saidAtGates is what people said at the run's gates.
func saidAtGates(st Style, r agency.Report) string {
	if len(r.Words) == 0 {
		return ""
	}
	s := "\n" + st.paint(bold, "Said at gates:") + "\n"
	for _, w := range r.Words {
		s += "  " + Line(w.String()) + "\n"
	}
	return s
}

// elsewhere is what acts on others' machines of what the run brings.
func elsewhere(st Style, r agency.Report) string {
	if len(r.Acts) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", st.paint(bold, "Acts on others' machines:"))
	for _, a := range r.Acts {
		fmt.Fprintf(&b, "  %s\n", st.paint(yellow, Line(a.String())))
	}
	return b.String()
}

// concerns is what a run did about one contract.
type concerns struct {
	routing  []api.RoutingDoc
	sessions []api.SessionDoc
	reviews  []agency.Review
}

// about parts what a run did by the contract that it is about.
func about(d api.InspectDoc) map[agency.ContractID]concerns {
	routing := agency.ByContract(d.Routing, func(r api.RoutingDoc) agency.ContractID { return r.Contract })
	sessions := agency.ByContract(d.Sessions, func(s api.SessionDoc) agency.ContractID { return s.Contract })
	reviews := agency.ByContract(d.Reviews, func(r agency.Review) agency.ContractID { return r.ContractID })
	out := make(map[agency.ContractID]concerns, len(d.Contracts))
	for _, c := range d.Contracts {
		out[c.ID] = concerns{routing[c.ID], sessions[c.ID], reviews[c.ID]}
	}
	return out
}

func contract(st Style, run agency.RunID, c api.ContractDoc, of concerns) string {
	var b strings.Builder
	state := string(c.Status)
	if c.Stage != "" {
		state += ", " + string(c.Stage)
	}
	if c.Status == agency.StatusInProgress || c.Status == agency.StatusInReview {
		state += ", " + percent(c.Progress)
	}
	fmt.Fprintf(&b, "\n%s  %s  %s  attempt %d of %d\n", st.paint(bold, string(c.ID)), Line(c.Title), st.paint(statusColor(c.Status), state), c.Attempts, c.RetryBudget)
	if c.Error != "" {
		fmt.Fprintf(&b, "  %s\n", st.paint(red, Line(c.Error)))
	}
	if c.WaitsFor != "" {
		fmt.Fprintf(&b, "  %s\n", st.paint(yellow, "waits for "+Line(c.WaitsFor)))
	}
	if len(c.Resources) > 0 {
		fmt.Fprintf(&b, "  needs   %s\n", Line(strings.Join(c.Resources, ", ")))
	}
	for _, p := range c.Criteria {
		line := fmt.Sprintf("  %s  %s", st.paint(criterionColor(c, p), pad(c.State(p), 8)), Line(p.Text))
		if p.Note != "" {
			line += st.paint(dim, " ("+Line(p.Note)+")")
		}
		b.WriteString(line + "\n")
		for _, t := range p.Tests {
			fmt.Fprintf(&b, "            %s\n", st.paint(dim, Line(t)))
		}
	}
	b.WriteString(doubts(st, c))
	for _, r := range of.routing {
		fmt.Fprintf(&b, "  model   attempt %d: %s, %s %s\n", r.Attempt, r.Level, Line(r.Model), st.paint(dim, "("+Line(r.Reason)+")"))
	}
	for _, s := range of.sessions {
		turns := agency.Things(s.Turns, "turn", "turns")
		if s.Epochs > 1 {
			turns += fmt.Sprintf(" in %d epochs", s.Epochs)
		}
		id := strings.TrimPrefix(string(s.ID), string(run)+"/") // --transcript knows it by this
		how := orDash(Line(s.Outcome))
		if s.Outcome == "stopped" { // by no act of its own
			how += st.paint(dim, " ("+Line(s.Reason)+")")
		}
		fmt.Fprintf(&b, "  session %s  %s  %s  %s  %s\n", id, s.Role, turns,
			Cost(agency.USD(s.CostUSD), s.Tokens, s.Unpriced), how)
		if s.HealthReason != "" && s.HealthSince != nil {
			fmt.Fprintf(&b, "          %s since %s: %s\n", st.paint(yellow, Line(s.Health)), s.HealthSince.Format(time.TimeOnly), Line(s.HealthReason))
		}
	}
	for _, r := range of.reviews {
		b.WriteString(review(st, r))
	}
	return b.String()
}

// criterionColor is that of how it stands with a criterion of a contract.
func criterionColor(c api.ContractDoc, p agency.Proof) string {
	if c.Leads {
		return dim
	}
	return proofColor(p.Proof)
}

// doubts are what a person may want to look at: checks that are red, lines that
// no test holds, tests whose expectations were edited.
func doubts(st Style, c api.ContractDoc) string {
	var b strings.Builder
	for _, r := range c.Red {
		fmt.Fprintf(&b, "  %s  %s\n", st.paint(red, pad("red", 8)), Line(r.Head()))
		for _, l := range r.Lines() {
			fmt.Fprintf(&b, "            %s\n", st.paint(dim, Line(l)))
		}
	}
	if len(c.Unchecked) > 0 {
		fmt.Fprintf(&b, "  %s  not checked, for no command of the run enters it: %s\n", st.paint(yellow, "untested"), Line(strings.Join(c.Unchecked, ", ")))
	}
	if line := c.Unproved.Line(); line != "" {
		fmt.Fprintf(&b, "  %s  %s\n", st.paint(yellow, "unproved"), Line(line))
		for _, f := range c.Unproved.Files {
			if len(f.Where) > 0 {
				fmt.Fprintf(&b, "            %s\n", st.paint(dim, Line(strings.Join(f.Where, ", "))))
			}
		}
	}
	if line := agency.ExpectationsLine(c.Expectations); line != "" {
		fmt.Fprintf(&b, "  %s  edited expectations: %s\n", st.paint(yellow, pad("edited", 8)), Line(line))
		for _, e := range c.Expectations {
			fmt.Fprintf(&b, "            %s\n", st.paint(dim, Line(fmt.Sprintf("%s: %s on the base, %s in its old form now", e.Test, e.Before, e.Now))))
		}
	}
	return b.String()
}

// review is a line, and one for each finding.
func review(st Style, r agency.Review) string {
	var b strings.Builder
	color := yellow
	if r.Verdict == agency.ReviewApprove {
		color = green
	}
	fmt.Fprintf(&b, "  review  attempt %d, round %d  %s  %s\n", r.Attempt, r.Iteration, st.paint(color, Line(r.Line())), Line(r.Summary))
	for _, i := range r.Issues {
		fmt.Fprintf(&b, "            %s  %s\n", pad(string(i.Severity), 8), st.paint(dim, Line(i.Where()+": "+i.Issue)))
	}
	for _, i := range r.Notes {
		fmt.Fprintf(&b, "            %s  %s\n", pad("note", 8), st.paint(dim, Line(i.Where()+": "+i.Issue)))
	}
	return b.String()
}

// agents are a line each where several worked: one alone is its contract.
func agents(st Style, all []api.AgentDoc) string {
	if len(all) < 2 {
		return ""
	}
	t := table{head: []string{"AGENT", "STATUS", "TURNS", "FILES", "MISSED BEATS", "DOING"}, right: []bool{false, false, true, true, true, false}}
	for _, a := range all {
		t.add(string(a.ID), Line(a.Status), fmt.Sprint(a.Turns), fmt.Sprint(a.Files), fmt.Sprint(a.Missed), cmp.Or(Line(a.Activity), "-"))
	}
	return "\n" + t.render(st, "")
}

func conflicts(st Style, all []api.ConflictDoc) string {
	if len(all) == 0 {
		return ""
	}
	t := table{head: []string{"CONFLICT", "STATUS", "BETWEEN", "OUTCOME"}}
	for _, c := range all {
		outcome := cmp.Or(Line(c.How), "-")
		switch {
		case c.Proof != "":
			outcome += " (" + Line(c.ProofKind+" "+shortRef(c)) + ")"
		case c.EscalatedTo != "":
			outcome = "with " + Line(c.EscalatedTo)
		}
		t.add(Line(c.Resource), Line(c.Status), agency.JoinIDs(c.Agents, ", "), outcome)
	}
	return "\n" + t.render(st, "")
}

// shortRef is a proof as a table shows it.
func shortRef(c api.ConflictDoc) string {
	if c.ProofKind == "commit" {
		return agency.OID(c.Proof).Short()
	}
	return c.Proof
}

func receipts(st Style, rs []api.ReceiptDoc) string {
	if len(rs) == 0 {
		return ""
	}
	t := table{head: []string{"CHECK", "ON", "EXIT", "PASSED", "FAILED", "SKIPPED", "TREE", "COMMAND"}, right: []bool{false, false, true, true, true, true, false, false}}
	trials := map[string]string{}
	for _, r := range rs {
		if r.Trial != "" {
			trials[Line(r.Stage)] = Line(r.Trial)
		}
		exit := fmt.Sprint(r.ExitCode)
		if r.Cause != "" {
			exit += " " + r.Cause
		}
		t.add(string(r.Kind), Line(r.Stage), Line(exit), fmt.Sprint(r.Passed), fmt.Sprint(r.Failed), fmt.Sprint(r.Skipped), r.Tree.Short(), Line(r.Command))
	}
	out := "\n" + t.render(st, "")
	for _, stage := range slices.Sorted(maps.Keys(trials)) {
		out += st.paint(dim, stage+": a "+trials[stage]+"; it says what the tests are worth, and nothing of the work") + "\n"
	}
	return out
}

// mostOutput is how many lines of a check's output are shown of one that does not pass.
const mostOutput = 40

// Checks are the checks of what was verified last, a line each: those that do not pass first, with
// the end of what they printed; then what ran before, on the base, or as a trial. Verbose are all
// in their order, each with all that is kept of its output.
func Checks(st Style, d api.InspectDoc, verbose bool) string {
	if len(d.Receipts) == 0 {
		return "no check has run yet\n"
	}
	var failed, passed, others strings.Builder
	last := lastChecks(d.Receipts)
	for i, r := range d.Receipts {
		switch {
		case verbose:
			fmt.Fprintf(&failed, "\n%s%s", checkLine(st, d.ID, r), printed(st, d.ID, r, 0))
		case !last[i]:
			others.WriteString("  " + checkLine(st, d.ID, r))
		case isRed(r):
			fmt.Fprintf(&failed, "\n%s%s", checkLine(st, d.ID, r), printed(st, d.ID, r, mostOutput))
		default:
			passed.WriteString(checkLine(st, d.ID, r))
		}
	}
	out := failed.String()
	if passed.Len() > 0 {
		out += "\n" + passed.String()
	}
	if others.Len() > 0 {
		out += "\n" + st.paint(bold, "Before, on the base, and in trials of the tests; what fails here says nothing of what was verified last:") + "\n" + others.String()
	}
	if !verbose {
		out += "\n" + st.paint(dim, fmt.Sprintf("all output: agency inspect %s --checks --verbose", shortRun(d.ID))) + "\n"
	}
	return strings.TrimPrefix(out, "\n")
}

func isRed(r api.ReceiptDoc) bool { return r.Red != nil || r.ExitCode != 0 || r.Cause != "" }

// lastChecks are the last of each check of a contract on what was to be integrated; of a contract
// of which nothing was verified yet, those of its agent.
func lastChecks(all []api.ReceiptDoc) map[int]bool {
	verified := map[agency.ContractID]bool{}
	counts := func(r api.ReceiptDoc) bool {
		return r.Trial == "" && r.Stage != agency.StageBase && r.Stage != agency.StageWork
	}
	for _, r := range all {
		verified[r.Contract] = verified[r.Contract] || counts(r)
	}
	type check struct {
		of   agency.ContractID
		kind agency.CheckKind
		line string
	}
	at := map[check]int{}
	for i, r := range all {
		if counts(r) || !verified[r.Contract] && r.Stage == agency.StageWork {
			at[check{r.Contract, r.Kind, r.Command}] = i
		}
	}
	last := make(map[int]bool, len(at))
	for _, i := range at {
		last[i] = true
	}
	return last
}

// checkLine is a check with how it ended, and on what it ran.
func checkLine(st Style, run agency.RunID, r api.ReceiptDoc) string {
	how, color := "passes", green
	if isRed(r) {
		how, color = fmt.Sprintf("exit code %d", r.ExitCode), red
	}
	if r.Cause != "" {
		how += ", " + Line(r.Cause)
	}
	if n := r.Passed + r.Failed + r.Skipped; n > 0 {
		how += fmt.Sprintf(", passed %d, failed %d, skipped %d", r.Passed, r.Failed, r.Skipped)
	}
	where := Line(cmp.Or(r.Trial, r.Stage, "-")) + " of " + cmp.Or(string(r.Contract), string(run))
	return fmt.Sprintf("%s  %s  %s  %s\n", st.paint(bold, string(r.Kind)), Line(r.Command), st.paint(color, how), st.paint(dim, fmt.Sprintf("(%s, tree %s, %.1f s)", where, r.Tree.Short(), r.Seconds)))
}

// printed are the failed tests of a check and the end of what it printed; most 0: all of it.
func printed(st Style, run agency.RunID, r api.ReceiptDoc, most int) string {
	var b strings.Builder
	if r.Red != nil {
		for _, t := range r.Red.Tests {
			fmt.Fprintf(&b, "  %s\n", st.paint(red, "failed: "+Line(t.String())))
		}
	}
	lines := strings.Split(strings.TrimSpace(Clean(agency.PlainOutput(r.Output))), "\n")
	if n := len(lines) - most; most > 0 && n > 1 {
		fmt.Fprintf(&b, "  %s\n", st.paint(dim, fmt.Sprintf("+%d lines before, agency inspect %s --checks --verbose", n, shortRun(run))))
		lines = lines[n:]
	}
	for _, l := range lines {
		if l != "" {
			fmt.Fprintf(&b, "  | %s\n", l)
		}
	}
	return b.String()
}

func landings(st Style, ls []api.LandingDoc) string {
	if len(ls) == 0 {
		return ""
	}
	t, how := table{head: []string{"INTEGRATED", "COMMIT", "INTO", "VERIFIED"}}, ""
	for _, l := range ls {
		name := string(l.Contract)
		if name == "" {
			name = "final merge"
		}
		verified := ""
		if len(l.Checks) > 0 {
			verified = agency.JoinIDs(l.Checks, ", ") + " on " + l.Checked.Short()
		}
		t.add(name, l.Commit.Short(), Line(l.Branch), verified)
		if len(l.Structural) > 0 {
			how += fmt.Sprintf("%s was merged structurally in %s.\n", name, Line(strings.Join(l.Structural, ", ")))
		}
		for _, line := range l.Lost {
			how += fmt.Sprintf("%s resolved a conflict without %s\n", name, Line(line))
		}
		if l.Batch > 0 {
			how += fmt.Sprintf("%s was integrated in a batch of %d, verified as one tree.\n", name, l.Batch)
		}
	}
	t.spare(st, "INTO")
	return "\n" + t.render(st, "") + how
}

func stateColor(s agency.RunState) string {
	switch s {
	case agency.StateSucceeded:
		return green
	case agency.StateFailed, agency.StateInterrupted:
		return red
	case agency.StateWaiting, agency.StatePaused:
		return yellow
	}
	return cyan
}

func statusColor(s agency.Status) string {
	switch s {
	case agency.StatusComplete:
		return green
	case agency.StatusFailed:
		return red
	case agency.StatusBlocked:
		return yellow
	}
	return cyan
}

func proofColor(p agency.ProofKind) string {
	switch p {
	case agency.ProofVerified, agency.ProofReviewed:
		return green
	case agency.ProofOpen:
		return red
	}
	return yellow
}

func orDash(s string) string {
	if s == "" {
		return "at work"
	}
	return s
}
