package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/text"
)

// The contracts of a run that begins where another one stands: in which it takes over what
// was verified there, and in which it takes back what was merged.
const (
	beforeContract agency.ContractID = "before"
	undoContract   agency.ContractID = "undo"
	moreContract   agency.ContractID = "more" // on top of what was taken over; the checkout of the main contract stands below it
)

// Follow is the program of a run that begins where another one stands. What it takes over or
// takes back is a claim like any other: verified as a whole against what the target had, by
// the rules of this run, and landed on its branch. Where more is wanted, one agent works on
// that in the conversation of the other run, where it fits, and a critic reads it in the modes
// that have one; where a person asked for a mode, that is planned and done as the mode does. It
// ends at the merge gate.
func Follow(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	f := *in.Follows
	agents := in
	if f.What == agency.FollowUndo { // what may fail by the undo may not by work on it
		agents.Commands.TestsMayFail, agents.Commands.LintMayFail, agents.Commands.BuildMayFail = false, false, false
	}
	how := agents.alone(in.Mode != agency.ModeSingle && in.Mode != agency.ModeContract)
	how.GoesOn = f.Said
	switch {
	case f.Commit == "" && f.Planned:
		return in.planOn(c)
	case f.Commit == "":
		return pursue(c, in, in.wanted(), how, false)
	}
	before, err := adopt(c, in, adopted(in))
	switch {
	case err != nil || before.failed != "":
		return failed(before.cause), err
	case f.What == agency.FollowOn:
		if in.onto = before.landed.Commit; f.Planned {
			return in.planOn(c)
		}
		how.Base, how.After = in.onto, before.contract.ID
		return pursue(c, in, in.wanted(), how, false)
	}
	before.said = f.Said
	before.rework = func(c flow.Ctx, of again) (delivery, error) {
		how := how
		how.Base = of.landed.Commit
		return of.fulfil(c, againContract(before.contract, of), how)
	}
	return deliver(c, in, before)
}

// wanted is what is wanted now as one contract, on top of what was taken over, if anything was.
func (in Input) wanted() delivery {
	switch f := in.Follows; {
	case f == nil:
		return delivery{contract: mainContract(in)}
	case in.onto == "":
		return delivery{contract: followingContract(in)}
	}
	c := followingContract(in)
	c.ID = moreContract
	return delivery{contract: c, named: true}
}

// planOn has what is wanted more planned and done in the run's mode, on top of what was taken over.
func (in Input) planOn(c flow.Ctx) (Result, error) {
	in.before = former(*in.Follows, in.Follows.Chain())
	return modeUpgrade{to: in.Mode}.begin(c, in)
}

// adopted is the contract in which a run takes over, or takes back, what another one did.
func adopted(in Input) agency.Contract {
	f := in.Follows
	c := mainContract(in)
	c.ID, c.RetryBudget, c.FeatureID = beforeContract, 1, ""
	c.Title = text.FirstLine(f.Goal, 100)
	c.Description = fmt.Sprintf("Run %s was asked for this and had it verified:\n\n%s", f.Run, f.Goal)
	if goals := slices.DeleteFunc(f.Chain(), func(g agency.FormerGoal) bool { return g.Now != agency.GoalLanded }); len(f.Goals) > 1 && len(goals) > 0 {
		c.Title, c.Description = text.FirstLine(goals[len(goals)-1].Goal, 100), "This was asked for, one after the other, and had verified:"
		for _, g := range goals {
			c.Description += fmt.Sprintf("\n\nRun %s:\n\n%s", g.Run, g.Goal)
		}
	}
	if f.What == agency.FollowUndo {
		c.ID = undoContract
		c.Title = text.FirstLine(fmt.Sprintf("Revert %q", f.Goal), 100)
		c.Description = fmt.Sprintf("This takes back %s, by which run %s was merged:\n\n%s", f.Commit, f.Run, f.Goal)
	}
	c.AcceptanceCriteria = []agency.Criterion{{ID: "goal", Text: c.Title}}
	return c
}

