package briefing

import (
	"context"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
)

// Standing is where the session stands, with what a manager has noted, but for how
// long it is at work and what was said.
func (b Briefing) Standing(ctx context.Context, f *Facts, notes session.Notes) (s brief.Standing, err error) {
	s.Criteria, s.Constraints = f.Contract.AcceptanceCriteria, f.Contract.Constraints
	s.Todo = tool.Steps(notes.Todo)
	if err := b.DB.Read(ctx, func(q *store.Snapshot) error { return b.recorded(q, &s) }); err != nil {
		return s, err
	}
	if s.Plan, err = b.Planned(ctx, notes); err != nil || b.Tools.History == nil {
		return s, err
	}
	changed, err := b.Tools.History.Changed(ctx)
	s.Changed = text.FewOf(changeLines(changed), session.MaxChanged)
	if agency.KindOf(err) == agency.KindInvalid { // the agent was told already what is wrong with the files
		s.Changed, err = []string{err.Error()}, nil
	}
	return s, err
}

// recorded adds what the records of the run show.
func (b Briefing) recorded(q *store.Snapshot, s *brief.Standing) error {
	receipts, err := check.Receipts(q, b.Spec.Run)
	if err != nil {
		return err
	}
	s.Receipts = session.LatestReceipts(receipts, b.Spec.Contract)
	gates, err := registry.Gates(q, b.Spec.Run)
	if err != nil {
		return err
	}
	for _, g := range gates {
		if d := decisionOf(g); g.ContractID == b.Spec.Contract && d != nil {
			s.Decisions = append(s.Decisions, *d)
		}
	}
	if s.Messages, err = b.Mail.Binding(q, b.MailRoom); err != nil {
		return err
	}
	s.Checkpoints, err = checkpointsOf(q, b.Spec)
	return err
}

// decisionOf is what a person decided at a gate that a session hears of.
func decisionOf(g agency.Gate) *brief.Decision {
	if g.Open() {
		return nil
	}
	d := &brief.Decision{Question: g.Summary, Answer: string(g.Decision.Verb)}
	switch {
	case g.Kind == agency.GateQuestion && g.Decision.Verb == agency.Approve:
		d.Question, d.Answer = g.Body, g.Decision.Answer(g.Options)
	case g.Kind == agency.GateQuestion:
		d.Question, d.Answer = g.Body, "no answer: use your own judgement"
	case g.Kind == agency.GateBudget, g.Kind == agency.GateFault:
		return nil
	case g.Decision.Note != "":
		d.Answer += ": " + g.Decision.Note
	}
	return d
}

// checkpointsOf are the checkpoints of the contract, by their events.
func checkpointsOf(q store.Querier, spec session.Spec) ([]string, error) {
	all, err := event.Of[agency.CheckpointCreated](q, event.Filter{Run: spec.Run, Contract: spec.Contract, Types: []agency.EventType{"checkpoint_created"}})
	var out []string
	for _, told := range all {
		out = append(out, told.Detail.Checkpoint+" ("+told.Detail.Label+")")
	}
	return out, err
}
