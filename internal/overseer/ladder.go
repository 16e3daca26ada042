package overseer

import (
	"embed"
	"strings"
	"text/template"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/text"
)

// told is a behaviour that was told of, and is not over.
type told struct {
	severity Severity
	at       time.Time
	why      string
	turn     int // of the last time
	seq      int // of the evidence then
	nudges   int
	held     int  // times that it lasted and no nudge was due
	waits    bool // for the cooldown, to be nudged
	over     bool // the agent got on since
}

// nudges are those of an agent in all its sessions.
type nudges struct {
	n    int
	last time.Time
}

// standing is what was done about an agent.
type standing struct {
	raised map[Behaviour]told // since the agent last got on
	nudged *nudges            // of the agent, in all its sessions
	final  string             // why the session was told to end
	missed string             // heartbeats, since it was heard of
}

const (
	patience = 6 // turns that a nudge has to change something
	inVain   = 2 // nudges about one behaviour that changed nothing
)

// ladder says what is to be done about a behaviour that was found. It is due where
// it is new, has become more severe, or still stands when a nudge has had time to
// change something. A nudge within the cooldown of the last one is told and waits.
// Nudges in vain end the session; too many call for whoever leads the agent.
func (h *history) ladder(b Behaviour, f finding, o config.Overseer) (Severity, Action, bool) {
	s, now := f.severity, h.clock.last
	t, again := h.standing.raised[b]
	cool := h.standing.nudged.n == 0 || now.Sub(h.standing.nudged.last) >= time.Duration(o.NudgeCooldownSeconds)*time.Second
	lasts := b.Lasts() && s != Low && h.turn-t.turn >= patience && f.seq > t.seq
	if h.standing.final != "" && b != Danger || again && t.severity.AtLeast(s) && !lasts && !(t.waits && cool) {
		return s, "", false
	}
	t.waits = false
	action := ActionLog
	switch {
	case b == Oscillation || b == ScopeCreep: // the loop of reviews answers these itself
	case b == MissedHeartbeat: // nobody is there to read
	case h.clock.ended: // nobody is there
	case s.AtLeast(Severity(o.ForceStopThreshold)):
		action = ActionHalt
	case lasts && (t.nudges >= inVain || t.nudges+t.held > inVain): // many turns fit into a cooldown
		s, action = Critical, ActionHalt
	case s.AtLeast(High) || s.AtLeast(Severity(o.WarnThreshold)) && h.standing.nudged.n >= o.MaxNudgesPerAgent:
		action = ActionPause
	case s.AtLeast(Severity(o.WarnThreshold)) && !cool:
		t.waits = true
		t.held++
	case s.AtLeast(Severity(o.WarnThreshold)):
		action = ActionNudge
		t.nudges++
		*h.standing.nudged = nudges{h.standing.nudged.n + 1, now}
	}
	if action == ActionHalt && !o.HaltOnCritical {
		action = ActionPause
	}
	if !again {
		t.at = now
	}
	t.severity, t.turn, t.seq, t.why, t.over = s, h.turn, f.seq, f.reason(b), false
	if action == ActionPause || action == ActionHalt {
		h.standing.final = t.why
	}
	h.standing.raised[b] = t
	return s, action, true
}

// cooldown is how many seconds have to lie between nudges, where one about a behaviour
// waits for that.
func (h *history) cooldown(b Behaviour, o config.Overseer) int {
	if !h.standing.raised[b].waits {
		return 0
	}
	return o.NudgeCooldownSeconds
}

// recall takes in a nudge that the log tells of and that no event showed, such as one
// for the time or one of the model-backed overseer: whoever folds the log again knows
// of it.
func (s *standing) recall(d agency.Nudged, h *history) {
	b := Behaviour(d.Cause)
	_, known := s.raised[b]
	if known && d.By == "" || d.Undelivered != "" {
		return
	}
	*s.nudged = nudges{s.nudged.n + 1, h.clock.last}
	if known {
		return
	}
	s.raised[b] = told{severity: Severity(d.Severity), at: h.clock.last, why: finding{evidence: d.Evidence}.reason(b), turn: h.turn, nudges: 1}
}

// ordered takes in that the model-backed overseer has told the session to end.
func (s *standing) ordered(d *agency.Overseen) {
	if d != nil && d.By != "" && s.final == "" {
		s.final = Behaviour(d.Cause).String() + ": " + text.OneLine(d.Reason, 500)
	}
}

// Lasts tells whether a behaviour that goes on is worse than one that was seen
// once: what a limit says does not change by being said again. It is one of the
// conversation, which a new one may leave behind.
func (b Behaviour) Lasts() bool {
	return b == InfiniteLoop || b == RepeatedFailures || b == Stagnation || b == Inefficiency
}

//go:embed nudges/*.md
var nudgeFiles embed.FS

var nudgeTexts = template.Must(template.ParseFS(nudgeFiles, "nudges/*.md"))

// Nudge is what an agent is told about a detection.
func (d Detection) Nudge() string {
	if d.Words != "" {
		return d.Words
	}
	var out strings.Builder
	if err := nudgeTexts.ExecuteTemplate(&out, string(d.Behaviour)+".md", d); err != nil {
		return strings.Join(d.Evidence, "; ") // a test executes each
	}
	return out.String()
}

// reason is a finding in a line, for people and for the next attempt.
func (f finding) reason(b Behaviour) string {
	return b.String() + ": " + strings.Join(f.evidence, "; ")
}

// Reason is the detection in a line, for people and for the next attempt.
func (d Detection) Reason() string {
	if d.Words != "" {
		return d.Behaviour.String() + ", by the overseer's model: " + text.OneLine(d.Words, 500)
	}
	return finding{evidence: d.Evidence}.reason(d.Behaviour)
}

func (b Behaviour) String() string { return strings.ReplaceAll(string(b), "_", " ") }
