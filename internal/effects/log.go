package effects

import (
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
func adoptPlan(tx *store.Tx, _ agency.StepKey, in GivenPlan) error {
	ev := agency.NewEvent(in.Run, agency.SeverityInfo, "a plan was given", agency.PlanSubmitted{Contracts: in.Contracts, RetryBudgetMultiplier: in.Multiplier})
	ev.ContractID = in.Contract
	return AppendOnce(tx, ev, func(*agency.PlanSubmitted) bool { return true })
}

// ModeChange is a run's move to the mode in which it works from now on, and why.
type ModeChange struct {
	Run    agency.RunID `json:"run"`
	To     agency.Mode  `json:"to"`
	Reason string       `json:"reason"`
}

// RecordModeChange records a move, and tells the log.
var RecordModeChange = flow.Activity[ModeChange, flow.None]{Name: "mode.moved"}

// recordModeChange appends the event, once.
func recordModeChange(tx *store.Tx, key agency.StepKey, in ModeChange) error {
	ev := agency.NewEvent(in.Run, agency.SeverityWarning, text.FirstLine(in.Reason, 100), agency.Escalated{Reason: in.Reason, Step: key})
	if err := AppendOnce(tx, ev, func(said *agency.Escalated) bool { return said.Step == key }); err != nil {
		return err
	}
	return registry.SetMoved(tx, in.Run, in.To)
}

// AppendOnce tells the log of a run what it was not told before, about the same
// contract.
func AppendOnce[D any](tx *store.Tx, ev agency.Event, same func(*D) bool) error {
	old, err := FindEvent(tx, ev.RunID, ev.ContractID, ev.Type, func(_ agency.Event, d *D) bool { return same(d) })
	if err != nil || old != nil {
		return err
	}
	_, err = event.Append(tx, ev)
	return err
}

// FindEvent finds an event of a contract that is meant in the log of a run; nil:
// there is none. An empty contract is any.
func FindEvent[D any](q store.Querier, run agency.RunID, contract agency.ContractID, kind agency.EventType, meant func(agency.Event, *D) bool) (*D, error) {
	all, err := event.Of[D](q, event.Filter{Run: run, Contract: contract, Types: []agency.EventType{kind}})
	for _, told := range all {
		if meant(told.Event, told.Detail) {
			return told.Detail, nil
		}
	}
	return nil, err
}

// RunAnswer is what a run of an agent has answered.
type RunAnswer struct {
	Run  agency.RunID `json:"run"`
	Text string       `json:"text"`
}

// KeepAnswer keeps the answer of a run.
var KeepAnswer = flow.Activity[RunAnswer, flow.None]{Name: "mode.keep_answer"}

func keepAnswer(tx *store.Tx, _ agency.StepKey, in RunAnswer) error {
	return registry.SetAnswer(tx, in.Run, in.Text)
}
