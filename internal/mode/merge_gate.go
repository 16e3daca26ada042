package mode

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/verify"
)

//go:embed merge_gate.md
var mergeGateText string

type mergeGateView struct {
	mergeGateSpec
	Goal, Branch, Stat, Cost, Signing       string
	Report                                  string // of a run of several contracts
	Local                                   string // edits of the user that land with the work
	Proofs                                  []agency.Proof
	Weakened                                []agency.Weakening
	Receipts, Flaky, Woven, Lost, Quarrels  []string
	Unchecked                               []string          // folders that the change touches and no command enters
	Reds                                    []agency.Red      // among the receipts
	Left                                    []agency.Leftover // new files that the contract does not name
	Reviews                                 []agency.Review   // the last of each contract that landed
	Coverage                                *agency.Coverage
	Tests                                   string // before and after
	Unproved                                *agency.Unproved
	Expectations                            []agency.Expectation
	NoTests, NoneRan, WeakProof, SandboxOff bool
	CheckedBy                               string   // what checks the work, where no test does
	Tail                                    []string // the test command's last lines, where it tested nothing
}

func (s *Steps) mergeGate(ctx context.Context, _ agency.StepKey, in mergeGateSpec) (flow.None, error) {
	view := mergeGateView{mergeGateSpec: in}
	var err error
	if view.SandboxOff, err = s.shop.SandboxOff(ctx, in.Run); err != nil {
		return flow.None{}, err
	}
	from, to := in.shows()
	if view.Stat, err = s.shop.Stat(ctx, in.Run, from, to); err != nil {
		return flow.None{}, err
	}
	if view.Signing, err = s.shop.Signing(ctx, in.Run); err != nil {
		view.Signing = "its configuration is refused: " + err.Error() // told again, and mended, at the merge
	}
	if err := s.db.Read(ctx, view.fill); err != nil {
		return flow.None{}, err
	}
	whole, err := s.measure(ctx, in.Run)
	if err != nil {
		return flow.None{}, err
	}
	if err := view.fillReport(whole); err != nil {
		return flow.None{}, err
	}
	view.judgeUntested()
	body, err := view.render()
	if err != nil {
		return flow.None{}, err
	}
	return s.gate(ctx, "", agency.Gate{
		ID: in.Gate, RunID: in.Run, Kind: agency.GateMerge, ContractID: in.Contract,
		Summary: view.summary(), Body: body, NoYes: len(view.Weakened) > 0 || in.Problem != "" && !in.onlyAnew(),
		Weakened: view.Weakened, Red: view.Reds, Approving: in.approving(), Base: from, Head: in.Head,
	})
}

// fill gathers what the gate shows: the last verdicts with their receipts.
func (v *mergeGateView) fill(q *store.Snapshot) error {
	run, err := registry.Run(q, v.Run)
	if err != nil {
		return err
	}
	v.Goal, v.Branch = run.Goal, run.Branch
	reviews, err := registry.Reviews(q, v.Run)
	if err != nil {
		return err
	}
	v.fillReviews(reviews)
	last, err := v.fillVerdicts(q, reviews)
	if err != nil {
		return err
	}
	if err := v.fillReceipts(q, last); err != nil {
		return err
	}
	return v.fillTogether(q)
}

