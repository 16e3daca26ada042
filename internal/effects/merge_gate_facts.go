package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/acts"
	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/check"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/verdicts"
)

// fill gathers what the gate shows: the last verdicts with their receipts.
func (v *mergeGateView) fill(q *store.Snapshot) error {
	run, err := registry.Run(q, v.Run)
	if err != nil {
		return err
	}
	v.Goal, v.Branch, v.Undoes = run.Goal, run.Branch, run.Follows != nil && run.Follows.What == agency.FollowUndo
	gates, err := registry.Gates(q, v.Run)
	if err != nil {
		return err
	}
	v.Words = agency.WordsOf(gates)
	reviews, err := registry.Reviews(q, v.Run)
	if err != nil {
		return err
	}
	v.fillReviews(reviews)
	last, err := v.fillVerdicts(q, v.MergeGate, reviews)
	if err != nil {
		return err
	}
	if err := v.fillReceipts(q, v.MergeGate, last); err != nil {
		return err
	}
	if v.Amended, err = amended(q, v.Run); err != nil {
		return err
	}
	return v.fillConflicts(q, v.Run)
}

// fillReviews gathers the last review of each contract that the gate is about.
func (v *mergeGateView) fillReviews(all []agency.Review) {
	for i, r := range all {
		later := slices.ContainsFunc(all[i+1:], func(o agency.Review) bool { return o.ContractID == r.ContractID })
		if !later && (v.Contract == "" || r.ContractID == v.Contract) {
			v.Reviews = append(v.Reviews, r)
		}
	}
}

// byReview takes the word of the last review of a verdict's contract for what
// nothing else proves of the files that it judged.
func byReview(verdict agency.Verdict, all []agency.Review) agency.Verdict {
	for _, r := range slices.Backward(all) {
		if r.ContractID != verdict.ContractID {
			continue
		}
		if r.Tree == verdict.Tree {
			verdict.Proofs = agency.ProveByReview(verdict.Proofs, r)
		}
		break
	}
	return verdict
}

// judgedWork is what verdicts say of the work.
type judgedWork struct {
	Proofs                      []agency.Proof
	Weakened                    []agency.Weakening
	Flaky                       []string
	Unchecked                   []string          // folders that the change touches and no command enters
	Left                        []agency.Leftover // new files that the contract does not name
	Unproved                    *agency.Unproved
	Expectations                []agency.Expectation
	Quality                     []scoredWork
	NoTests, NoneRan, WeakProof bool
	// TestsRed and LintRed say that they fail by the work, and need not pass.
	TestsRed, LintRed bool
}

// fillVerdicts takes what the last verdict that passed on each contract says: of
// the one that the gate is about, or of all that landed. Weakenings count
// whichever verdict names them.
func (v *judgedWork) fillVerdicts(q *store.Snapshot, of MergeGate, reviews []agency.Review) (last map[agency.ContractID]agency.Verdict, err error) {
	all, err := verdicts.All(q, of.Run)
	if err != nil {
		return nil, err
	}
	accepted, err := acceptedWeakenings(q, of.Run)
	if err != nil {
		return nil, err
	}
	last = map[agency.ContractID]agency.Verdict{}
	for _, verdict := range all {
		if !verdict.Pass || verdict.ContractID == "" {
			continue
		}
		for _, w := range verdict.Weakened { // a second verdict on one claim names them again
			if !slices.ContainsFunc(v.Weakened, w.Same) && !slices.ContainsFunc(accepted, w.Same) {
				v.Weakened = append(v.Weakened, w)
			}
		}
		last[verdict.ContractID] = verdict
	}
	v.Weakened = slices.DeleteFunc(v.Weakened, func(w agency.Weakening) bool { // a score that was mended is low no more
		return w.Kind == agency.WeakQuality && !slices.ContainsFunc(slices.Collect(maps.Values(last)), func(o agency.Verdict) bool {
			return slices.ContainsFunc(o.Weakened, w.Same)
		})
	})
	if of.Contract == "" {
		return last, v.fillTeam(q, of.Run, last, reviews)
	}
	if verdict, ok := last[of.Contract]; ok {
		v.add(byReview(verdict, reviews))
		v.NoTests, v.NoneRan = verdict.NoTests, verdict.NoneRan
	}
	return last, nil
}

