package overseer

import (
	"cmp"
	"slices"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/text"
)

// Trail follows the events of a run for whoever looks at it: how its agents are, what
// the overseer did about them, and what they did after it. Nothing of it is stored.
type Trail struct {
	watch *Watch
	all   []agency.Intervention
	at    []int // turn of the session at which each was made
	open  []int // those of which more may come
	said  map[agency.SessionID]Health
	over  map[agency.SessionID]string // sessions that have ended, and how
}

// NewTrail is the trail of a run that has not begun.
func NewTrail(settings config.Overseer) *Trail {
	settings.Enabled = true // that it did not step in does not keep anybody from looking
	return &Trail{watch: NewWatch(settings), said: map[agency.SessionID]Health{}, over: map[agency.SessionID]string{}}
}

// Change is how an agent is that was otherwise before.
type Change struct {
	Agent    agency.AgentID
	Role     agency.RoleID
	Contract agency.ContractID
	Was      Condition
	Now      Health // without a condition: it is not at work any more
}

// Observe takes the next event, and tells of the agent whose condition it changed.
func (t *Trail) Observe(e agency.Event) (Change, bool) {
	d, err := agency.DecodeDetail(e)
	if err != nil {
		return Change{}, false
	}
	return t.Take(e, d)
}

// Take is Observe of an event whose details are known.
func (t *Trail) Take(e agency.Event, d agency.Detail) (Change, bool) {
	before := t.watch.session(e.AgentID, d)
	t.watch.take(e, d)
	session := cmp.Or(t.watch.session(e.AgentID, d), before)
	if i, is := intervention(e, d); is {
		i.Session = cmp.Or(i.Session, session)
		t.add(i)
	} else if session != "" {
		t.follow(e, d, session)
	}
	t.ends(e, d, session)
	if e.AgentID == "" || session == "" {
		return Change{}, false
	}
	now, _ := t.watch.Health(session)
	was := t.said[session]
	t.said[session] = now
	if now.Condition == "" {
		delete(t.said, session)
	}
	return Change{e.AgentID, e.Role, e.ContractID, was.Condition, now}, was.Condition != now.Condition
}

// Health is how the agent of a session is; false for one that is not at work.
func (t *Trail) Health(session agency.SessionID) (Health, bool) { return t.watch.Health(session) }

// Interventions are those that were told, in their order.
func (t *Trail) Interventions() []agency.Intervention { return t.all }

// intervention is what an event tells of the overseer.
func intervention(e agency.Event, d agency.Detail) (i agency.Intervention, is bool) {
	seen := (*agency.Overseen)(nil)
	i = agency.Intervention{
		ID: e.ID, Time: e.Time, Agent: e.AgentID, Role: e.Role, Contract: e.ContractID, After: agency.Aftermath{Outcome: agency.AfterPending},
	}
	switch d := d.(type) {
	case *agency.Nudged:
		seen, i.Action, i.Message, i.Undelivered = &d.Overseen, string(ActionNudge), d.Text, d.Undelivered
	case *agency.Halted:
		seen, i.Action = &d.Overseen, string(ActionHalt)
	case *agency.Escalated:
		seen, i.Action = d.Overseen, string(ActionPause)
		if seen != nil && seen.By != "" {
			i.Action = string(ActionEscalate)
		}
	case *agency.Log:
		seen, i.Action = d.Overseen, string(ActionLog)
	}
	if seen == nil {
		return i, false
	}
	i.Session, i.By, i.Cause, i.Severity, i.Confidence = seen.Session, cmp.Or(seen.By, agency.ByOverseer), seen.Cause, seen.Severity, seen.Confidence
	i.Cooldown = seen.Cooldown
	i.Evidence, i.Escalated, i.Undelivered = orNone(seen.Evidence), seen.EscalatedTo, cmp.Or(i.Undelivered, seen.Untold)
	i.Reason = cmp.Or(seen.Reason, finding{evidence: seen.Evidence}.reason(Behaviour(seen.Cause)))
	return i, true
}