// fillVerdicts takes what the last verdict that passed on each contract says: of
// the one that the gate is about, or of all that landed. Weakenings count
// whichever verdict names them.
func (v *mergeGateView) fillVerdicts(q *store.Snapshot, reviews []agency.Review) (last map[agency.ContractID]agency.Verdict, err error) {
	verdicts, err := verify.Verdicts(q, v.Run)
	if err != nil {
		return nil, err
	}
	accepted, err := acceptedWeakenings(q, v.Run)
	if err != nil {
		return nil, err
	}
	last = map[agency.ContractID]agency.Verdict{}
	for _, verdict := range verdicts {
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
	if v.Contract == "" {
		return last, v.fillTeam(q, last, reviews)
	}
	if verdict, ok := last[v.Contract]; ok {
		v.takeIn(byReview(verdict, reviews))
		v.NoTests, v.NoneRan = verdict.NoTests, verdict.NoneRan
	}
	return last, nil
}

// takeIn adds what a verdict says to what the gate shows.
func (v *mergeGateView) takeIn(verdict agency.Verdict) {
	v.Proofs = append(v.Proofs, verdict.Proofs...)
	v.WeakProof = v.WeakProof || verdict.WeakProof
	v.Flaky, v.Left, v.Unchecked = append(v.Flaky, verdict.Flaky...), append(v.Left, verdict.Leftovers...), append(v.Unchecked, verdict.Unchecked...)
	v.Unproved, v.Expectations = v.Unproved.Add(verdict.Unproved), append(v.Expectations, verdict.Expectations...)
}

// fillReceipts lists the checks of what landed, and tells more of those that are
// red.
func (v *mergeGateView) fillReceipts(q *store.Snapshot, last map[agency.ContractID]agency.Verdict) error {
	receipts, err := check.Receipts(q, v.Run)
	if err != nil {
		return err
	}
	kept, judged := map[agency.ReceiptID]bool{}, v.Tree
	for id, verdict := range last {
		if v.Contract != "" && id != v.Contract {
			continue
		}
		for _, r := range verdict.Receipts {
			kept[r] = true
		}
		if v.Tree == "" {
			judged = verdict.Tree
		}
	}
	var of []agency.Receipt
	for _, r := range receipts {
		landed := r.Stage == string(check.StageLanding) && (v.Contract == "" || r.ContractID == v.Contract)
		if r.Tree == judged && (kept[r.ID] || landed) {
			of = append(of, r)
		}
	}
	of = check.Latest(of)
	var kinds []agency.CheckKind
	for _, r := range of {
		v.Receipts, kinds = append(v.Receipts, receiptLine(r)), append(kinds, r.Kind)
	}
	v.CheckedBy = agency.CheckedBy(kinds...)
	v.Reds = check.Reds(of, receipts)
	for _, r := range of {
		if r.Kind == agency.CheckTest {
			v.Tail = check.LastLines(r)
		}
	}
	return nil
}

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
func (v *mergeGateView) fillTeam(q store.Querier, last map[agency.ContractID]agency.Verdict, reviews []agency.Review) error {
	contracts, err := registry.Contracts(q, v.Run)
	if err != nil {
		return err
	}
	untested, commandless := 0, 0
	judged := 0
	for _, c := range contracts {
		verdict, ok := last[c.ID]
		if c.AssignedRole == reviewer {
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
		v.takeIn(verdict)
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

// judgeUntested makes a weakened check of it that nothing tested the work, or a
// part of it: no --yes answers for that. Where the configuration says that there
// are no tests, a person has answered already.
func (v *mergeGateView) judgeUntested() {
	if !v.Untested {
		slices.Sort(v.Unchecked)
		for _, dir := range slices.Compact(v.Unchecked) {
			v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUnentered, Name: dir})
		}
	}
	known := slices.ContainsFunc(v.Weakened, func(w agency.Weakening) bool { return w.Kind == agency.WeakUntested })
	switch {
	case known:
	case v.NoTests && !v.Untested:
		v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUntested, Name: "no test command is known"})
	case v.NoneRan:
		v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUntested, Name: "the test command gives no result of a test"})
	}
}

func (v *mergeGateView) summary() string {
	switch {
	case v.onlyAnew():
		return "ready to merge into " + v.Target + ", but not what was shown: " + firstLine(v.Problem)
	case v.Problem != "":
		return "the merge was not done: " + firstLine(v.Problem)
	case len(v.Weakened) > 0:
		return "ready, but " + weakenedWords(v.Weakened) + v.doubts()
	case v.Land == agency.LandBranch:
		return "ready on " + v.Branch + v.doubts()
	default:
		return "ready to merge into " + v.Target + v.doubts()
	}
}

// doubts name what no check shows: the summary is all that the log of a run
// holds whose gate --yes answers.
func (v *mergeGateView) doubts() string {
	s := ""
	for _, line := range []string{v.ExpectationsLine(), agency.AssertedLine(v.Proofs)} {
		if line != "" {
			s += "; " + line
		}
	}
	return s
}

// ExpectationsLine names the edited expectations.
func (v *mergeGateView) ExpectationsLine() string { return agency.ExpectationsLine(v.Expectations) }

// weakenedWords say in a few words what an approval accepts.
func weakenedWords(all []agency.Weakening) string {
	n := 0
	var parts, unentered []string
	for _, w := range all {
		switch w.Kind {
		case agency.WeakUntested:
			parts = []string{"nothing tested it"}
		case agency.WeakUnentered:
			unentered = append(unentered, w.Name)
		default:
			n++
		}
	}
	if len(unentered) > 0 && len(parts) == 0 {
		parts = append(parts, "nothing tested "+strings.Join(unentered, ", "))
	}
	switch {
	case n > 0:
		parts = append(parts, agency.Things(n, "check was", "checks were")+" weakened")
	}
	return strings.Join(parts, ", and ")
}

func (v *mergeGateView) render() (string, error) {
	t, err := template.New("merge_gate.md").Option("missingkey=error").Parse(mergeGateText)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

func receiptLine(r agency.Receipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s `%s`: exit code %d", r.Kind, r.Command, r.ExitCode)
	if r.Parsed {
		fmt.Fprintf(&b, ", passed %d, failed %d, skipped %d", r.Passed, r.Failed, r.Skipped)
	}
	fmt.Fprintf(&b, ", %.1f s", r.Duration)
	if r.CopyOf != "" {
		fmt.Fprintf(&b, ", known from %s", r.CopyOf)
	}
	return b.String()
}
