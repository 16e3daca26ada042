package mode

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
)

// Contract makes the goal one formal contract, by the project manager, and has
// one generalist fulfil it with its context staged; from there it is as Single
// (DESIGN 9).
func Contract(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	return formal(c, in, workOn{})
}

// handed is what a run that moves up hands on: the files as they were left,
// and why that was not enough.
type handed struct {
	tree     agency.OID
	feedback session.Feedback
}

// formal drafts the contract and pursues it. A plan that failed falls back to
// one agent on the goal itself, where the run is so configured.
func formal(c flow.Ctx, in Input, how workOn) (Result, error) {
	before := how.before
	how.staged = true
	d := &draft{attempts: attempts{in: in, contract: planContract(in), role: manager}, reviewed: how.reviewed}
	if before != nil {
		d.contract.Description += "\n\nOne agent worked on this alone and did not get it verified: " + before.feedback.Reason +
			"\n\nThe files are as it left them, and the contract is worked on from there."
		d.how.before = &handed{tree: before.tree}
	}
	plan, failure, err := d.plan(c)
	switch {
	case err != nil:
		return Result{}, err
	case plan != nil:
		return pursue(c, in, d.contracts(plan)[0], how)
	case d.stopped || in.OnError != "single" || before != nil:
		return Result{Reason: failure}, nil
	}
	if err := escalated(c, in, "plan-failed", "the plan failed, one agent works on the goal itself: "+failure, agency.ModeSingle); err != nil {
		return Result{}, err
	}
	return pursue(c, in, mainContract(in), workOn{reviewed: how.reviewed})
}

// planContract is what the manager's session holds.
func planContract(in Input) agency.Contract {
	return agency.Contract{
		ID: "plan", RunID: in.Run, Type: agency.TypeDesign, AssignedRole: manager,
		Title: firstLine("Contract for: " + in.Goal), Description: in.Goal, GoalAnchor: in.Goal,
		AcceptanceCriteria: []agency.Criterion{{ID: "plan", Text: "the goal is one formal contract whose criteria can be checked"}},
		RetryBudget:        in.RetryBudget,
	}
}

// draft is the making of the contract: attempts that end by a plan.
type draft struct {
	attempts
	rejected bool // the plan gate was rejected once
	reviewed bool // a critic reads what its contracts change
	raise    int  // the plan's multiplier of attempts; 0 is 1
}

// plan gives the contracts as they were submitted, or the reason why there are
// none.
func (d *draft) plan(c flow.Ctx) (contracts []agency.Contract, failure string, err error) {
	if d.given() {
		return d.adopt(c, *d.in.Plan)
	}
	if _, err := flow.Call(c, createContract, path(d.contract.ID, "create"), d.contract); err != nil {
		return nil, "", err
	}
	for d.next() {
		if err := d.advance(c, "start", step{Started: &agency.Started{Agent: manager}}); err != nil {
			return nil, "", err
		}
		out, err := d.work(c)
		if err != nil {
			return nil, "", err
		}
		end, err := d.outcome(c, out)
		if err != nil {
			return nil, "", err
		}
		switch {
		case end.accepted:
			return append([]agency.Contract{}, out.Plan...), "", nil
		case end.final != "":
			return nil, end.final, d.withdraw(c, end.final)
		}
		d.feedback = end.feedback
		d.feedback.Reason += d.team.begun()
	}
	failure = fmt.Sprintf("%s; the last one: %s", agency.AllUsed(d.contract.RetryBudget+d.granted, " at a plan"), d.feedback.Reason)
	return nil, failure, d.withdraw(c, failure)
}

// planEnd is how one attempt at a plan ended.
type planEnd struct {
	accepted bool
	attemptEnd
}

func (d *draft) outcome(c flow.Ctx, out session.Outcome) (planEnd, error) {
	switch {
	case out.Kind == session.Planned && len(out.Faults) > 0:
		return d.faulty(c, out.Faults)
	case out.Kind == session.Planned:
		d.raise = out.Multiplier
		return d.gate(c, out.Plan)
	case out.Kind == session.Blocked:
		end, err := d.blocked(c, out)
		d.stopped = end.final != ""
		return planEnd{attemptEnd: end}, err
	case out.Kind == session.Stopped:
		d.stopped = true
		return planEnd{attemptEnd: attemptEnd{final: out.Reason}}, nil
	default:
		end, err := d.failed(c, session.Feedback{Attempt: d.n, Reason: out.Reason})
		return planEnd{attemptEnd: end}, err
	}
}

