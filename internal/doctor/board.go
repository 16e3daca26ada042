package doctor

import (
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
)

// mailFits: nothing waits in a run that has ended, and what the log says that
// was acted on was.
func mailFits(_ context.Context, r *record) (string, error) {
	status := map[agency.MessageID][]board.Delivery{}
	for _, m := range r.messages {
		if r.run.State.Final() && (m.Status == agency.MailPending || m.Status == agency.MailDelivered) {
			return fmt.Sprintf("the run has %s and message %s is still %s", r.run.State, m.ID, m.Status), nil
		}
		status[m.ID] = append(status[m.ID], m.Deliveries...)
	}
	for _, c := range r.checkpoints {
		ds, kept := status[agency.MessageID(c.Reference)]
		if c.Type != state.MessageDone || !kept { // processed mail is kept for a while only
			continue
		}
		acted := func(d board.Delivery) bool {
			return d.Status == agency.MailProcessed && (c.Agent == "" || d.Agent == c.Agent)
		}
		if !slices.ContainsFunc(ds, acted) {
			return fmt.Sprintf("event %d says that %s has acted on message %s, and its record does not", c.ID, c.Agent, c.Reference), nil
		}
	}
	return "", nil
}

// nobodyLeft: who was at work in a run that has ended has left it, and so holds
// nothing that others wait for.
func nobodyLeft(_ context.Context, r *record) (string, error) {
	if r.run.State.Final() && len(r.live) > 0 {
		return fmt.Sprintf("the run has %s and agent %s is still %s", r.run.State, r.live[0].ID, r.live[0].Status), nil
	}
	return "", nil
}
