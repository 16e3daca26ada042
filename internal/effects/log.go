package effects

import (
	"context"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

// GivenPlan is a plan that a person gave in the place of a manager's.
type GivenPlan struct {
	Run        agency.RunID      `json:"run"`
	Contract   agency.ContractID `json:"contract"` // that the manager would have held
	Contracts  int               `json:"contracts"`
	Multiplier int               `json:"retry_budget_multiplier,omitempty"`
}

// AdoptPlan tells the log of a plan that a person gave.
var AdoptPlan = flow.Activity[GivenPlan, flow.None]{Name: "mode.adopt"}

// adoptPlan tells the log of the plan, once.
func (s *Steps) adoptPlan(ctx context.Context, _ agency.StepKey, in GivenPlan) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		ev := agency.NewEvent(in.Run, agency.SeverityInfo, "a plan was given", agency.PlanSubmitted{Contracts: in.Contracts, RetryBudgetMultiplier: in.Multiplier})
		ev.ContractID = in.Contract
		old, err := event.Since(tx, 0, event.Filter{Run: in.Run, Contract: in.Contract, Types: []agency.EventType{ev.Type}}, 1)
		if err != nil || len(old) > 0 {
			return err
		}
		_, err = event.Append(tx, ev)
		return err
	})
}

// Escalation is one move of a run, for its log.
type Escalation struct {
	Run    agency.RunID `json:"run"`
	Reason string       `json:"reason"`
}

// RecordEscalation tells the log that a run moves, and why.
var RecordEscalation = flow.Activity[Escalation, flow.None]{Name: "mode.escalated"}

// recordEscalation appends the event, once.
func (s *Steps) recordEscalation(ctx context.Context, key agency.StepKey, in Escalation) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		ev := agency.NewEvent(in.Run, agency.SeverityWarning, text.FirstLine(in.Reason, 100), agency.Escalated{Reason: in.Reason, Step: key})
		old, err := event.Since(tx, 0, event.Filter{Run: in.Run, Types: []agency.EventType{ev.Type}}, 0)
		if err != nil {
			return err
		}
		for _, o := range old {
			d, err := agency.DecodeDetail(o)
			if said, ok := d.(*agency.Escalated); err == nil && ok && said.Step == key {
				return nil
			}
		}
		_, err = event.Append(tx, ev)
		return err
	})
}

// ModeChange is a run's change of mode, for its record.
type ModeChange struct {
	Run agency.RunID `json:"run"`
	To  agency.Mode  `json:"to"`
}

// RecordModeChange records the mode in which a run works from now on.
var RecordModeChange = flow.Activity[ModeChange, flow.None]{Name: "mode.moved"}

// recordModeChange records the mode in which a run works from now on.
func (s *Steps) recordModeChange(ctx context.Context, _ agency.StepKey, in ModeChange) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error { return registry.SetMoved(tx, in.Run, in.To) })
}
