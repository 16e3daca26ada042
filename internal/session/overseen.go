package session

import (
	"agency/internal/agency"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

// LogCall appends what came of a call of a turn, with what the overseer compares.
func (m *Member) LogCall(tx *store.Tx, turn int, k Call) error {
	id, name := m.Spec.ID(), k.Use.Name
	digests := overseer.DigestsOf(k.Use.Args, k.Result.Text)
	danger := overseer.Dangers(name, k.Use.Args, k.Result.Text, k.Result.Failed)
	if k.Result.Refused {
		return m.Log(tx, agency.SeverityWarning, text.Head(name+": "+k.Result.Text, 200), agency.ToolRefused{
			Session: id, Turn: turn, Tool: text.Head(name, 64), Reason: text.Head(k.Result.Text, 500), CallDigests: digests, Danger: danger,
		})
	}
	failed := ""
	if k.Result.Failed {
		failed = text.Head(k.Result.Text, 500)
	}
	return m.Log(tx, agency.SeverityInfo, name+Gist(k.Use.Args), agency.ToolCalled{
		Session: id, Turn: turn, Tool: name, Error: failed, CallDigests: digests, Path: k.Result.Wrote, Danger: danger,
	})
}

// Ordered is how the part ends by the overseer's word; nil where it goes on. A
// session that is paused waits for whoever leads it, one that is halted leaves what
// it made to the next attempt.
func (m *Member) Ordered(tx *store.Tx, tree agency.OID) (*Outcome, error) {
	order, err := registry.Ordered(tx, m.Spec.Run, m.Spec.ID())
	if err != nil || order == nil {
		return nil, err
	}
	if order.Action == overseer.ActionPause {
		return &Outcome{Kind: Blocked, Reason: "the overseer paused it: " + order.Reason, Tree: tree}, nil
	}
	return Unfinished(CauseHalted, order.Reason, tree), nil
}
