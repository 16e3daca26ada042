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
)

// Health is how an agent is, derived from its events when somebody looks.
type Health struct {
	Condition Condition
	Since     time.Time // of the event that made it so
	Why       string    // empty where it works
}

// Health is how the agent of a session is; false for one that is not at work.
func (w *Watch) Health(session agency.SessionID) (Health, bool) {
	for _, h := range w.sessions.known {
		if h.key.session != session || h.clock.ended {
			continue
		}
		out := Health{Condition: Working, Since: h.clock.began}
		if h.clock.parked {
			out = Health{Waiting, h.clock.last, "for " + h.clock.waits}
		}
		for _, d := range detectors {
			t, told := h.standing.raised[d.behaviour]
			if !told || out.Condition != Working {
				continue
			}
			switch d.behaviour {
			case InfiniteLoop, RepeatedFailures, Oscillation:
				out = Health{Looping, t.at, t.why}
			case Stagnation, Inefficiency, ScopeCreep:
				out = Health{Slow, t.at, t.why}
			}
		}
		if h.standing.final != "" {
			out = Health{Halted, h.clock.last, h.standing.final}
		}
		return out, true
	}
	return Health{}, false
}
