package mode

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/contractrun/planning"
	"agency/internal/contractrun/team"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/text"
)

// Team has the project manager split the goal into contracts, which agents of
// their roles work beside each other, and lands each as it is done (docs/design.md, Modes).
// What fails for good is planned anew once.
func Team(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	return split(c, in)
}

// split has the goal planned and the plan carried out.
func split(c flow.Ctx, in Input) (Result, error) {
	t := team.New(in.team())
	how := t.Shared.Leading()
	how.Agents = t
	d := planning.New(in.plan(), how, true)
	d.Contract.Title = text.FirstLine("Plan for: "+in.Goal, 100)
	d.Contract.AcceptanceCriteria = []agency.Criterion{{ID: "plan", Text: "the goal is split into contracts whose criteria can be checked"}}
	plan, failure, err := in.planned(c, d)
	switch {
	case err != nil:
		return Result{}, err
	case in.Dry && plan != nil:
		_, err := flow.Call(c, effects.CreateContracts, "contracts", d.Contracts(plan))
		return Result{Succeeded: true, Reason: "a dry run: this is the plan, and nothing of it was begun"}, err
	case in.Dry:
		return failed(d.Cause(failure)), nil
	case plan != nil:
		return carryOut(c, in, t, d.Contracts(plan))
	case t.Started() && !d.Stopped:
		t.Unplanned, t.NoPlan = failure, d.Cause(failure)
		return carryOut(c, in, t, nil)
	case d.Stopped || in.OnError != "single":
		return failed(d.Cause(failure)), nil
	}
	return fallBack(c, in, "plan-failed", "the plan failed", failure, d.Cause(failure), false)
}

// team is what a team of the run is told.
func (in Input) team() team.Input {
	return team.Input{
		Shared: contractrun.Team(in.Facts, manager), Fulfil: work, Replan: in.replan,
		PlanGate: in.PlanGate, Dry: in.Dry, Parallel: in.Parallel, SharedWrites: in.SharedWrites, MaxWaitingGates: in.MaxWaitingGates,
	}
}

// work is how each contract of a plan is done: by a review, or by a claim that lands.
func work(c flow.Ctx, _ *team.Team, a *contractrun.Run) (failure string, err error) {
	if a.Contract.AssignedRole == agency.RoleReviewer {
		return a.GiveReview(c)
	}
	_, failure, err = a.Fulfil(c)
	return failure, err
}

// carryOut takes the plan to the end of its contracts, and what landed of it to
// the merge gate.
func carryOut(c flow.Ctx, in Input, t *team.Team, plan []agency.Contract) (Result, error) {
	out, err := t.Execute(c, plan)
	if err != nil {
		return Result{}, err
	}
	if out.Stopped != "" {
		return failed(t.Cause()), nil
	}
	if err := t.CheckDeferred(c); err != nil {
		return Result{}, err
	}
	if in.OnError == "single" && t.FellThrough(out) {
		return fallBack(c, in, "nothing-landed", "nothing of the plan was integrated", t.WhatFailed(), t.Cause(), false)
	}
	if why, err := t.Report(c); err != nil || why != "" {
		return failed(contractrun.StopCause(why)), err
	}
	if over, err := incomplete(c, IncompleteGate(in.Run), t, out); err != nil || over {
		return failed(t.Cause()), err
	}
	return finish(c, in, t)
}

// The contracts that a team's run makes itself beside its plan's.
const (
	ReplanContract agency.ContractID = "replan" // in which a manager plans anew what failed
	reworkContract agency.ContractID = "rework" // that makes better what a person rejected
	rebaseContract agency.ContractID = "rebase" // that brings what landed together with its target
)

