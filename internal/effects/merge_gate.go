package effects

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/store"
	"agency/internal/text"
)

//go:embed merge_gate.md
var mergeGateText string

// MergeGate is what a merge gate is about.
type MergeGate struct {
	Run      agency.RunID      `json:"run"`
	Gate     agency.GateID     `json:"gate"`
	Contract agency.ContractID `json:"contract"`
	Target   string            `json:"target"`
	Land     agency.LandMode   `json:"land"`
	Base     agency.OID        `json:"base"`
	Head     agency.OID        `json:"head"`
	Problem  string            `json:"problem,omitempty"`
	Mend     string            `json:"mend,omitempty"` // of the problem
	// Tree is what landed.
	Tree agency.OID `json:"tree,omitempty"`
	// Red is what fails in a target that moved, also without this work.
	Red []string `json:"red,omitempty"`
	// Anew is the merge that would be done now, where it is not what was shown
	// before: Problem says why. Its checks pass unless Red is set.
	Anew *land.Moved `json:"anew,omitempty"`
	// Held says why the run's branch is not where its work is.
	Held string `json:"held,omitempty"`
	// Again says that a person has sent work of the run back, and Failed why what they
	// wanted then was not done: the gate is about what was there before.
	Again  bool   `json:"again,omitempty"`
	Failed string `json:"failed,omitempty"`
	// Apart says that target and run changed the same lines.
	Apart bool `json:"apart,omitempty"`
	// Untested is Input's.
	Untested bool `json:"untested,omitempty"`
	// Given are the writes that a person gave contracts in a plan.
	Given map[agency.ContractID][]string `json:"given,omitempty"`
}

// rejecting is what a reject does.
func (s MergeGate) rejecting() string {
	if s.Again {
		return "send it back once more, with your reason; agency cancel " + string(s.Run) + " ends the run"
	}
	return "send it back, with your reason; as often as you want"
}

// shows are the commits or trees whose difference the gate shows.
func (s MergeGate) shows() (from, to agency.OID) {
	if s.Anew != nil {
		return s.Anew.Target, s.Anew.Tree
	}
	return s.Base, s.Head
}

// onlyAnew tells whether nothing but a target that moved on is to be looked at:
// --yes answers that as it answered what was shown before. A branch that
// somebody moved is for a person.
func (s MergeGate) onlyAnew() bool {
	return s.Anew != nil && len(s.Red) == 0 && !s.Anew.ByHand
}

// approving is what an approval of the gate does, in a few words.
func (s MergeGate) approving() string {
	switch {
	case len(s.Red) > 0:
		return "merge into the red " + s.Target + "; verified again if it has moved"
	case s.Anew != nil:
		return "merge into " + s.Target + " what is shown now; verified again if it has moved"
	case s.Problem != "":
		return "try the merge again"
	case s.Land == agency.LandBranch:
		return "keep the work on its branch"
	}
	return "merge into " + s.Target
}

// OpenMergeGate asks a person whether what landed is merged, with all that was
// measured of it.
var OpenMergeGate = flow.Activity[MergeGate, flow.None]{Name: "mode.merge_gate"}

// mergeGateView is what the gate's text is made from.
type mergeGateView struct {
	MergeGate
	judgedWork
	checkedWork
	contestedWork
	measuredWork
	Goal, Branch, Stat, Signing string
	Amended                     []string        // workstreams that went through more tiers than planned
	Acts                        []agency.Act    // on others' machines
	Reviews                     []agency.Review // the last of each contract that landed
	SandboxOff                  bool
	Undoes                      bool          // it takes back what another run merged
	Words                       []agency.Word // of people at gates before
}

