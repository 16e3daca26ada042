package session

import (
	"context"
	"errors"

	"agency/internal/agency"
	"agency/internal/decision"
	"agency/internal/store"
)

// decisions are those of the session's run, as a call of a tool takes and reads them.
type decisions struct {
	*Member
	turn, idx int // of the call
}

// Note is the decision of the call, which is the same one when the call runs again.
func (d decisions) Note(ctx context.Context, want agency.SharedDecision) (now agency.SharedDecision, told []agency.AgentID, err error) {
	want.Run, want.Contract, want.By = d.Spec.Run, d.Spec.Contract, d.Spec.Agent
	err = d.Write(ctx, func(tx *store.Tx) (err error) {
		now, told, err = decision.Note(tx, want, string(d.messageID(string(d.Spec.Agent), d.turn, d.idx)))
		return err
	})
	if taken := (*decision.Taken)(nil); errors.As(err, &taken) {
		return taken.Now, nil, err
	}
	return now, told, err
}

// List are the decisions whose keys begin with a text.
func (d decisions) List(ctx context.Context, begins string) (out []agency.SharedDecision, err error) {
	err = d.DB.Read(ctx, func(q *store.Snapshot) error {
		out, err = decision.List(q, d.Spec.Run, begins)
		return err
	})
	return out, err
}
