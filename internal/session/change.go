package session

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/tool"
)

// maxChanges is how many changes of what it tests a contract may ask for: each
// is a contract of its own.
const maxChanges = 2

// Change is a bug in what a contract tests, shown by a test that fails.
type Change struct {
	Bug     string           `json:"bug"`
	Test    string           `json:"test"`
	Receipt agency.ReceiptID `json:"receipt"`
	// Files are those that the tester has changed.
	Files []string `json:"files,omitempty"`
}

func (c *conversation) changePrefix() string { return "change/" + string(c.spec.Contract) + "/" }

// change parks the session until a bug in what it tests is mended.
func (c *conversation) change(ctx context.Context, d *done, k *call, e tool.ImplementationChange, problem string) error {
	var err error
	if problem == "" { // now with what the tests have left
		if problem, err = c.take(ctx, d); err != nil {
			return err
		}
	}
	if problem != "" {
		k.res = tool.Refusal("not accepted: %s", problem)
		return nil
	}
	ch := &Change{Bug: e.Bug, Test: e.Test, Receipt: e.Receipt}
	if ch.Files, err = c.changed(ctx); err != nil {
		return err
	}
	id := agency.MessageID(fmt.Sprintf("%s%d%s/%d/%d", c.changePrefix(), c.spec.Attempt, c.within(), c.turn.n, k.idx+1))
	d.end = &Outcome{Kind: Parked, For: ForInbox, Question: e.Bug, Awaits: id, Change: ch, ToolUse: k.use.ID, Tree: d.tree}
	return nil
}

// changes is the record of what was asked for, read from the board.
type changes struct{ c *conversation }

// askedBefore counts what the contract has asked for by ids of a kind.
func (c *conversation) askedBefore(s *store.Snapshot, prefix string) (n int, err error) {
	said, err := board.Conversation(s, c.spec.Run, c.spec.Contract)
	for _, m := range said {
		if m.InReplyTo == "" && strings.HasPrefix(string(m.ID), prefix) {
			n++
		}
	}
	return n, err
}

// MayAsk counts what the contract has asked for, and looks for a contract whose
// code it could be.
func (h changes) MayAsk(ctx context.Context) error {
	c, n, deps := h.c, 0, 0
	err := c.r.o.DB.Read(ctx, func(s *store.Snapshot) error {
		contract, err := registry.Contract(s, c.spec.Run, c.spec.Contract)
		if err != nil {
			return err
		}
		deps = len(contract.DependsOn)
		n, err = c.askedBefore(s, c.changePrefix())
		return err
	})
	switch {
	case err != nil:
		return agency.Errorf(agency.KindTransient, "changes of %s: %w", c.spec.Agent, err)
	case deps == 0:
		return agency.Errorf(agency.KindDenied, "no implementation: your contract depends on none whose code it tests; say in your closing words what is wrong, or end by signal_blocked")
	case n >= maxChanges:
		return agency.Errorf(agency.KindDenied, "too many changes: this contract has asked for all %d; end by signal_blocked with the failing tests", maxChanges)
	}
	return nil
}
