// Package planning is how a goal comes to its contracts: a lead's attempts at
// a plan, or the one that a person gave, up to the gate at which it is accepted.
// What becomes of the contracts is the business of mode.
package planning

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/text"
)

// Input is what a plan is made for.
type Input struct {
	// Before is what its author is told beside the goal of what came before it; empty: nothing did.
	Before string
	Gate   bool // a person is asked before it is carried out
	// Kind is the gate's; empty: that of a plan.
	Kind agency.GateKind
	Dry  bool // it is not carried out
	// Alone says that one agent works on the goal itself where the plan is given up.
	Alone bool
	// What follows is for plans of several contracts.
	Parallel     int
	SharedWrites []string
}

// Draft is the making of a plan: attempts that end by one.
type Draft struct {
	*contractrun.Run
	in       Input
	shared   *contractrun.Shared
	given    bool // by a person, in the place of the lead's plan
	rejected bool // the plan gate was rejected once
	note     string
	reviewed bool // a critic reads what its contracts change
	many     bool // of several contracts
	raise    int  // the plan's multiplier of attempts; 0 is 1
	tiers    *agency.TierFacts
}

// New begins a draft; reviewed tells that a critic reads what its contracts change.
func New(in Input, how contractrun.Work, reviewed bool) *Draft {
	of := how.Shared.PlanContract()
	if in.Before != "" {
		of.Description += "\n\n" + in.Before
	}
	return &Draft{Run: contractrun.New(of, how), in: in, shared: how.Shared, many: how.Many, reviewed: reviewed}
}

// Plan gives the contracts as they were submitted, or the reason why there are
// none.
func (d *Draft) Plan(c flow.Ctx) (contracts []agency.Contract, failure string, err error) {
	if err := d.Create(c); err != nil {
		return nil, "", err
	}
	for d.Next() {
		if err := d.Advance(c, "start", agency.Started{Agent: d.Agent()}); err != nil {
			return nil, "", err
		}
		out, err := d.Converse(c)
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
		case end.Final != "":
			return nil, end.Final, d.Withdraw(c, end.Final)
		}
		d.Feedback = end.Feedback
		d.Feedback.Reason += d.Begun()
	}
	failure = d.UsedUp(" at a plan")
	return nil, failure, d.Withdraw(c, failure)
}

// planEnd is how one attempt at a plan ended.
type planEnd struct {
	accepted bool
	contractrun.AttemptEnd
}

func (d *Draft) outcome(c flow.Ctx, out session.Outcome) (planEnd, error) {
	switch {
	case out.Kind == session.Planned && len(out.Faults) > 0:
		return d.faulty(c, out.Faults)
	case out.Kind == session.Planned:
		d.raise, d.tiers = out.Multiplier, out.Tiers
		return d.gate(c, out.Plan)
	case out.Kind == session.Blocked:
		end, err := d.Blocked(c, out)
		d.Stopped = end.Final != ""
		return planEnd{AttemptEnd: end}, err
	case out.Kind == session.Stopped:
		return planEnd{AttemptEnd: d.Ended(out.Reason)}, nil
	default:
		d.Met(agency.FailedPlan, out.Reason)
		end, err := d.Failed(c, session.Feedback{Attempt: d.N, Reason: out.Reason})
		return planEnd{AttemptEnd: end}, err
	}
}

// faulty asks a person what becomes of a plan that came back faulty to the
// end: an approval is one more attempt.
func (d *Draft) faulty(c flow.Ctx, faults []agency.PlanFault) (planEnd, error) {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = "- " + text.OneLine(f.String(), text.MostLine)
	}
	reason := "the plan is faulty: " + faults[0].String()
	d.Met(agency.FailedPlan, faults[0].String())
	then := "end the run"
	if d.in.Alone {
		then = "give the plan up: one agent works on the goal itself (on_error: single)"
	}
	answer, err := contractrun.Ask(c, agency.Gate{
		ID: contractrun.GateID(d.shared.Run, fmt.Sprintf("%s-faults-%d", d.Contract.ID, d.N)), RunID: d.shared.Run, Kind: agency.GateEscalation, ContractID: d.Contract.ID,
		Summary:   text.FirstLine(fmt.Sprintf("the plan came back twice and still has %s: %s", agency.Things(len(faults), "fault", "faults"), faults[0]), 100),
		Body:      "The faults:\n\n" + strings.Join(lines, "\n") + "\n\nApprove, with a note where you have one, for one more attempt; reject to " + then + ".",
		Approving: "one more attempt", Rejecting: then,
	})
	if err != nil {
		return planEnd{}, err
	}
	if answer.Verb == agency.Reject {
		return planEnd{AttemptEnd: d.Over(agency.FailedPlan, faults[0].String(), reason)}, nil
	}
	if err := d.Grant(c); err != nil {
		return planEnd{}, err
	}
	end, err := d.Failed(c, session.Feedback{Attempt: d.N, Reason: reason + "\n" + strings.Join(lines, "\n"), Note: answer.Note})
	return planEnd{AttemptEnd: end}, err
}

