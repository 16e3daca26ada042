package mode

import (
	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/contractrun/planning"
	"agency/internal/flow"
	"agency/internal/land"
)

// Contract makes the goal one formal contract, by the project manager, and has
// one generalist fulfil it with its context staged; from there it is as Single
// (docs/design.md, Modes).
func Contract(c flow.Ctx, in Input) (Result, error) {
	return begin(c, in, in.alone(false))
}

// ProducerCritic makes the goal one formal contract, as Contract does, and lets
// it land only when a critic approves of it (docs/design.md, Modes).
func ProducerCritic(c flow.Ctx, in Input) (Result, error) {
	return begin(c, in, in.alone(true))
}

func begin(c flow.Ctx, in Input, how contractrun.Work) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	return formal(c, in, how)
}

// formal drafts the contract and pursues it. A plan that failed falls back to
// one agent on the goal itself, where the run is so configured.
func formal(c flow.Ctx, in Input, how contractrun.Work) (Result, error) {
	how.Staged = true
	drafting := in.alone(false)
	drafting.Before.Tree, drafting.Before.Cause = how.Before.Tree, how.Before.Cause
	d := planning.New(in.plan(), drafting, how.Reviewed)
	why := how.Before.Feedback.Reason
	if why != "" {
		d.Contract.Description = "One agent worked on this alone and did not get it verified: " + why +
			"\n\nThe files are as it left them, and the contract is worked on from there."
	}
	plan, failure, err := in.planned(c, d)
	switch {
	case err != nil:
		return Result{}, err
	case plan != nil:
		return pursue(c, in, delivery{contract: d.Contracts(plan)[0], named: true}, how, false)
	case d.Stopped || in.OnError != "single" || why != "":
		return failed(d.Cause(failure)), nil
	}
	return fallBack(c, in, "plan-failed", "the plan failed", failure, d.Cause(failure), how.Reviewed)
}

// fallBack has one agent work on the goal itself, where the run is so
// configured; key names the reason.
func fallBack(c flow.Ctx, in Input, key, what, why string, cause agency.Failure, reviewed bool) (Result, error) {
	if err := recordUpgrade(c, in, key, what+", one agent works on the goal itself: "+why, agency.ModeSingle); err != nil {
		return Result{}, err
	}
	how := in.alone(reviewed)
	how.Before.Cause = cause
	return pursue(c, in, in.wanted(), how, false)
}

// manager leads a run.
var manager = contractrun.Lead{Role: agency.RoleProjectManager, Plan: agency.PlanContract}

// alone is how a contract is pursued that has no other beside it; reviewed: a critic
// reads what its claims change.
func (in Input) alone(reviewed bool) contractrun.Work {
	how := contractrun.Alone(in.Facts, manager).Work()
	how.Reviewed, how.Base = reviewed, in.onto
	return how
}

// planned is the plan that a person gave, or else the lead's.
func (in Input) planned(c flow.Ctx, d *planning.Draft) (plan []agency.Contract, failure string, err error) {
	if in.Plan != nil {
		return d.Adopt(c, *in.Plan)
	}
	return d.Plan(c)
}

// plan is what a plan of the run is made for.
func (in Input) plan() planning.Input {
	return planning.Input{Before: in.before, Gate: in.PlanGate, Dry: in.Dry, Alone: in.OnError == "single", Parallel: in.Parallel, SharedWrites: in.SharedWrites}
}
