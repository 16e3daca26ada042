package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
)

// Team has the project manager split the goal into contracts, which agents of
// their roles work beside each other, and lands each as it is done (DESIGN 9).
// What fails for good is planned anew once.
func Team(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	return split(c, in)
}

// split has the goal planned and the plan carried out.
func split(c flow.Ctx, in Input) (Result, error) {
	t := &team{in: in, crew: &crew{in: in}, lead: lead{plans: true}}
	d := &draft{attempts: attempts{in: in, contract: planContract(in), role: manager, how: workOn{many: true}, crew: t.crew, team: t}, reviewed: true}
	d.contract.Title = firstLine("Plan for: " + in.Goal)
	d.contract.AcceptanceCriteria = []agency.Criterion{{ID: "plan", Text: "the goal is split into contracts whose criteria can be checked"}}
	plan, failure, err := d.plan(c)
	switch {
	case err != nil:
		return Result{}, err
	case in.Dry && plan != nil:
		_, err := flow.Call(c, createContracts, "contracts", d.contracts(plan))
		return Result{Succeeded: true, Reason: "a dry run: this is the plan, and nothing of it was begun"}, err
	case in.Dry:
		return Result{Reason: failure}, nil
	case plan != nil:
		return t.carryOut(c, d.contracts(plan))
	case t.exec != nil && !d.stopped:
		t.unplanned = failure
		return t.carryOut(c, nil)
	case d.stopped || in.OnError != "single":
		return Result{Reason: failure}, nil
	}
	if err := escalated(c, in, "plan-failed", "the plan failed, one agent works on the goal itself: "+failure, agency.ModeSingle); err != nil {
		return Result{}, err
	}
	return pursue(c, in, mainContract(in), workOn{})
}

// teamContracts are the submitted contracts with what the run decides itself.
func teamContracts(in Input, plan []agency.Contract) []agency.Contract {
	out := slices.Clone(plan)
	for i := range out {
		p := &out[i]
		p.RunID, p.GoalAnchor, p.RetryBudget = in.Run, in.Goal, in.RetryBudget
		ofFeature(in, p)
		if p.Type == "" {
			p.Type = agency.TypeFeature
		}
	}
	return out
}

// team is a plan that is carried out.
type team struct {
	crew      *crew
	in        Input
	all       []agency.Contract
	replanned bool // once
	owed      []owing
	failures  []failure
	lead
}

// failure is a contract that failed for good, and that nothing replaces.
type failure struct {
	id   agency.ContractID
	line string
}

// knows takes more contracts into the plan.
func (t *team) knows(more []agency.Contract) {
	t.all = append(t.all, more...)
	t.crew.plan = t.all
}

func (t *team) options() schedule.Options {
	return schedule.Options{
		Run: t.in.Run, Limits: schedule.Limits{Parallel: t.in.Parallel, Shared: t.in.SharedWrites}, MaxWaiting: t.in.MaxWaitingGates,
	}
}

func (t *team) work() schedule.Work {
	return schedule.Work{Fulfil: t.fulfil, Never: t.doomed, Failed: func(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
		more, err := t.failed(c, f)
		if err != nil {
			err = t.broke(c, err)
		}
		return more, err
	}}
}

// carryOut takes the plan to the end of its contracts, and what landed of it to
// the merge gate.
func (t *team) carryOut(c flow.Ctx, plan []agency.Contract) (Result, error) {
	out, err := t.execute(c, plan)
	if err != nil {
		return Result{}, err
	}
	if out.Stopped != "" {
		return Result{Reason: out.Stopped}, nil
	}
	if err := t.checkOwed(c); err != nil {
		return Result{}, err
	}
	if t.fellThrough(c, out) {
		return t.alone(c)
	}
	if why, err := t.report(c); err != nil || why != "" {
		return Result{Reason: why}, err
	}
	if why, err := t.incomplete(c, out); err != nil || why != "" {
		return Result{Reason: why}, err
	}
	return t.finish(c)
}

func (t *team) execute(c flow.Ctx, plan []agency.Contract) (schedule.Outcome, error) {
	if t.exec != nil {
		return t.goOn(c, plan)
	}
	t.plans = false
	t.knows(plan)
	if _, err := flow.Call(c, createContracts, "contracts", t.all); err != nil {
		return schedule.Outcome{}, err
	}
	return schedule.Run(c, t.all, t.options(), t.work())
}

