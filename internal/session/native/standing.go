package native

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/brief/staging"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
)

// about is what the store, and not the model's memory, knows of a session.
type about struct {
	contract agency.Contract
	receipts []agency.Receipt // of the feedback
	standing brief.Standing
	summary  string // that the current epoch began with
	staged   staging.Context
}

// about reads everything that a new epoch tells again.
func (b briefing) about(ctx context.Context, room int64) (*about, error) {
	a := &about{}
	var err error
	if a.contract, a.receipts, err = b.read(ctx); err != nil {
		return nil, err
	}
	a.contract.Attempts = b.Spec.Attempt
	if a.staged, err = b.pick(ctx, a.contract); err != nil {
		return nil, err
	}
	a.staged = a.staged.Fit(room / 4) // most of it was read by now
	s := &a.standing
	s.Epoch, s.Turn = b.st.epoch()+1, b.st.Turn
	s.Criteria, s.Constraints = a.contract.AcceptanceCriteria, a.contract.Constraints
	err = b.DB.Read(ctx, func(q *store.Snapshot) error {
		if a.summary, err = record.Summary(q, b.id); err != nil {
			return err
		}
		return b.standing(q, s)
	})
	if err != nil {
		return nil, err
	}
	if s.Plan, err = b.Planned(ctx, b.st.Notes); err != nil {
		return nil, err
	}
	s.Changed, err = b.tools.History.Changed(ctx)
	if agency.KindOf(err) == agency.KindInvalid { // the model was told already what is wrong with the files
		s.Changed, err = []string{err.Error()}, nil
	}
	if len(s.Changed) > session.MaxChanged {
		more := len(s.Changed) - session.MaxChanged
		s.Changed = append(s.Changed[:session.MaxChanged:session.MaxChanged], fmt.Sprintf("and %d more", more))
	}
	return a, err
}

func (b briefing) standing(q *store.Snapshot, s *brief.Standing) error {
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
	if s.Messages, err = b.binding(q); err != nil {
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
	evs, err := event.Since(q, 0, event.Filter{Run: spec.Run, Contract: spec.Contract, Category: agency.CategoryState}, 0)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ev := range evs {
		if ev.Type != "checkpoint_created" {
			continue
		}
		d, err := agency.DecodeDetail(ev)
		if err != nil {
			return nil, err
		}
		if cp, ok := d.(*agency.CheckpointCreated); ok {
			out = append(out, cp.Checkpoint+" ("+cp.Label+")")
		}
	}
	return out, nil
}

// drop leaves out the messages of people that the kept turns show whole.
func (a *about) drop(kept []message) {
	var words strings.Builder
	for _, m := range kept {
		if m.Role == llm.User {
			words.WriteString(m.Words())
		}
	}
	text := words.String()
	a.standing.Messages = slices.DeleteFunc(a.standing.Messages, func(m agency.Message) bool {
		return strings.Contains(text, brief.Mark(m))
	})
}