// gate accepts a plan, by a person where the run is so configured. A first
// reject has it written again, a second one ends the run.
func (d *Draft) gate(c flow.Ctx, plan []agency.Contract) (planEnd, error) {
	if err := d.Advance(c, "claim", agency.ClaimMade{}); err != nil {
		return planEnd{}, err
	}
	will := d.Contracts(plan)
	var cost *effects.Forecast
	if len(will) > 0 && d.tiers == nil { // else all was started before, or the tiers below plan what is done
		var err error
		if cost, err = d.forecast(c, will); err != nil {
			return planEnd{}, err
		}
	}
	if d.in.Gate && !d.in.Dry {
		answer, err := contractrun.Ask(c, agency.Gate{
			ID: contractrun.GateID(d.shared.Run, fmt.Sprintf("%s-%d", d.Contract.ID, d.N)), RunID: d.shared.Run, Kind: cmp.Or(d.in.Kind, agency.GatePlan), ContractID: d.Contract.ID,
			Summary: d.summary(plan), Body: d.body(will, cost), Writes: Writes(will[:min(len(will), effects.MaxListed)]),
		})
		switch {
		case err != nil:
			return planEnd{}, err
		case answer.Verb == agency.Reject && d.given:
			d.Stopped = true
			return planEnd{AttemptEnd: d.Over(agency.FailedRejected, answer.Note, "the plan was rejected: "+answer.Note)}, nil
		case answer.Verb == agency.Reject && d.rejected:
			d.Stopped = true
			return planEnd{AttemptEnd: d.Over(agency.FailedRejected, d.note, "the plan was rejected again: "+answer.Note)}, nil
		case answer.Verb == agency.Reject:
			d.rejected, d.note = true, answer.Note
			if err := d.Grant(c); err != nil {
				return planEnd{}, err
			}
			end, err := d.Failed(c, session.Feedback{Attempt: d.N, Reason: "a person rejected the plan", Note: answer.Note})
			return planEnd{AttemptEnd: end}, err
		}
	}
	if err := d.Complete(c); err != nil {
		return planEnd{}, err
	}
	return planEnd{accepted: true}, nil
}

// forecast asks for the estimate of a plan.
func (d *Draft) forecast(c flow.Ctx, plan []agency.Contract) (*effects.Forecast, error) {
	p := effects.PlanProposal{Run: d.shared.Run, By: d.Contract.ID, Attempt: d.N, Plan: plan, Routing: d.shared.Routing, Shared: d.in.SharedWrites}
	if d.reviewed {
		p.Rounds = d.shared.Review.MaxIterations
	}
	f, err := flow.Call(c, effects.EstimatePlan, d.Key("estimate"), p)
	return &f, err
}

// Contracts are what a plan is carried out as.
func (d *Draft) Contracts(plan []agency.Contract) []agency.Contract {
	out := d.shared.Submitted(plan)
	for i := range out {
		out[i].RetryBudget = agency.Plan{RetryBudgetMultiplier: d.raise}.Attempts(out[i].RetryBudget)
	}
	if !d.many {
		out[0].AssignedRole, out[0].ParentID, out[0].DependsOn = agency.RoleGeneralist, "", nil
		out = out[:1]
	}
	return out
}

// Adopt is Plan with one that a person gave, as if a lead had submitted it. It was
// validated when the run was started. Who rejects it mends it, and begins again.
func (d *Draft) Adopt(c flow.Ctx, plan agency.Plan) (contracts []agency.Contract, failure string, err error) {
	d.given = true
	d.Contract.Title = text.FirstLine("Plan that was given for: "+d.shared.Goal, 100)
	if err := d.Create(c); err != nil {
		return nil, "", err
	}
	d.Next()
	if err := d.Advance(c, "start", agency.Started{}); err != nil {
		return nil, "", err
	}
	d.raise = plan.RetryBudgetMultiplier
	told := effects.GivenPlan{Run: d.shared.Run, Contract: d.Contract.ID, Contracts: len(plan.Contracts), Multiplier: d.raise}
	if _, err := flow.Call(c, effects.AdoptPlan, d.Key("adopt"), told); err != nil {
		return nil, "", err
	}
	end, err := d.gate(c, plan.Contracts)
	switch {
	case err != nil:
		return nil, "", err
	case end.accepted:
		return plan.Contracts, "", nil
	}
	return nil, end.Final, d.Withdraw(c, end.Final)
}