// fulfil takes one contract to its landing.
func (t *team) fulfil(c flow.Ctx, contract agency.Contract, slot *schedule.Slot) (schedule.Ending, error) {
	a := &attempts{in: t.in, contract: contract, role: contract.AssignedRole, how: workOn{staged: true, reviewed: true}, crew: t.crew, slot: slot}
	var failure string
	var err error
	if contract.AssignedRole == reviewer {
		failure, err = a.giveVerdict(c)
	} else {
		_, failure, err = a.fulfil(c)
	}
	switch {
	case err != nil:
		return schedule.Ending{}, t.broke(c, err)
	case failure == "":
		t.crew.news = append(t.crew.news, contract.ID)
		t.owes(contract.ID, a.owed)
	default:
		if err := a.giveUp(c, failure); err != nil || !a.stopped {
			return schedule.Ending{Reason: failure}, err
		}
		t.stopping = failure
		return schedule.Ending{Reason: failure, Stop: true}, t.over(c, true)
	}
	return schedule.Ending{Landed: true}, t.over(c, false, contract.ID)
}

// failed blocks what depends on a contract that failed for good and asks the
// manager, once a run, for other contracts in their place.
func (t *team) failed(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
	t.failures = append(t.failures, failure{f.Contract.ID, fmt.Sprintf("%s: %s", f.Contract.ID, f.Reason)})
	if len(f.Blocked) > 0 {
		reason := fmt.Sprintf("%s failed, and this depends on it", f.Contract.ID)
		if _, err := flow.Call(c, blockContracts, "block", blocking{Run: t.in.Run, Contracts: f.Blocked, Reason: reason}); err != nil {
			return nil, err
		}
	}
	leads := t.plans
	if leads {
		t.untold = append(t.untold, f) // its manager hears of it in its own session
	}
	if err := t.over(c, false, append([]agency.ContractID{f.Contract.ID}, f.Blocked...)...); err != nil || leads {
		return nil, err
	}
	if t.replanned || t.unplanned != "" {
		return nil, nil
	}
	return t.mend(c, f)
}

// doomed records that contracts of a new plan can not start: what they depend
// on has failed while it was made.
func (t *team) doomed(c flow.Ctx, f schedule.Failure, contracts []agency.ContractID) error {
	t.crew.ended = append(t.crew.ended, contracts...)
	_, err := flow.Call(c, blockContracts, path("never", f.Contract.ID), blocking{
		Run: t.in.Run, Contracts: contracts, Reason: "something that this depends on failed",
	})
	return err
}

// mend has the manager plan anew what a failure keeps from being done.
func (t *team) mend(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
	t.replanned = true
	more, err := t.replan(c, f)
	if err != nil || more == nil {
		return nil, err
	}
	if err := t.replaced(c, f); err != nil {
		return nil, err
	}
	t.knows(more)
	_, err = flow.Call(c, createContracts, "more", more)
	return more, err
}

// replaced records that other contracts stand in for a failed one and for those
// that depend on it.
func (t *team) replaced(c flow.Ctx, f schedule.Failure) error {
	for _, id := range f.Blocked {
		step := step{Run: t.in.Run, Contract: id, Withdrawn: &agency.Withdrawn{Reason: "replaced by a new plan"}}
		if _, err := flow.Call(c, advanceContract, path("withdraw", id), step); err != nil {
			return err
		}
	}
	// Others may have failed while this one was planned anew; they stay.
	t.failures = slices.DeleteFunc(t.failures, func(o failure) bool { return o.id == f.Contract.ID })
	return nil
}

// ReplanContract is the one in which a manager plans anew what failed.
const ReplanContract agency.ContractID = "replan"