// adopt takes the contract to its landing, without an agent.
func adopt(c flow.Ctx, in Input, contract agency.Contract) (delivery, error) {
	d := delivery{contract: contract, named: true}
	how := in.alone(false)
	how.Base = in.Base
	a, err := contractrun.Begin(c, contract, how)
	if err != nil {
		return d, err
	}
	spec, end := land.FilesSpec{Run: in.Run, Contract: contract.ID, Base: in.Base, Of: in.Follows.Commit}, "land"
	if in.Follows.What == agency.FollowUndo {
		spec.Of, spec.Back, spec.BackOf, end = "", in.Follows.Commit, in.Follows.Run, "take back"
	}
	files, err := flow.Call(c, land.FilesActivity, contractrun.Path(contract.ID, "files"), spec)
	if err != nil {
		return d, err
	}
	if files.Refused != "" {
		d.failed = files.Refused
		d.cause = agency.Failure{Kind: agency.FailedTarget, Cause: d.failed}
		return d, a.GiveUp(c, d.failed)
	}
	if len(files.Conflicts) > 0 {
		d.failed = fmt.Sprintf("%s has changed since where run %s did, too: %s; nothing was touched; by hand: git switch %s && git revert -m 1 %s",
			in.Target, in.Follows.Run, strings.Join(files.Conflicts, ", "), in.Target, in.Follows.Commit)
		d.cause = agency.Failure{Kind: agency.FailedTarget, Cause: d.failed}
		return d, a.GiveUp(c, d.failed)
	}
	d.landed, d.failed, err = a.Adopt(c, agency.Claim{Contract: contract.ID, Summary: contract.Description, Tree: files.Tree}, spec.Of)
	d.cause = a.Cause(d.failed)
	if d.failed == "" && d.landed.Empty {
		d.failed = fmt.Sprintf("nothing is left of it to %s: %s has none of its changes", end, in.Target)
		d.cause = agency.Failure{Kind: agency.FailedNothing, Cause: d.failed}
	}
	return d, err
}

// TakenOver tells whether a contract of a run is that by which it took over what another one
// had verified, and no work on its own goal.
func TakenOver(of agency.Run, c agency.ContractID) bool {
	return c == beforeContract && of.Follows != nil && of.Follows.What == agency.FollowOn
}

// followingContract is the goal as a contract, with what it follows. What is open of the goals
// before is to be done, too, and judged.
func followingContract(in Input) agency.Contract {
	f := in.Follows
	c, goals := mainContract(in), f.Chain()
	open := 0
	for _, g := range goals {
		if g.Now != agency.GoalOpen {
			continue
		}
		if open++; open == 1 && f.Commit == "" { // what is to be done first
			c.Title = text.FirstLine(g.Goal, 100)
		}
		c.AcceptanceCriteria = append(c.AcceptanceCriteria, agency.Criterion{ID: string(numbered(beforeContract, open)), Text: g.Goal})
	}
	c.Description = in.Goal + "\n\n" + former(*f, goals)
	return c
}

// former says what was wanted before, and what is left of it to do and to keep.
func former(f agency.Follows, goals []agency.FormerGoal) string {
	if len(goals) == 1 {
		return fmt.Sprintf("This goes on from run %s, which %s and was asked for this:\n\n%s\n\n%s%s", f.Run, f.State.Has(), text.Head(f.Goal, mostFormer), left(goals[0], f.Commit == ""), saidOf(goals[0]))
	}
	s := fmt.Sprintf("This goes on from run %s, which %s. What was asked for before it, and of it, oldest first:", f.Run, f.State.Has())
	alone := !slices.ContainsFunc(goals, func(g agency.FormerGoal) bool { return g.Now != agency.GoalOpen })
	for i, g := range goals {
		s += fmt.Sprintf("\n\n%d. Run %s, which %s, was asked for this:\n\n%s\n\n%s%s", i+1, g.Run, g.State.Has(), text.Head(g.Goal, mostFormer), left(g, alone), saidOf(g))
	}
	return s
}

// saidOf is what people said at the gates of a run before: what they wanted of it may have been
// tried and not verified, and is in no goal.
func saidOf(g agency.FormerGoal) (s string) {
	for _, w := range g.Said {
		s += "\n- " + w.String()
	}
	if s != "" {
		s = "\n\nAt its gates people said, oldest first; what of it is not in the files is still wanted:" + s
	}
	return s
}

// mostFormer bounds what is told of a goal before, in characters.
const mostFormer = 4000

// left is what a goal before means for the files; alone: nothing of any landed.
func left(g agency.FormerGoal, alone bool) string {
	switch {
	case g.Now == agency.GoalUndone:
		return "That was merged, and a person had it taken back: it is in the files no more."
	case g.Now == agency.GoalOpen && alone:
		return "Nothing of that has landed: the files are as they were before."
	case g.Now == agency.GoalOpen:
		return "Nothing of that has landed: it is to be done, too."
	}
	return "What was verified of that is in the files as you see them; keep it working."
}