// add adds what a verdict says to what the gate shows.
func (v *judgedWork) add(verdict agency.Verdict) {
	v.Proofs = append(v.Proofs, verdict.Proofs...)
	v.WeakProof = v.WeakProof || verdict.WeakProof
	v.TestsRed, v.LintRed = v.TestsRed || verdict.TestsRed, v.LintRed || verdict.LintRed
	v.Flaky, v.Left, v.Unchecked = append(v.Flaky, verdict.Flaky...), append(v.Left, verdict.Leftovers...), append(v.Unchecked, verdict.Unchecked...)
	if verdict.Quality.Line() != "" {
		v.Quality = append(v.Quality, scoredWork{verdict.ContractID, verdict.Quality.Line(), verdict.Quality.Shown(maxShownFindings), verdict.Quality.Failed})
	}
	v.Unproved, v.Expectations = v.Unproved.Add(verdict.Unproved), append(v.Expectations, verdict.Expectations...)
}

// scoredWork is the quality score of a contract's work.
type scoredWork struct {
	Contract agency.ContractID
	Line     string
	Findings []string
	Failed   []string // analyzers that gave nothing, and why
}

// maxShownFindings are the findings of a contract that a gate shows.
const maxShownFindings = 20

// acceptedWeakenings are those that a person has accepted at gates of their
// own.
func acceptedWeakenings(q store.Querier, run agency.RunID) (out []agency.Weakening, err error) {
	gates, err := registry.Gates(q, run)
	for _, g := range gates {
		if g.Kind == agency.GateWeakened && g.Decision.Verb == agency.Approve {
			out = append(out, g.Weakened...)
		}
	}
	return out, err
}

// fillTeam gathers what the last verdicts on the contracts that landed say,
// in the plan's order.
func (v *judgedWork) fillTeam(q store.Querier, run agency.RunID, last map[agency.ContractID]agency.Verdict, reviews []agency.Review) error {
	contracts, err := registry.Contracts(q, run)
	if err != nil {
		return err
	}
	untested, commandless := 0, 0
	judged := 0
	for _, c := range contracts {
		verdict, ok := last[c.ID]
		if c.AssignedRole == agency.RoleReviewer {
			verdict.Proofs = agency.ProveWithoutVerdict(c, reviews)
		} else if !ok {
			continue
		}
		if c.Status != agency.StatusComplete {
			continue
		}
		verdict = byReview(verdict, reviews)
		verdict.Proofs = slices.Clone(verdict.Proofs)
		for i := range verdict.Proofs {
			p := &verdict.Proofs[i]
			p.ID = string(c.ID) + "/" + p.ID
			p.Text = string(c.ID) + ": " + p.Text
		}
		v.add(verdict)
		if !ok {
			continue
		}
		judged++
		if verdict.NoTests {
			commandless++
		}
		if verdict.NoneRan {
			untested++
		}
	}
	// Each was verified on top of others: what tested one of them tested those.
	v.NoTests, v.NoneRan = judged > 0 && commandless == judged, judged > 0 && untested == judged
	return nil
}

// checkedWork is which checks what landed has passed.
type checkedWork struct {
	Receipts  []string
	Reds      []agency.Red // among the receipts
	CheckedBy string       // what checks the work, where no test does
	Tail      []string     // the test command's last lines, where it tested nothing
	Fails     bool         // it does
}