func (s *Activities) openMergeGate(ctx context.Context, _ agency.StepKey, in MergeGate) (flow.None, error) {
	view := mergeGateView{MergeGate: in}
	var err error
	if view.SandboxOff, err = s.work.SandboxOff(ctx, in.Run); err != nil {
		return flow.None{}, err
	}
	from, to := in.shows()
	change, err := s.work.Change(ctx, in.Run, from, to)
	if err != nil {
		return flow.None{}, err
	}
	view.Stat = change.Stat
	if view.Signing, err = s.work.Signing(ctx, in.Run); err != nil {
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
	view.judgeUntested(in.Untested)
	if err := s.db.Read(ctx, func(q *store.Snapshot) error { return view.fillActs(q, change.Acts, whole) }); err != nil {
		return flow.None{}, err
	}
	view.fillUndone(whole)
	body, err := view.render()
	if err != nil {
		return flow.None{}, err
	}
	return s.openGate(ctx, "", agency.Gate{
		ID: in.Gate, RunID: in.Run, Kind: agency.GateMerge, ContractID: in.Contract,
		Summary: view.summary(), Body: body, NoYes: len(view.Weakened) > 0 || view.TestsRed || len(view.FailsAgain()) > 0 || in.Failed != "" || in.Problem != "" && !in.onlyAnew(),
		Weakened: view.Weakened, Acts: view.Acts, Red: view.Reds, Approving: in.approving(), Rejecting: in.rejecting(), Base: from, Head: in.Head,
	})
}

// Checks are the weakenings of checks, without what acts elsewhere.
func (v *judgedWork) Checks() []agency.Weakening { return agency.WithoutActs(v.Weakened) }

// Undeclared tells whether anything acts that nobody declared.
func (v *judgedWork) Undeclared() bool { return len(v.Checks()) < len(v.Weakened) }

// judgeUntested makes a weakened check of it that nothing tested the work, or a
// part of it: no --yes answers for that. Where the configuration says that there
// are no tests, a person has answered already.
func (v *judgedWork) judgeUntested(none bool) {
	if !none {
		slices.Sort(v.Unchecked)
		for _, dir := range slices.Compact(v.Unchecked) {
			v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUnentered, Name: dir})
		}
	}
	known := slices.ContainsFunc(v.Weakened, func(w agency.Weakening) bool { return w.Kind == agency.WeakUntested })
	switch {
	case known:
	case v.NoTests && !none:
		v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUntested, Name: "no test command is known"})
	case v.NoneRan:
		v.Weakened = append(v.Weakened, agency.Weakening{Kind: agency.WeakUntested, Name: "the test command gives no result of a test"})
	}
}

// FailsAgain are the checks that fail by an undo, or complain of more, whatever was done on
// top of it: tests by their names.
func (v *mergeGateView) FailsAgain() (names []string) {
	if !v.Undoes {
		return nil
	}
	for _, r := range v.Reds {
		known := len(names)
		for _, t := range r.Tests {
			if !t.Before && !slices.Contains(v.Flaky, t.Name) {
				names = append(names, t.Name)
			}
		}
		switch before := r.Before != nil && *r.Before; {
		case len(names) > known || len(r.Tests) > 0:
		case !before:
			names = append(names, "`"+r.Command+"`")
		case len(r.Findings) > 0:
			names = append(names, "`"+r.Command+"`, which was red before, too: "+text.Few(r.Findings, 3))
		}
	}
	return names
}

func (v *mergeGateView) summary() string {
	switch {
	case v.onlyAnew():
		return "ready to merge into " + v.Target + ", but not what was shown: " + text.FirstLine(v.Problem, 100)
	case v.Problem != "":
		s := "the merge was not done: " + text.FirstLine(v.Problem, 100)
		if v.Failed != "" {
			s += "; and what you asked for failed: " + text.FirstLine(v.Failed, 100)
		}
		return s
	case v.Failed != "":
		return "ready as it was before, for what you asked for failed: " + text.FirstLine(v.Failed, 100)
	case len(v.FailsAgain()) > 0:
		return "ready, but taking it back turns red: " + text.Few(v.FailsAgain(), 3)
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
func (v *judgedWork) doubts() string {
	s := ""
	if v.TestsRed {
		s += "; the tests do not pass"
	}
	if v.LintRed {
		s += "; lint does not pass"
	}
	for _, line := range []string{v.ExpectationsLine(), agency.AssertedLine(v.Proofs)} {
		if line != "" {
			s += "; " + line
		}
	}
	return s
}

// ExpectationsLine names the edited expectations.
func (v *judgedWork) ExpectationsLine() string { return agency.ExpectationsLine(v.Expectations) }

// weakenedWords say in a few words what an approval accepts.
func weakenedWords(all []agency.Weakening) string {
	n, acts := 0, 0
	var parts, unentered []string
	for _, w := range all {
		switch w.Kind {
		case agency.WeakUntested:
			parts = []string{"nothing tested it"}
		case agency.WeakActs:
			acts++
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
	if acts > 0 {
		parts = append(parts, agency.Things(acts, "file acts", "files act")+" on others' machines")
	}
	return strings.Join(parts, ", and ")
}

// render writes the gate's text. Whatever it shows is one line, but what is quoted or made of
// lines by the harness itself: no text of an agent makes lines of the gate.
func (v *mergeGateView) render() (string, error) {
	shown := text.InLines(*v, text.MostLine, "Said", "Report", "Local", "Stat", "Tail")
	t, err := template.New("merge_gate.md").Option("missingkey=error").Parse(mergeGateText)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, &shown); err != nil {
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
