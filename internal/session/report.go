package session

import (
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/roster"
)

// isRole tells whether there is such a role.
func isRole(id agency.RoleID) bool {
	_, err := roster.Find(id)
	return err == nil
}

// names lists who else of a run is at work, with their roles.
func names(live []board.Agent, but agency.AgentID) string {
	var out []string
	for _, a := range live {
		if a.ID != but {
			out = append(out, string(a.ID)+" ("+string(a.Role)+")")
		}
	}
	if len(out) == 0 {
		return "none but you"
	}
	return strings.Join(out, ", ")
}

// join makes the agent known to its run as at work, and live again where an
// earlier session of it had ended: once a part, in its first commit.
func (w *draft) join() error {
	c := w.c
	if c.joined {
		return nil
	}
	w.joined = true
	err := board.Join(w.tx, board.Agent{
		Run: c.spec.Run, ID: c.spec.Agent, Role: c.spec.Role, Contract: c.spec.Contract, Status: board.AgentActive,
	})
	if err != nil {
		return err
	}
	return w.tell(board.Change{Status: board.AgentActive})
}

// report tells the others what the agent did in the turn that this commit
// settles; it is the agent's heartbeat.
func (w *draft) report(d *done) error {
	if d == nil {
		return nil
	}
	u := w.c.turn.usage
	ch := board.Change{Add: board.Metrics{Turns: 1, Tokens: u.Billed(), ToolCalls: int64(len(d.calls))}}
	for _, k := range d.calls {
		ch.LastTool, ch.Activity = clip(k.use.Name, 64), clip(k.use.Name+gist(k.use.Args), 120)
		if k.res.Failed {
			ch.Add.Errors++
		}
		if k.res.Wrote != "" {
			ch.Add.Files++
			ch.LastFile = k.res.Wrote
		}
	}
	return w.tell(ch)
}

// tell changes what the board shows of the agent. An agent that somebody ended
// stays ended, and its turn is settled all the same.
func (w *draft) tell(ch board.Change) error {
	w.c.beat.now()
	err := board.Update(w.tx, w.c.spec.Run, w.c.spec.Agent, ch)
	if gone(err) {
		return nil
	}
	return err
}

// left tells how the part has ended: the agent waits for what comes of it. It
// leaves only with its contract, which others decide, or with the run.
func (w *draft) left() error {
	if err := w.join(); err != nil {
		return err
	}
	o := *w.end
	ch := board.Change{Status: board.AgentWaiting, Activity: string(o.Kind)}
	switch {
	case o.Kind == Stopped:
		return board.Leave(w.tx, w.c.spec.Run, w.c.spec.Agent, board.AgentTerminated, o.Reason)
	case o.Kind == Parked:
		ch.Activity = "waits for " + string(o.For)
	case o.Kind == Blocked, o.Kind == Incomplete:
		ch.Status, ch.Activity = board.AgentBlocked, string(o.Kind)+": "+clip(o.Reason, 120)
	}
	if o.For == ForBudget {
		ch.Status = board.AgentBlocked
	}
	return w.tell(ch)
}
