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
	return begin(c, in, contractrun.Work{})
}

// ProducerCritic makes the goal one formal contract, as Contract does, and lets
// it land only when a critic approves of it (docs/design.md, Modes).
func ProducerCritic(c flow.Ctx, in Input) (Result, error) {
	return begin(c, in, contractrun.Work{Reviewed: true})
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
	before := how.Before
	how.Staged = true
	var drafting contractrun.Work
	if before != nil {
		drafting.Before = &contractrun.Handed{Tree: before.Tree}
	}
	d := planning.New(in.plan(), drafting, how.Reviewed)
	if before != nil {
		d.Contract.Description += "\n\nOne agent worked on this alone and did not get it verified: " + before.Feedback.Reason +
			"\n\nThe files are as it left them, and the contract is worked on from there."
	}
	plan, failure, err := d.Plan(c)
	switch {
	case err != nil:
		return Result{}, err
	case plan != nil:
		return pursue(c, in, delivery{contract: d.Contracts(plan)[0], named: true}, how, false)
	case d.Stopped || in.OnError != "single" || before != nil:
		return Result{Reason: failure}, nil
	}
	return fallBack(c, in, "plan-failed", "the plan failed", failure, how.Reviewed)
}

// fallBack has one agent work on the goal itself, where the run is so
// configured; key names the reason.
func fallBack(c flow.Ctx, in Input, key, what, why string, reviewed bool) (Result, error) {
	if err := recordUpgrade(c, in, key, what+", one agent works on the goal itself: "+why, agency.ModeSingle); err != nil {
		return Result{}, err
	}
	return pursue(c, in, delivery{contract: mainContract(in)}, contractrun.Work{Reviewed: reviewed}, false)
}

// plan is what a plan of the run is made for.
func (in Input) plan() planning.Input {
	return planning.Input{
		Facts: in.Facts, Given: in.Plan, Gate: in.PlanGate, Dry: in.Dry, Parallel: in.Parallel, SharedWrites: in.SharedWrites,
	}
}
