package overseer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"agency/internal/agency"
)

// mostSessions bounds what is remembered: of more, those are forgotten that have
// ended, then the one longest silent.
const mostSessions = 1024

// key tells sessions apart. One agent may have two at once.
type key struct {
	agent   agency.AgentID
	session agency.SessionID
}

// sessions are the histories of a run.
type sessions struct {
	most   int // calls of each
	known  map[key]*history
	latest map[agency.AgentID]*history // heard of last
	nudged map[agency.AgentID]*nudges  // of agents that were
}

func newSessions(most int) sessions {
	return sessions{most: most, known: map[key]*history{}, latest: map[agency.AgentID]*history{}, nudged: map[agency.AgentID]*nudges{}}
}

// of is the history that an event belongs to: that of its session, where it names
// one, else the one of its agent that was heard of last. It is nil for what says
// nothing of an agent at work. A history may begin in the middle.
func (s sessions) of(e agency.Event, d agency.Detail) *history {
	session, works := sessionOf(d)
	h := s.latest[e.AgentID]
	if h != nil && h.key.session != session && session != "" {
		h = s.known[key{e.AgentID, session}]
	}
	if _, begins := d.(*agency.Spawned); h == nil && works || begins {
		h = s.begin(e, key{e.AgentID, session})
	}
	if h != nil {
		s.latest[e.AgentID] = h
	}
	return h
}

// whose is the agent of a session that an event names without it.
func (s sessions) whose(d agency.Detail) agency.AgentID {
	id, works := sessionOf(d)
	if id == "" || !works {
		return ""
	}
	for _, h := range s.sorted() {
		if h.key.session == id {
			return h.key.agent
		}
	}
	return agency.AgentID(id)
}

// at is the session that was heard of last at work on a contract.
func (s sessions) at(contract agency.ContractID) (last *history) {
	for _, h := range s.known {
		if h.who.contract == contract && (last == nil || cmp.Or(cmp.Compare(last.event, h.event), h.key.compare(last.key)) < 0) {
			last = h
		}
	}
	return last
}

// begin is the history of a session that was not known.
func (s sessions) begin(e agency.Event, k key) *history {
	for _, old := range s.known {
		if old.key == k || old.key.agent == k.agent && old.clock.ended {
			s.forget(old)
		}
	}
	if len(s.known) >= mostSessions {
		s.makeRoom()
	}
	if s.nudged[k.agent] == nil {
		s.nudged[k.agent] = &nudges{}
	}
	h := newHistory(e, k, s.most, s.nudged[k.agent])
	s.known[k] = h
	return h
}

// makeRoom forgets sessions that have ended, or else the one longest silent.
func (s sessions) makeRoom() {
	var oldest *history
	for _, h := range s.known {
		if h.clock.ended {
			s.forget(h)
		} else if oldest == nil || cmp.Or(cmp.Compare(h.event, oldest.event), h.key.compare(oldest.key)) < 0 {
			oldest = h
		}
	}
	if len(s.known) >= mostSessions {
		s.forget(oldest)
	}
}

func (s sessions) forget(h *history) {
	delete(s.known, h.key)
	if s.latest[h.key.agent] == h {
		delete(s.latest, h.key.agent)
	}
	if h.standing.nudged.n == 0 {
		delete(s.nudged, h.key.agent)
	}
}

// sorted are the histories in an order that is always the same.
func (s sessions) sorted() []*history {
	return slices.SortedFunc(maps.Values(s.known), func(a, b *history) int { return a.key.compare(b.key) })
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.agent, o.agent), cmp.Compare(k.session, o.session))
}

// SessionOf is the session that an event names, and whether it tells of an agent at work:
// what begins a history, where none is known.
func SessionOf(d agency.Detail) (id agency.SessionID, works bool) { return sessionOf(d) }

// sessionOf is the session that an event names, and whether it tells of an agent at
// work.
func sessionOf(d agency.Detail) (id agency.SessionID, works bool) {
	switch d := d.(type) {
	case *agency.Spawned:
		return d.Session, true
	case *agency.ToolCalled:
		return d.Session, true
	case *agency.ToolRefused:
		return d.Session, true
	case *agency.TurnCompleted:
		return d.Session, true
	case *agency.Claimed:
		return d.Session, true
	case *agency.SessionParked:
		return d.Session, true
	case *agency.EpochBegun:
		return d.Session, false
	case *agency.Completed:
		return d.Session, false
	case *agency.Failed:
		return d.Session, false
	case *agency.Nudged:
		return d.Session, false
	case *agency.Halted:
		return d.Session, false
	case *agency.TestsRun:
		return "", onWork(d.Stage)
	case *agency.LintRun:
		return "", onWork(d.Stage)
	case *agency.ReviewSubmitted:
		return "", true
	}
	return "", false
}

// onWork tells whether a check of a stage says something of an agent's work.
func onWork(stage string) bool { return stage == "" || stage == agency.StageWork }

// longest is the most that one step of work takes, a check's limit: in a longer silence
// the machine slept, or its clock was set.
const longest = 30 * time.Minute

// goesOn notes that the session is at work.
func (c *clock) goesOn() { c.parked, c.ended = false, false }

// pass lets the clock go on, and gives by how much. A clock that jumps back changes
// nothing; what passes while the session waits is no time at work.
func (c *clock) pass(now time.Time) time.Duration {
	took := max(0, now.Sub(c.heard))
	patient := min(took, max(0, c.until.Sub(c.heard)))
	c.heard = now
	c.last = c.last.Add(took)
	if c.parked || c.ended || took > longest {
		patient = took
	}
	c.waited += patient
	return took
}