// fillReceipts lists the checks of what landed, and tells more of those that are
// red.
func (v *checkedWork) fillReceipts(q *store.Snapshot, gate MergeGate, last map[agency.ContractID]agency.Verdict) error {
	receipts, err := check.Receipts(q, gate.Run)
	if err != nil {
		return err
	}
	kept, judged := map[agency.ReceiptID]bool{}, gate.Tree
	for id, verdict := range last {
		if gate.Contract != "" && id != gate.Contract {
			continue
		}
		for _, r := range verdict.Receipts {
			kept[r] = true
		}
		if gate.Tree == "" {
			judged = verdict.Tree
		}
	}
	var of []agency.Receipt
	for _, r := range receipts {
		landed := r.Stage == string(check.StageLanding) && (gate.Contract == "" || r.ContractID == gate.Contract)
		if r.Tree == judged && (kept[r.ID] || landed) {
			of = append(of, r)
		}
	}
	of = check.Latest(of)
	var kinds []agency.CheckKind
	rank := func(r agency.Receipt) int {
		return slices.Index([]bool{!r.OK(), r.Kind == agency.CheckTest, true}, true)
	}
	for _, r := range slices.SortedStableFunc(slices.Values(of), func(a, b agency.Receipt) int { return rank(a) - rank(b) }) {
		v.Receipts, kinds = append(v.Receipts, receiptLine(r)), append(kinds, r.Kind)
	}
	v.CheckedBy = agency.CheckedBy(kinds...)
	v.Reds = check.Reds(of, check.AtStart(receipts)) // a gate shows what the whole run changed
	for _, r := range of {
		if r.Kind == agency.CheckTest {
			v.Tail, v.Fails = check.LastLines(r), !r.OK()
		}
	}
	return nil
}

// contestedWork is what landings did with conflicts.
type contestedWork struct{ StructuralMerges, Lost, UnresolvedConflicts []string }

// fillConflicts names the files that landings merged structurally, a line a
// contract, what resolutions of conflicts lost, and the conflicts that nothing
// has resolved.
func (v *contestedWork) fillConflicts(q store.Querier, run agency.RunID) error {
	all, err := land.Landings(q, run)
	if err != nil {
		return err
	}
	for _, l := range all {
		if len(l.Structural) > 0 {
			v.StructuralMerges = append(v.StructuralMerges, string(l.Contract)+": "+strings.Join(l.Structural, ", "))
		}
		for _, line := range l.Lost {
			v.Lost = append(v.Lost, string(l.Contract)+": "+line)
		}
	}
	open, err := board.Unresolved(q, run)
	for _, c := range open {
		v.UnresolvedConflicts = append(v.UnresolvedConflicts, fmt.Sprintf("%s (%s)", c, c.Status))
	}
	return err
}

// measuredWork is what was measured of the run.
type measuredWork struct {
	Cost     string
	Report   string // of a run of several contracts
	Local    string // edits of the user that land with the work
	Tests    string // before and after
	Coverage *agency.Coverage
	Said     string // by the agents of what landed
}

// fillReport takes what was measured of the whole run: one number for all who
// show it. The report as text stands at the gate of several contracts; one alone
// is shown by the rest of it.
func (v *measuredWork) fillReport(r agency.Report) (err error) {
	v.Coverage, v.Cost, v.Tests, v.Local = r.Rollup.Coverage, report.CostLine(r.Rollup), report.TestsLine(r.Rollup), report.LocalText(r.Local)
	if r.Rollup.Total > 1 {
		v.Report, err = report.Gate(r)
	}
	v.Said = saidAt(r)
	return err
}

