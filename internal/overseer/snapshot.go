package overseer

import (
	"time"

	"agency/internal/agency"
)

// Snapshot is what an agent did in a session, as its events tell it.
type Snapshot struct {
	Agent    agency.AgentID    `json:"agent_id"`
	Session  agency.SessionID  `json:"session_id,omitempty"`
	Role     agency.RoleID     `json:"role,omitempty"`
	Contract agency.ContractID `json:"contract_id,omitempty"`

	Turns     int   `json:"turns_completed"`
	Tokens    int64 `json:"tokens_used"`         // as limits count them
	Estimated bool  `json:"estimated,omitempty"` // a provider gave no counts of them
	Files     int   `json:"files_modified"`
	Calls     int   `json:"tool_calls"`
	Errors    int   `json:"error_count"` // calls that failed or were refused

	Started time.Time `json:"started_at"`
	Active  time.Time `json:"last_activity_at"`
	Elapsed float64   `json:"elapsed_seconds"` // at work: waits for others apart

	Tool string `json:"last_tool_call,omitempty"`
	File string `json:"last_file_modified,omitempty"`

	Sent     int  `json:"messages_sent"`
	Received int  `json:"messages_received"`
	Ended    bool `json:"ended,omitempty"`
}

// Snapshots are those of the sessions that are known: of those that have ended, the
// last ones.
func (w *Watch) Snapshots() []Snapshot {
	out := append([]Snapshot{}, w.former...)
	for _, h := range w.sessions.sorted() {
		out = append(out, h.snapshot())
	}
	return out
}

func (h *history) snapshot() Snapshot {
	s := h.seen
	s.Agent, s.Session, s.Role, s.Contract = h.key.agent, h.key.session, h.who.role, h.who.contract
	s.Tokens, s.Estimated, s.Files = h.tokens, h.guessed, len(h.files)
	s.Started, s.Active = h.clock.began, h.clock.signed
	s.Elapsed, s.Ended = (h.clock.last.Sub(h.clock.began) - h.clock.waited).Seconds(), h.clock.ended
	return s
}

// keep is called before a session that has ended is forgotten.
func (w *Watch) keep(h *history) {
	if len(w.former) >= mostSessions {
		w.former = append(w.former[:0], w.former[mostSessions/2:]...)
	}
	s := h.snapshot()
	s.Ended = true
	w.former = append(w.former, s)
}

// signs notes that the agent is there. What others say of it is no sign.
func (h *history) signs(e agency.Event, d agency.Detail, awake time.Duration) {
	switch d := d.(type) {
	case *agency.Log, *agency.Nudged, *agency.Halted, *agency.Escalated:
		return
	case *agency.TurnCompleted:
		h.seen.Turns++
	case *agency.ToolCalled:
		h.counts(d.Tool, d.Error != "" || d.Ended != "")
		if kinds[d.Tool] == changes && d.Error == "" && d.Path != "" {
			h.touched(d.Path)
		}
	case *agency.ToolRefused:
		h.counts(d.Tool, true)
	}
	h.clock.signed, h.clock.sign, h.clock.silent = e.Time, awake, 0
	delete(h.standing.raised, MissedHeartbeat)
}

func (h *history) counts(tool string, failed bool) {
	h.seen.Calls++
	h.seen.Tool = tool
	if failed {
		h.seen.Errors++
	}
}

func (h *history) touched(path string) {
	if h.files == nil {
		h.files = map[uint64]bool{}
	}
	h.seen.File = path
	if len(h.files) < mostSeen {
		h.files[hash(path)] = true
	}
}

// progressed is what a session has done, in numbers.
type progressed struct {
	seq     int // of calls and results
	turn    int
	settled int  // turns
	changes int  // that succeeded
	made    bool // something, or tried it
	tried   int  // checks of which events tell
	folded  int  // changes and checks when it was compacted last
	proven  int  // the call or result that last showed what changes are worth
}

// spending is what a session took.
type spending struct {
	tokens  int64 // as limits count them
	prompt  int64 // tokens of the last one
	guessed bool  // its provider gave no counts of them
}

// sights are what of its snapshot is counted event by event.
type sights struct {
	seen  Snapshot
	files map[uint64]bool
}