func orNone(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// add takes an intervention in: those before it about the same did not help.
func (t *Trail) add(i agency.Intervention) {
	for _, n := range t.open {
		if o := &t.all[n]; o.Session == i.Session && o.Cause == i.Cause && o.After.Outcome != agency.AfterEnded {
			o.After.Outcome, o.After.What = agency.AfterSame, i.Action+": "+text.OneLine(i.Reason, 200)
			t.close(n)
		}
	}
	how, over := t.over[i.Session]
	switch {
	case i.Undelivered != "" && i.Action == string(ActionNudge):
		i.After = agency.Aftermath{Outcome: agency.AfterEnded, What: i.Undelivered}
	case over && i.Action != string(ActionHalt): // it was seen in what had been done by then
		i.After = agency.Aftermath{Outcome: agency.AfterEnded, What: how}
	default:
		t.open = append(slices.Clone(t.open), len(t.all))
	}
	t.all, t.at = append(t.all, i), append(t.at, t.watch.turn(i.Agent, i.Session))
}

func (t *Trail) close(n int) {
	t.open = slices.DeleteFunc(slices.Clone(t.open), func(o int) bool { return o == n })
}

// ends notes the end of a session, and with that of a run of all its sessions: nothing
// comes any more of what is open of them.
func (t *Trail) ends(e agency.Event, d agency.Detail, session agency.SessionID) {
	switch d.(type) {
	case *agency.RunSucceeded, *agency.RunFailed, *agency.RunCancelled:
		for _, n := range t.open {
			if i := &t.all[n]; i.After.Outcome == agency.AfterPending {
				i.After.Outcome, i.After.What = agency.AfterEnded, text.OneLine(cmp.Or(e.Summary, string(e.Type)), 200)
			}
		}
		t.open = nil
	case *agency.Spawned:
		delete(t.over, session)
	default:
		if _, ends := ended(d); ends && session != "" {
			t.over[session] = text.OneLine(cmp.Or(e.Summary, string(e.Type)), 200)
		}
	}
}

// follow takes in what an agent did that somebody stepped in with.
func (t *Trail) follow(e agency.Event, d agency.Detail, session agency.SessionID) {
	for _, n := range t.open {
		i := &t.all[n]
		over, ends := ended(d)
		switch {
		case i.After.Outcome == agency.AfterEnded: // halted: what its contract does next
			if s, begins := d.(*agency.Spawned); begins && e.ContractID == i.Contract && e.Role == i.Role && s.Session != i.Session {
				i.After.What = text.OneLine(e.Summary, 200)
				t.close(n)
			}
		case session != i.Session:
		case ends && i.After.Outcome == agency.AfterChanged:
			t.close(n)
		case ends:
			i.After.Outcome, i.After.What = agency.AfterEnded, text.OneLine(e.Summary, 200)
			if over {
				t.close(n)
			}
		default:
			t.turned(i, t.at[n], e, d)
		}
	}
}

// ended tells whether an event ends the session that it tells of, and whether its
// contract may then go on without another.
func ended(d agency.Detail) (well, ends bool) {
	switch d := d.(type) {
	case *agency.Claimed, *agency.PlanSubmitted:
		return true, true
	case *agency.Completed:
		return true, d.Session != ""
	case *agency.Failed:
		return false, d.Session != ""
	case *agency.Escalated:
		return false, d.Overseen == nil
	}
	return false, false
}

// turned takes in what the agent did since an intervention at a turn.
func (t *Trail) turned(i *agency.Intervention, at int, e agency.Event, d agency.Detail) {
	switch d := d.(type) {
	case *agency.ToolCalled:
		if i.After.Outcome == agency.AfterPending && d.Turn > at {
			i.After.What = text.OneLine(e.Summary, 200)
		}
	case *agency.TurnCompleted:
		if i.After.Outcome != agency.AfterPending || d.Turn <= at {
			return
		}
		i.After.Turns++
		if t.watch.over(i.Agent, i.Session, Behaviour(i.Cause)) {
			i.After.Outcome = agency.AfterChanged
		}
	}
}