// replan asks the manager what to do instead of what failed. No contracts: it
// has no better idea, or nobody wants one.
func (t *team) replan(c flow.Ctx, f schedule.Failure) ([]agency.Contract, error) {
	d := &draft{attempts: attempts{in: t.in, contract: planContract(t.in), role: manager, how: workOn{many: true}, crew: t.crew}, reviewed: true}
	d.contract.ID = ReplanContract
	d.contract.Title = firstLine("New plan after " + string(f.Contract.ID) + " failed")
	most := 0
	if len(t.all) > maxListed && flow.Version(c, "short-replan", 1) >= 1 {
		most = maxListed
	}
	words := replanWords
	if flow.Version(c, "replan-builds", 1) < 1 {
		words = replanApart
	}
	d.contract.Description = replanText(t.in, words, t.all, f, most)
	d.contract.AcceptanceCriteria = []agency.Criterion{{ID: "plan", Text: "new contracts bring about what the failed one and those that depend on it were to do"}}
	plan, failure, err := d.plan(c)
	switch {
	case err != nil:
		return nil, err
	case plan == nil:
		return nil, escalated(c, t.in, "replan-failed", "no new plan came after "+string(f.Contract.ID)+" failed: "+failure, agency.ModeMultiAgent)
	}
	return d.contracts(plan), nil
}

// IncompleteGate is where a person decides on a plan of which a part failed.
func IncompleteGate(run agency.RunID) agency.GateID { return gateID(run, "incomplete") }

// incomplete asks a person what becomes of a plan of which a part failed: an
// approval takes what landed to the merge gate. Why is the reason to end.
func (t *team) incomplete(c flow.Ctx, out schedule.Outcome) (why string, err error) {
	if t.wholly() {
		return "", nil
	}
	lines := t.failureLines()
	why = t.whatFailed()
	if len(out.Landed) == 0 {
		return why, nil
	}
	d, err := ask(c, agency.Gate{
		ID: IncompleteGate(t.in.Run), RunID: t.in.Run, Kind: agency.GateEscalation,
		Summary: firstLine(t.planless() + fmt.Sprintf("%s landed, %d failed, %d never started", agency.Things(len(out.Landed), "contract", "contracts"), len(out.Failed), len(out.Blocked))),
		Body: "Landed on the run's branch:\n\n- " + strings.Join(ids(out.Landed), "\n- ") + "\n\nFailed for good:\n\n- " + strings.Join(lines, "\n- ") +
			blockedText(out.Blocked) + "\n\nApprove to go on to the merge gate with what landed; reject to end the run and keep its branch.",
	})
	if err != nil || d.Verb != agency.Reject {
		return "", err
	}
	return orElse(d.Note, why), nil
}

func blockedText(blocked []agency.ContractID) string {
	if len(blocked) == 0 {
		return ""
	}
	return "\n\nNever started, because they depend on those:\n\n- " + strings.Join(ids(blocked), "\n- ")
}

func ids(in []agency.ContractID) []string {
	out := make([]string, len(in))
	for i, id := range in {
		out[i] = string(id)
	}
	return out
}

// finish is the merge gate over all that landed. A first reject opens one more
// contract with the reason, on top of it; a second one fails the run.
func (t *team) finish(c flow.Ctx) (Result, error) {
	var whole agency.Contract // nothing single
	for second := false; ; second = true {
		head, err := flow.Call(c, land.HeadActivity, path("head", "after", orElse(string(whole.ID), "plan")), land.BranchSpec{Run: t.in.Run})
		if err != nil {
			return Result{}, err
		}
		landed := land.Landed{Commit: head.Head, Tree: head.Tree}
		if t.wholly() {
			if landed, err = done(c, t.in, landed, second); err != nil {
				return Result{}, err
			}
		}
		end, d, err := finish(c, t.in, whole, landed)
		if err != nil || d.Verb != agency.Reject {
			return end, err
		}
		if second {
			return Result{Reason: "the merge gate was rejected again: " + d.Note}, nil
		}
		rework := mainContract(t.in)
		rework.ID = "rework"
		rework.Title = firstLine("After review: " + d.Note)
		rework.Description += "\n\nA team did this and landed it on the run's branch, and a person looked at it and rejected it with this reason:\n\n" + d.Note
		rework.AcceptanceCriteria = []agency.Criterion{{ID: "review", Text: d.Note}}
		a := &attempts{in: t.in, contract: rework, base: landed.Commit, role: generalist, how: workOn{staged: true, reviewed: true}}
		_, failure, err := fulfil(c, a)
		switch {
		case err != nil:
			return Result{}, err
		case failure != "":
			return Result{Reason: failure}, a.giveUp(c, failure)
		}
		whole, t.all = rework, append(t.all, rework)
	}
}