// saidAt is what the agents of what landed say of it: one alone in its own words, as does one
// that went on after a reject, and each of several in a line.
func saidAt(r agency.Report) string {
	who := slices.DeleteFunc(slices.Clone(r.Contracts), func(c agency.ReportContract) bool {
		return c.Said == "" || c.Status != agency.StatusComplete
	})
	var lines []string
	for i, c := range who {
		newest := i == len(who)-1 && (r.Rollup.Total == 1 || !r.Mode.Team())
		switch {
		case newest && i == 0:
			return report.Quote(begins(c.Said))
		case newest:
			lines = append(lines, fmt.Sprintf("\n%s, the newest:\n\n%s", c.ID, report.Quote(begins(c.Said))))
		default:
			lines = append(lines, fmt.Sprintf("- %s: %s", c.ID, text.OneLine(sentences(c.Said), mostSaid)))
		}
	}
	return strings.Join(lines, "\n")
}

// sentences is a text in Markdown without what means something on a line of its own alone.
func sentences(said string) (out string) {
	for line := range strings.Lines(said) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "> ")
		entry, listed := strings.CutPrefix(line, "- ")
		switch {
		case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "```"):
		case listed && out != "" && !strings.HasSuffix(out, ":"):
			out += "; " + entry
		case listed:
			out += " " + entry
		default:
			out += " " + line
		}
	}
	return out
}

// mostLines is how many lines of one agent's words stand before what proves them.
const mostLines = 8

// begins is the beginning of what an agent said; the report has all of it.
func begins(said string) string {
	lines := strings.SplitAfterN(said, "\n", mostLines+1)
	if len(lines) <= mostLines {
		return said
	}
	return strings.Join(lines[:mostLines], "") + "… (all of it: agency inspect --report)"
}

// mostSaid bounds what is shown of each agent's words where there are several, in bytes.
const mostSaid = 300

// fillActs adds who brings what acts on others' machines, and who declared it.
// What nobody declared is asked about by name, and no --yes answers it.
func (v *mergeGateView) fillActs(q store.Querier, found []agency.Act, whole agency.Report) error {
	given, err := v.given(q)
	if err != nil {
		return err
	}
	for _, a := range found {
		for _, c := range whole.Contracts {
			if f := c.Files; f != nil && (slices.Contains(f.Created, a.Path) || slices.Contains(f.Modified, a.Path) || slices.Contains(f.Deleted, a.Path)) {
				a.Contracts = append(a.Contracts, c.ID)
			}
		}
		a.Declared = len(a.Contracts) > 0
		for _, id := range a.Contracts {
			a.Declared = a.Declared && acts.Declares(given[id], a)
		}
		v.Acts = append(v.Acts, a)
	}
	v.Weakened = append(v.Weakened, agency.WeakenedByActs(v.Acts)...)
	return nil
}

// fillUndone names the promises of files that a landing after their contract's own took
// back: what was verified of them is open, and no --yes answers it.
func (v *mergeGateView) fillUndone(whole agency.Report) {
	for _, c := range whole.Contracts {
		for _, lost := range c.Criteria {
			if !lost.Undone {
				continue
			}
			for i := range v.Proofs {
				if p := &v.Proofs[i]; p.ID == string(c.ID)+"/"+lost.ID || p.ID == lost.ID && whole.Rollup.Total == 1 {
					p.Proof, p.Missed, p.Undone, p.Note = lost.Proof, lost.Missed, lost.Undone, lost.Note
				}
			}
			v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUndone, Name: fmt.Sprintf("%s: %s", c.ID, lost.Text), Detail: lost.Note})
		}
	}
}

// given are the writes of contracts that a person gave, or approved in a plan.
// Those that agents wrote alone, and what they widened since, are a claim of
// theirs: so is a plan that --yes accepted.
func (v *mergeGateView) given(q store.Querier) (map[agency.ContractID][]string, error) {
	out := maps.Clone(v.Given)
	if out == nil {
		out = map[agency.ContractID][]string{}
	}
	gates, err := registry.Gates(q, v.Run)
	for _, g := range gates {
		if g.Kind == agency.GatePlan && g.Decision.Verb == agency.Approve && g.Decision.By != agency.ByYes {
			maps.Copy(out, g.Writes)
		}
	}
	return out, err
}