// replan asks the manager what to do instead of what failed. No contracts: it
// has no better idea, or nobody wants one.
func (in Input) replan(c flow.Ctx, t *team.Team, f schedule.Failure) ([]agency.Contract, error) {
	d := planning.New(in.plan(), t.Shared.Leading(), true)
	d.Contract.ID = ReplanContract
	d.Contract.Title = text.FirstLine("New plan after "+string(f.Contract.ID)+" failed: "+f.Reason, 200)
	most := 0
	if len(t.All) > effects.MaxListed {
		most = effects.MaxListed
	}
	d.Contract.Description = replanText(t.All, f, most)
	d.Contract.AcceptanceCriteria = []agency.Criterion{{ID: "plan", Text: "new contracts bring about what the failed one and those that depend on it were to do"}}
	plan, failure, err := d.Plan(c)
	switch {
	case err != nil:
		return nil, err
	case plan == nil:
		return nil, recordUpgrade(c, in, "replan-failed", "no new plan came after "+string(f.Contract.ID)+" failed: "+failure, agency.ModeMultiAgent)
	}
	return d.Contracts(plan), nil
}

// IncompleteGate is where a person decides on a plan of which a part failed.
func IncompleteGate(run agency.RunID) agency.GateID { return contractrun.GateID(run, "incomplete") }

// incomplete asks a person what becomes of a plan of which a part failed: an
// approval takes what landed to the merge gate, else it is over.
func incomplete(c flow.Ctx, id agency.GateID, t *team.Team, out schedule.Outcome) (over bool, err error) {
	if t.Wholly() {
		return false, nil
	}
	lines := text.InLines(t.FailureLines(), text.MostLine)
	if len(out.Landed) == 0 {
		return true, nil
	}
	d, err := contractrun.Ask(c, agency.Gate{
		ID: id, RunID: c.Run(), Kind: agency.GateEscalation,
		Summary: text.FirstLine(t.Planless()+fmt.Sprintf("%s integrated, %d failed, %d never started", agency.Things(len(out.Landed), "contract", "contracts"), len(out.Failed), len(out.Blocked)), 100),
		Body: "Integrated into the run's branch:\n\n- " + agency.JoinIDs(out.Landed, "\n- ") + "\n\nFailed for good:\n\n- " + strings.Join(lines, "\n- ") +
			blockedText(out.Blocked) + "\n\nApprove to go on to the merge gate with what was integrated; reject to end the run and keep its branch.",
		Approving: "go on to the merge gate with what was integrated", Rejecting: "end the run; its branch stays",
	})
	return d.Verb == agency.Reject, err
}

func blockedText(blocked []agency.ContractID) string {
	if len(blocked) == 0 {
		return ""
	}
	return "\n\nNever started, because they depend on those:\n\n- " + agency.JoinIDs(blocked, "\n- ")
}

// finish takes all that landed to the merge gate. A reject opens one more contract with
// the reason, on top of it.
func finish(c flow.Ctx, in Input, t *team.Team) (Result, error) {
	return finishBy(c, in, t, func(c agency.Contract) (agency.Contract, contractrun.Work) { return c, in.alone(true) })
}

// finishBy is finish where by says who makes better what a person rejected.
func finishBy(c flow.Ctx, in Input, t *team.Team, by func(agency.Contract) (agency.Contract, contractrun.Work)) (Result, error) {
	landed, err := head(c, in, agency.PlanContract)
	if err != nil {
		return Result{}, err
	}
	return deliver(c, in, delivery{landed: landed, whole: t.Wholly(), rework: func(c flow.Ctx, of again) (delivery, error) {
		reason := of.reason()
		rework := mainContract(in)
		rework.ID = numbered(reworkContract, of.n-1)
		rework.Title = text.FirstLine("After review: "+reason, 100)
		rework.Description = "A team did this and landed it on the run's branch, and a person looked at it and rejected it with this reason:\n\n" + reason
		rework.AcceptanceCriteria = of.criteria()
		rework.Inputs = agency.TextInputs(map[string]string{agency.AgainInput: agency.AgainAll})
		rework, how := by(rework)
		how.Base, how.Staged = of.landed.Commit, true
		better, err := of.fulfil(c, rework, how)
		if err != nil || better.failed != "" {
			return better, err
		}
		better.whole = t.Wholly()
		better.landed, err = head(c, in, better.contract.ID)
		return better, err
	}})
}

// head is what stands on the run's branch after a part of the work.
func head(c flow.Ctx, in Input, after agency.ContractID) (land.Landed, error) {
	head, err := flow.Call(c, land.HeadActivity, contractrun.Path("head", "after", after), land.BranchSpec{Run: in.Run})
	return land.Landed{Commit: head.Head, Tree: head.Tree}, err
}
