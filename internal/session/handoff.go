package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/tool"
)

// maxHandoffs is how often a contract may change hands.
const maxHandoffs = 2

// Handoff is a contract that another role is to go on with.
type Handoff struct {
	Role   agency.RoleID `json:"role"`
	Reason string        `json:"reason"`
	// Files are those that were changed so far.
	Files []string `json:"files,omitempty"`
}

func (c *conversation) handoffPrefix() string { return "handoff/" + string(c.spec.Contract) + "/" }

// handOff parks the session until the manager has decided; where it agrees
// another agent goes on, and this conversation is over. A reviewer does not wait:
// there are no files of its own to go on from.
func (c *conversation) handOff(ctx context.Context, d *done, k *call, e tool.Handoff, problem string) error {
	if !c.besideOthers() {
		var err error
		k.res, err = tool.Posted(letters{c, k.idx}.handoff(ctx, e))
		return err
	}
	var err error
	if problem == "" {
		if problem, err = c.take(ctx, d); err != nil {
			return err
		}
	}
	if problem != "" {
		k.res = tool.Refusal("not accepted: %s", problem)
		return nil
	}
	files, err := c.changed(ctx)
	if err != nil {
		return err
	}
	d.end = &Outcome{
		Kind: Parked, For: ForInbox, Question: handoffQuestion(c.spec, e), ToolUse: k.use.ID, Tree: d.tree,
		Awaits:  agency.MessageID(fmt.Sprintf("%s%d%s/%d/%d", c.handoffPrefix(), c.spec.Attempt, c.within(), c.turn.n, k.idx+1)),
		Handoff: &Handoff{Role: e.Role, Reason: e.Reason, Files: files[:min(len(files), maxChanged)]},
	}
	return nil
}

// changed are the paths of the files that differ from the contract's base.
func (c *conversation) changed(ctx context.Context) ([]string, error) {
	lines, err := c.desk.History.Changed(ctx)
	out := make([]string, len(lines))
	for i, line := range lines {
		_, out[i], _ = strings.Cut(line, " ")
	}
	return out, err
}

func handoffQuestion(spec Spec, e tool.Handoff) string {
	return fmt.Sprintf("Shall a %s go on with contract %s in the place of the %s?\n\n%s", e.Role, spec.Contract, spec.Role, e.Reason)
}

// handoffRequest is the message by which the manager is asked.
func handoffRequest(m agency.Message, to agency.RoleID, reason string) (agency.Message, error) {
	payload, err := json.Marshal(struct {
		Role agency.RoleID `json:"to_role"`
	}{to})
	m.Type, m.Subject, m.Body, m.Payload = agency.MessageRequestInput, "Request handoff to "+string(to), reason, payload
	m.RequiresResponse = true
	return m, err
}

// handoff asks the manager by a message that nobody waits for.
func (l letters) handoff(ctx context.Context, e tool.Handoff) (tool.Sent, error) {
	within := l.c.setup.RespondWithin
	sent, err := l.post(ctx, string(roster.ProjectManager), "", func(tx *store.Tx, full agency.Message) error {
		full, err := handoffRequest(full, e.Role, e.Reason)
		if err != nil {
			return err
		}
		full.RespondWithin = within
		return l.send(tx, full)
	})
	sent.Within = within
	return sent, err
}

// handoffs is the record of who asked to hand a contract over, read from the board.
type handoffs struct{ c *conversation }

// MayHandOver refuses more than a few.
func (h handoffs) MayHandOver(ctx context.Context, to agency.RoleID) error {
	c, n := h.c, 0
	err := c.r.o.DB.Read(ctx, func(s *store.Snapshot) (err error) {
		n, err = c.askedBefore(s, c.handoffPrefix())
		return err
	})
	switch {
	case err != nil:
		return agency.Errorf(agency.KindTransient, "handoffs of %s: %w", c.spec.Agent, err)
	case to == c.spec.Role:
		return agency.Errorf(agency.KindDenied, "you are a %s yourself: this is your work", to)
	case n >= maxHandoffs:
		return agency.Errorf(agency.KindDenied, "too many handoffs: this contract has asked for all %d; do what is left, or end by signal_blocked", maxHandoffs)
	}
	return nil
}