// faulty asks a person what becomes of a plan that came back faulty to the
// end: an approval is one more attempt.
func (d *draft) faulty(c flow.Ctx, faults []agency.PlanFault) (planEnd, error) {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = "- " + f.String()
	}
	reason := "the plan is faulty: " + faults[0].String()
	answer, err := ask(c, agency.Gate{
		ID: gateID(d.in.Run, fmt.Sprintf("plan-faults-%d", d.n)), RunID: d.in.Run, Kind: agency.GateEscalation, ContractID: d.contract.ID,
		Summary: firstLine(fmt.Sprintf("the plan came back twice and still has %s: %s", agency.Things(len(faults), "fault", "faults"), faults[0])),
		Body:    "The faults:\n\n" + strings.Join(lines, "\n") + "\n\nApprove, with a note where you have one, for one more attempt; reject to give the plan up.",
	})
	if err != nil {
		return planEnd{}, err
	}
	if answer.Verb == agency.Reject {
		return planEnd{attemptEnd: attemptEnd{final: reason}}, nil
	}
	if err := d.grant(c); err != nil {
		return planEnd{}, err
	}
	end, err := d.failed(c, session.Feedback{Attempt: d.n, Reason: reason + "\n" + strings.Join(lines, "\n"), Note: answer.Note})
	return planEnd{attemptEnd: end}, err
}

// gate accepts a plan, by a person where the run is so configured. A first
// reject has it written again, a second one ends the run.
func (d *draft) gate(c flow.Ctx, plan []agency.Contract) (planEnd, error) {
	if err := d.advance(c, "claim", step{ClaimMade: &agency.ClaimMade{}}); err != nil {
		return planEnd{}, err
	}
	will := d.contracts(plan)
	var cost *forecast
	if len(will) > 0 { // else all was started before
		var err error
		if cost, err = d.forecast(c, will); err != nil {
			return planEnd{}, err
		}
	}
	if d.in.PlanGate && !d.in.Dry {
		answer, err := ask(c, agency.Gate{
			ID: gateID(d.in.Run, fmt.Sprintf("plan-%d", d.n)), RunID: d.in.Run, Kind: agency.GatePlan, ContractID: d.contract.ID,
			Summary: d.summary(plan), Body: d.body(will, cost),
		})
		switch {
		case err != nil:
			return planEnd{}, err
		case answer.Verb == agency.Reject && d.given():
			d.stopped = true
			return planEnd{attemptEnd: attemptEnd{final: "the plan was rejected: " + answer.Note}}, nil
		case answer.Verb == agency.Reject && d.rejected:
			d.stopped = true
			return planEnd{attemptEnd: attemptEnd{final: "the plan was rejected again: " + answer.Note}}, nil
		case answer.Verb == agency.Reject:
			d.rejected = true
			if err := d.grant(c); err != nil {
				return planEnd{}, err
			}
			end, err := d.failed(c, session.Feedback{Attempt: d.n, Reason: "a person rejected the plan", Note: answer.Note})
			return planEnd{attemptEnd: end}, err
		}
	}
	if err := d.accept(c); err != nil {
		return planEnd{}, err
	}
	return planEnd{accepted: true}, nil
}

// formalContract is the submitted contract with what the run decides itself.
func formalContract(in Input, plan agency.Contract) agency.Contract {
	plan.RunID, plan.AssignedRole, plan.GoalAnchor, plan.RetryBudget = in.Run, generalist, in.Goal, in.RetryBudget
	plan.ParentID, plan.DependsOn = "", nil
	ofFeature(in, &plan)
	if plan.Type == "" {
		plan.Type = agency.TypeFeature
	}
	return plan
}

func (d *draft) summary(plan []agency.Contract) string {
	if d.how.many {
		return "the plan: " + agency.Things(len(plan), "contract", "contracts")
	}
	return firstLine("the contract: " + plan[0].Title)
}

// contracts are what a plan is carried out as.
func (d *draft) contracts(plan []agency.Contract) []agency.Contract {
	in := d.in
	in.RetryBudget = agency.Plan{RetryBudgetMultiplier: d.raise}.Attempts(in.RetryBudget)
	if d.how.many {
		return teamContracts(in, plan)
	}
	return []agency.Contract{formalContract(in, plan[0])}
}

func (d *draft) body(will []agency.Contract, cost *forecast) string {
	if d.how.many {
		return teamBody(d.in, will, cost)
	}
	return planBody(will[0], cost)
}

// planBody is a contract as the person at the plan gate reads it.
func planBody(p agency.Contract, cost *forecast) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\nCriteria:\n\n", p.Title, p.Description)
	for _, cr := range p.AcceptanceCriteria {
		fmt.Fprintf(&b, "- %s: %s%s\n", cr.ID, cr.Text, checkText(cr.Check))
	}
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n\n- %s\n", title, strings.Join(lines, "\n- "))
		}
	}
	list("Constraints", p.Constraints)
	list("May change", p.WriteSet())
	list("To read first", p.RelevantFiles)
	list("Interfaces", p.APIDefinitions)
	fmt.Fprintf(&b, "\nComplexity: %s. At most %s.\n", p.Complexity, agency.Things(p.RetryBudget, "attempt", "attempts"))
	if cost != nil {
		b.WriteString("\n" + cost.text())
	}
	b.WriteString("\nApprove to begin; reject with a reason to have it written again.\n")
	return b.String()
}

func checkText(c *agency.Check) string {
	switch {
	case c == nil:
		return ""
	case c.Test != "":
		return " (test `" + c.Test + "`)"
	case c.Command != "":
		return " (command `" + c.Command + "`)"
	default:
		return " (file `" + c.File + "`)"
	}
}
