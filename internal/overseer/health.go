package overseer

import (
	"time"

	"agency/internal/agency"
)

// Condition is how an agent is, in a word for people.
type Condition string

// The conditions. What a session came to is known from its outcome.
const (
	Working Condition = "working"
	Waiting Condition = "waiting" // for Why, since Since
	Slow    Condition = "slow"    // it costs and brings little
	Looping Condition = "looping" // it does the same again, or fails in the same way
	Halted  Condition = "halted"  // the overseer told its session to end
	NoSign  Condition = "no_sign" // nothing has been heard of it
)

// Well tells whether nobody needs to look at an agent.
func (c Condition) Well() bool { return c == Working || c == Waiting || c == "" }

func (c Condition) String() string {
	if c == NoSign {
		return "no sign"
	}
	return string(c)
}

// Health is how an agent is, derived from its events when somebody looks.
type Health struct {
	Condition Condition
	Since     time.Time // of the event that made it so
	Why       string    // empty where it works
}

// Health is how the agent of a session is; false for one that is not at work.
func (w *Watch) Health(session agency.SessionID) (Health, bool) {
	for _, h := range w.sessions.known {
		if h.key.session == session && !h.clock.ended {
			return h.health(), true
		}
	}
	return Health{}, false
}

// health is how the agent is. What was found of it counts until it got on.
func (h *history) health() Health {
	out := Health{Condition: Working, Since: h.clock.began}
	if h.clock.parked {
		out = Health{Waiting, h.clock.last, "for " + h.clock.waits}
	}
	for _, d := range detectors {
		t, told := h.standing.raised[d.behaviour]
		if !told || t.over || out.Condition != Working {
			continue
		}
		switch d.behaviour {
		case InfiniteLoop, RepeatedFailures, Oscillation:
			out = Health{Looping, t.at, t.why}
		case MissedHeartbeat:
			out = Health{NoSign, t.at, t.why}
		case Stagnation, Inefficiency, ScopeCreep:
			out = Health{Slow, t.at, t.why}
		}
	}
	if h.standing.missed != "" && out.Condition == Working {
		out = Health{NoSign, h.clock.last, h.standing.missed}
	}
	if h.standing.final != "" {
		out = Health{Halted, h.clock.last, h.standing.final}
	}
	return out
}

// recovers notes of what was found of a session that it has ended: a turn brought
// something new, and the detector finds it no more.
func (w *Watch) recovers(h *history) {
	for _, d := range detectors {
		t, raised := h.standing.raised[d.behaviour]
		if !raised || t.over || !d.behaviour.Lasts() || h.turn <= t.turn || h.fallow.turns > 0 || w.broken[d.behaviour] {
			continue
		}
		if f, fault := d.run(h, w.settings); fault == nil && f.severity == "" {
			t.over = true
			h.standing.raised[d.behaviour] = t
		}
	}
}

// over tells whether a behaviour that was found of a session has ended.
func (w *Watch) over(agent agency.AgentID, session agency.SessionID, b Behaviour) bool {
	h := w.sessions.known[key{agent, session}]
	if h == nil {
		return false
	}
	t, raised := h.standing.raised[b]
	return b.Lasts() && (!raised || t.over)
}

// turn is the last turn of a session; 0 where it is not known.
func (w *Watch) turn(agent agency.AgentID, session agency.SessionID) int {
	if h := w.sessions.known[key{agent, session}]; h != nil {
		return h.turn
	}
	return 0
}

// session is the session that an event of an agent belongs to.
func (w *Watch) session(agent agency.AgentID, d agency.Detail) agency.SessionID {
	if id, _ := sessionOf(d); id != "" {
		return id
	}
	if h := w.sessions.latest[agent]; h != nil {
		return h.key.session
	}
	return ""
}
