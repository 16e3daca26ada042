// Package mode is the programs of the run: which agents stand at which arrow of
// docs/design.md. A mode is an ordinary function over flow that reads from top to
// bottom; the way of one contract is the business of contractrun, and what a
// program does to the records that of effects.
//
// Code here is deterministic: no clock, no goroutine, no map order. It composes,
// and has neither a context nor a store.
package mode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/roster/agentfile"
	"agency/internal/text"
)

// Input is what a run is told.
type Input struct {
	contractrun.Facts
	Target string
	Land   agency.LandMode
	Mode   agency.Mode
	// Follows is the run where this one begins; nil: none.
	Follows *agency.Follows
	// What a plan of a run that goes on from another one begins with: onto is the commit in which
	// what was verified there is taken over, before what is told of it. Empty: nothing is.
	onto   agency.OID
	before string
	// Untested is set where the user's configuration says that there are no tests:
	// work that nothing tested is then no reason to ask.
	Untested bool
	// Triggers move a run of mode single up by itself; OnError is single where a
	// failed plan falls back to one agent.
	Triggers []string
	// Asks has a person asked before that.
	Asks    bool
	OnError string
	// PlanGate asks a person before a plan is carried out.
	PlanGate bool
	// Plan is what a person gave in the place of a manager's plan.
	Plan *agency.Plan
	// Dry ends a team's run with its plan and what it may take.
	Dry bool

	// Agent is who answers the goal in mode agent, one of Cast.
	Agent string
	Cast  agentfile.Cast

	Tiers Tiers // of a tiered run

	// What follows is for teams.
	Parallel        int      // contracts at work at the same time
	SharedWrites    []string // globs whose overlap does not count
	MaxWaitingGates int      // while as many wait, no new contract starts
}

// Result is how a run ended: with a reason that it succeeded, else by a failure.
type Result struct {
	Succeeded bool
	Reason    string
	Failure   agency.Failure
	Commit    agency.OID // in the target, where it was merged
}

// failed is the end of a run that did not succeed.
func failed(why agency.Failure) Result { return Result{Reason: why.Sentence(), Failure: why} }

// Single is one generalist: work, verify, land on the run's branch, merge gate.
// A reject of the merge gate opens one more contract with the reason, on top of what
// landed, and so does each after it (docs/design.md, Modes). The run's triggers move it up: at the start to a team or to the mode that its goal asks
// for, or once to a formal contract when its attempts were used up by claims
// that do not hold.
func Single(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	m := upgradeOf(in)
	if up, err := mayMoveUp(c, in, "start", m.to, m.why, "one agent alone works on it"); err != nil {
		return Result{}, err
	} else if up {
		if err := recordUpgrade(c, in, m.trigger, fmt.Sprintf("single to %s, %s: %s", m.to, m.trigger, m.why), m.to); err != nil {
			return Result{}, err
		}
		return m.begin(c, in)
	}
	return pursue(c, in, delivery{contract: mainContract(in)}, in.alone(false), slices.Contains(in.Triggers, OnFailure))
}

// pursue takes the contract of a delivery to its landing and through the merge
// gate. Upgrade makes a formal contract of what one agent does not get verified.
func pursue(c flow.Ctx, in Input, first delivery, how contractrun.Work, upgrade bool) (Result, error) {
	contract := first.contract
	how.Base = cmp.Or(how.Base, in.Base)
	a := contractrun.New(contract, how)
	landed, failure, err := a.CreateAndFulfil(c)
	switch {
	case err != nil:
		return Result{}, err
	case failure != "":
		up, err := false, error(nil)
		if upgrade && a.Unproved() {
			up, err = mayMoveUp(c, in, OnFailure, agency.ModeContract, "one agent alone did not get it verified: "+failure, "end the run as failed; its branch and record stay")
		}
		if err != nil {
			return Result{}, err
		}
		if up {
			return upgradeToContract(c, in, a, failure)
		}
		return failed(a.Cause(failure)), a.GiveUp(c, failure)
	}
	first.landed, first.whole, first.said = landed, true, a.Session()
	first.rework = func(c flow.Ctx, of again) (delivery, error) {
		how := how
		how.Base, how.Before = of.landed.Commit, contractrun.Handed{}
		return of.fulfil(c, againContract(contract, of), how)
	}
	return deliver(c, in, first)
}

// upgradeToContract has a formal contract made of what one agent did not get verified;
// the files and the feedback go on.
func upgradeToContract(c flow.Ctx, in Input, a *contractrun.Run, failure string) (Result, error) {
	if err := a.Withdraw(c, "moved up to a formal contract: "+failure); err != nil {
		return Result{}, err
	}
	if err := recordUpgrade(c, in, OnFailure, "single to contract, "+OnFailure+": "+failure, agency.ModeContract); err != nil {
		return Result{}, err
	}
	how := in.alone(false)
	how.Before = contractrun.Handed{Tree: a.Tree, Feedback: a.Feedback, Cause: a.Cause(failure)}
	return formal(c, in, how)
}

// mainContract is the goal as a contract.
func mainContract(in Input) agency.Contract {
	main := agency.Contract{
		ID: agency.MainContract, RunID: in.Run, Type: agency.TypeFeature, AssignedRole: agency.RoleGeneralist,
		Title: text.FirstLine(in.Goal, 100), Description: in.Goal, GoalAnchor: in.Goal,
		AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: in.Goal}},
		RetryBudget:        in.RetryBudget,
	}
	if f := in.Feature; f != nil {
		main.FeatureID = f.ID
		if own := f.Criteria(); len(own) > 0 {
			main.AcceptanceCriteria = own
		}
	}
	return main
}

// againContract is what a rejected merge gate asks for. The goal is told once: as
// what the contract is anchored to. What was rejected before must hold as well.
func againContract(first agency.Contract, of again) agency.Contract {
	c := agency.GoneOn(first)
	c.ID = numbered(first.ID, of.n)
	reason := of.reason()
	c.Title = text.FirstLine("After review: "+reason, 100)
	c.Description = strings.TrimSpace(strings.TrimPrefix(first.Description, first.GoalAnchor) +
		"\n\nThis was done and landed on the run's branch, and a person looked at it and rejected it with this reason:\n\n" + reason)
	c.AcceptanceCriteria = append(c.AcceptanceCriteria, of.criteria()...)
	return c
}
