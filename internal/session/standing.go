package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/brief"
	"agency/internal/brief/staging"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/registry"
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

const (
	// maxMail is how much of one message of a person a new epoch repeats.
	maxMail = 16 << 10
	// maxReceipts is how many commands are named with their last result.
	maxReceipts = 12
	// maxChanged is how many changed files are named.
	maxChanged = 200
)

// about reads everything that a new epoch tells again.
func (c *conversation) about(ctx context.Context) (*about, error) {
	a := &about{}
	var err error
	if a.contract, a.receipts, err = c.read(ctx); err != nil {
		return nil, err
	}
	a.contract.Attempts = c.spec.Attempt
	if a.staged, err = c.pick(ctx, a.contract); err != nil {
		return nil, err
	}
	a.staged = a.staged.Fit(c.foldRoom() / 4) // most of it was read by now
	s := &a.standing
	s.Epoch, s.Turn = c.st.epoch()+1, c.st.Turn
	s.Criteria, s.Constraints = a.contract.AcceptanceCriteria, a.contract.Constraints
	err = c.r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		if a.summary, err = summaryOf(q, c.id); err != nil {
			return err
		}
		return c.standing(q, s)
	})
	if err != nil {
		return nil, err
	}
	if s.Plan, err = c.planned(ctx); err != nil {
		return nil, err
	}
	s.Changed, err = c.desk.History.Changed(ctx)
	if agency.KindOf(err) == agency.KindInvalid { // the model was told already what is wrong with the files
		s.Changed, err = []string{err.Error()}, nil
	}
	if len(s.Changed) > maxChanged {
		more := len(s.Changed) - maxChanged
		s.Changed = append(s.Changed[:maxChanged:maxChanged], fmt.Sprintf("and %d more", more))
	}
	return a, err
}

func (c *conversation) standing(q *store.Snapshot, s *brief.Standing) error {
	receipts, err := check.Receipts(q, c.spec.Run)
	if err != nil {
		return err
	}
	s.Receipts = latest(receipts, c.spec.Contract)
	gates, err := registry.Gates(q, c.spec.Run)
	if err != nil {
		return err
	}
	for _, g := range gates {
		if d := decisionOf(g); g.ContractID == c.spec.Contract && d != nil {
			s.Decisions = append(s.Decisions, *d)
		}
	}
	if s.Messages, err = c.binding(q); err != nil {
		return err
	}
	s.Checkpoints, err = checkpointsOf(q, c.spec)
	return err
}

// binding are the messages that the agent has read and that hold on, each with
// its share of a quarter of the window.
func (c *conversation) binding(q store.Querier) ([]agency.Message, error) {
	out, err := board.ReadBy(q, c.spec.Run, c.spec.Agent)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(m agency.Message) bool { return !brief.Binds(m) })
	most := min(maxMail, int(c.window())/4/max(1, len(out)/4))
	for i := range out {
		out[i] = fitMessage(out[i], most)
	}
	return out, nil
}

// latest is the last receipt of each command that ran for a contract, oldest
// first.
func latest(all []agency.Receipt, contract agency.ContractID) []agency.Receipt {
	var out []agency.Receipt
	for _, r := range all {
		if r.ContractID != contract || check.Stage(r.Stage).Trial() {
			continue
		}
		out = slices.DeleteFunc(out, func(o agency.Receipt) bool { return o.Kind == r.Kind && o.Command == r.Command })
		out = append(out, r)
	}
	return out[max(0, len(out)-maxReceipts):]
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
func checkpointsOf(q store.Querier, spec Spec) ([]string, error) {
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

// headMessage is the first message of an epoch, with as much context as fits
// the room.
func (c *conversation) headMessage(ctx context.Context, a *about, room int64) (message, error) {
	return c.firstMessage(ctx, a, &a.standing, room)
}
