// Package overseer finds agents that are stuck, run in circles, spend without
// getting anywhere, or do harm, from nothing but a run's events.
//
// A Watch folds events into a bounded history of each session; the detectors are
// pure functions over one history and the settings. They ask what is new: a call
// and its answer that were not there before, a text that a file did not yet hold, a
// check with another result. What is repeated is compared by digests that the
// events carry (Digest), so that histories hold no text of a repository.
//
// Nothing here acts and nothing reads a clock: the time is that of the events.
package overseer

import (
	"cmp"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
)

// Behaviour is what a detector finds, as the events nudged and halted name it.
type Behaviour string

// The behaviours.
const (
	InfiniteLoop     Behaviour = "infinite_loop"
	RepeatedFailures Behaviour = "repeated_failures"
	Stagnation       Behaviour = "stagnation"
	TokenExhaustion  Behaviour = "token_exhaustion"
	Timeout          Behaviour = "timeout"
	Oscillation      Behaviour = "oscillation"
	ScopeCreep       Behaviour = "scope_creep"
	Inefficiency     Behaviour = "inefficiency"
	MissedHeartbeat  Behaviour = "missed_heartbeat"
	Danger           Behaviour = "danger"
)

// Severity orders detections by what they call for.
type Severity string

// The severities, lowest first.
const (
	Low      Severity = "low"
	Medium   Severity = "medium"
	High     Severity = "high"
	Critical Severity = "critical"
)

var severities = []Severity{Low, Medium, High, Critical}

// AtLeast tells whether s is as severe as least.
func (s Severity) AtLeast(least Severity) bool {
	return slices.Index(severities, s) >= slices.Index(severities, least)
}

// Action is what a detection suggests, the mildest first.
type Action string

// The actions.
const (
	ActionLog      Action = "log"
	ActionNudge    Action = "nudge"
	ActionPause    Action = "pause"
	ActionEscalate Action = "escalate" // as pause does, by the model's word
	ActionHalt     Action = "halt"
)

// Detection is a behaviour that was found, with what shows it.
type Detection struct {
	Behaviour  Behaviour         `json:"behavior"`
	Agent      agency.AgentID    `json:"agent_id"`
	Session    agency.SessionID  `json:"session_id,omitempty"`
	Role       agency.RoleID     `json:"role,omitempty"`
	Contract   agency.ContractID `json:"contract_id,omitempty"`
	Severity   Severity          `json:"severity"`
	Confidence float64           `json:"confidence"` // 0 to 1
	Evidence   []string          `json:"evidence"`
	Action     Action            `json:"suggested_action"`
	At         time.Time         `json:"detected_at"` // of the event that showed it
	Event      int64             `json:"event_id"`
	Turn       int               `json:"turn"` // of the session, which had ended or was under way
	// Cooldown is set where a nudge waits for it, in seconds.
	Cooldown int `json:"waits_for_cooldown_seconds,omitempty"`
	// By is who found that something is to be done, where it is not a detector, and
	// Words what it said: to the agent, or why.
	By    string `json:"by,omitempty"`
	Words string `json:"words,omitempty"`
}

// Watch is what is known of the sessions of one run. It is for one goroutine.
type Watch struct {
	settings config.Overseer
	sessions sessions
	broken   map[Behaviour]bool // detectors that panicked: off for the run
	reviews  map[agency.ContractID]*reviews
	claims   map[agency.ContractID]*claims
	last     int64         // event, so that none counts twice
	at       time.Time     // as the last event or look said
	awake    time.Duration // that the watch was: what clocks jump over does not count
	former   []Snapshot    // of sessions that have ended
}

// NewWatch is a watch of a run that has not begun. Limits that the settings do not have, as
// those of a run which was kept without them, are the default ones.
func NewWatch(settings config.Overseer) *Watch {
	settings = filled(settings)
	return &Watch{
		settings: settings, sessions: newSessions(max(settings.SnapshotHistorySize, 2*settings.LoopDetectionWindow)), broken: map[Behaviour]bool{},
		reviews: map[agency.ContractID]*reviews{}, claims: map[agency.ContractID]*claims{},
	}
}

// filled are settings with the defaults of limits of which 0 means nothing.
func filled(s config.Overseer) config.Overseer {
	d := config.Defaults().Overseer
	for _, n := range []struct {
		have      *int
		otherwise int
	}{
		{&s.CheckIntervalSeconds, d.CheckIntervalSeconds},
		{&s.TimeoutSeconds, d.TimeoutSeconds},
		{&s.SnapshotHistorySize, d.SnapshotHistorySize},
		{&s.LoopDetectionWindow, d.LoopDetectionWindow},
		{&s.FailureIncreaseThreshold, d.FailureIncreaseThreshold},
	} {
		if *n.have <= 0 {
			*n.have = n.otherwise
		}
	}
	s.MaxTokens, s.TokenWarningThreshold = cmp.Or(s.MaxTokens, d.MaxTokens), cmp.Or(s.TokenWarningThreshold, d.TokenWarningThreshold)
	s.StagnationTokenThreshold = cmp.Or(s.StagnationTokenThreshold, d.StagnationTokenThreshold)
	s.WarnThreshold, s.ForceStopThreshold = cmp.Or(s.WarnThreshold, d.WarnThreshold), cmp.Or(s.ForceStopThreshold, d.ForceStopThreshold)
	return s
}

// Fault is a detector that panicked. It is off for the rest of the run.
type Fault struct {
	Behaviour Behaviour
	Event     int64 // at which it did
	Panic     any
}

// Observe takes the next event and gives what it shows and what is to be done about
// it, the most severe first. The same events give the same answers, so that who
// folds them again knows what was done before.
func (w *Watch) Observe(e agency.Event) ([]Detection, []Fault) {
	d, err := agency.DecodeDetail(e)
	if err != nil {
		d = nil // of a newer version
	}
	return w.take(e, d)
}

// take is Observe of an event whose details are known; nil: they are of a newer version.
func (w *Watch) take(e agency.Event, d agency.Detail) ([]Detection, []Fault) {
	if !w.settings.Enabled || e.ID > 0 && e.ID <= w.last {
		return nil, nil
	}
	w.last = max(w.last, e.ID)
	w.pass(e.Time)
	if d == nil {
		return nil, nil
	}
	switch d := d.(type) {
	case *agency.ResumedAfterCrash, *agency.RunResumed:
		w.skip(e.Time)
		return nil, nil
	case *agency.VerdictSubmitted:
		return w.verdict(e, d)
	case *agency.MessageSent:
		if h := w.sessions.latest[agency.AgentID(d.From)]; h != nil {
			h.seen.Sent++
		}
	case *agency.MessageDelivered:
		if h := w.sessions.latest[d.To]; h != nil {
			h.seen.Received++
		}
	}
	if e.AgentID == "" {
		e.AgentID = w.sessions.whose(d)
	}
	if e.AgentID == "" || e.Role == agency.RoleOverseer { // it is not watched over itself
		return nil, nil
	}
	h := w.sessions.of(e, d)
	if h == nil {
		return nil, nil
	}
	look := h.take(e, d, w.settings)
	h.event = max(h.event, e.ID)
	if _, works := sessionOf(d); works {
		h.standing.missed = ""
	}
	h.signs(e, d, w.awake)
	switch d := d.(type) {
	case *agency.TurnCompleted:
		w.recovers(h)
	case *agency.Log:
		if d.Missed > 0 {
			h.standing.missed = e.Summary
		}
	case *agency.Claimed:
		h.who.claims = of(w.claims, e.ContractID)
		h.who.claims.by = h.key
	case *agency.ReviewSubmitted:
		h.who.reviews = of(w.reviews, e.ContractID)
		h.who.reviews.take(d)
		if h.key.session == "" { // told when its session was over
			h.clock.ended = true
		}
	case *agency.Completed, *agency.Failed: // a run may have thousands of agents that were
		w.keep(h)
		w.sessions.forget(h)
	}
	if !look {
		return nil, nil
	}
	return w.judge(h, detectors)
}

// of is what is known of a contract.
func of[T any](known map[agency.ContractID]*T, id agency.ContractID) *T {
	if known[id] == nil {
		known[id] = new(T)
	}
	return known[id]
}

// verdict takes in what a claim came to, and looks at the session that made it.
func (w *Watch) verdict(e agency.Event, d *agency.VerdictSubmitted) ([]Detection, []Fault) {
	c := of(w.claims, e.ContractID)
	further := c.take(d)
	h := w.sessions.known[c.by]
	if h == nil { // no event told of the claim
		if h = w.sessions.at(e.ContractID); h == nil {
			return nil, nil
		}
		c.by, h.who.claims = h.key, c
	}
	h.event = max(h.event, e.ID)
	h.clock.pass(e.Time)
	if further {
		h.progress()
	}
	return w.judge(h, detectors)
}

// skip takes the time until a run goes on again out of what its agents took.
func (w *Watch) skip(until time.Time) {
	for _, h := range w.sessions.known {
		was := h.clock.ended
		h.clock.ended = true
		h.clock.pass(until)
		h.clock.ended = was
	}
}

// pass lets the watch's time go on. Between two looks, whose interval is the most that
// an event can be late, a clock that was set does not count.
func (w *Watch) pass(now time.Time) {
	if most := 2 * time.Duration(w.settings.CheckIntervalSeconds) * time.Second; !w.at.IsZero() {
		w.awake += max(0, min(now.Sub(w.at), most))
	}
	w.at = now
}

// Look tells of agents at work of which nothing is heard, and whose time runs out
// although no event says so.
func (w *Watch) Look(now time.Time) (found []Detection, faults []Fault) {
	w.pass(now)
	for _, h := range w.sessions.sorted() {
		if !w.settings.Enabled || h.clock.parked || h.clock.ended || !now.After(h.clock.heard) {
			continue
		}
		h.clock.pass(now)
		if now.Before(h.clock.until) { // its provider is silent, and says until when
			h.clock.signed, h.clock.sign = now, w.awake
		}
		h.clock.silent = w.awake - h.clock.sign
		d, f := w.judge(h, detectors[len(detectors)-byTime:])
		found, faults = append(found, d...), append(faults, f...)
	}
	return found, faults
}

// judge asks detectors about a history.
func (w *Watch) judge(h *history, by []detector) ([]Detection, []Fault) {
	var found []Detection
	var faults []Fault
	for _, d := range by {
		if w.broken[d.behaviour] || !d.on(w.settings) {
			continue
		}
		f, fault := d.run(h, w.settings)
		if fault != nil {
			w.broken[d.behaviour] = true
			faults = append(faults, Fault{d.behaviour, h.event, fault})
			continue
		}
		if f.severity == "" {
			continue
		}
		severity, action, due := h.ladder(d.behaviour, f, w.settings)
		if !due {
			continue
		}
		found = append(found, Detection{
			Behaviour: d.behaviour, Agent: h.key.agent, Session: h.key.session, Role: h.who.role, Contract: h.who.contract, Severity: severity,
			Confidence: f.confidence, Evidence: f.evidence, Action: action, At: h.clock.heard, Event: h.event, Turn: h.turn,
			Cooldown: h.cooldown(d.behaviour, w.settings),
		})
	}
	slices.SortStableFunc(found, func(a, b Detection) int {
		return cmp.Compare(slices.Index(severities, b.Severity), slices.Index(severities, a.Severity))
	})
	return found, faults
}

// finding is what one detector says of a history; without a severity: nothing.
type finding struct {
	severity   Severity
	confidence float64
	evidence   []string
	seq        int // of the newest call or result that shows it
}

// detector is one behaviour and the function that looks for it.
type detector struct {
	behaviour Behaviour
	on        func(config.Overseer) bool
	find      func(*history, config.Overseer) finding
}

// run asks a detector, and gives what it panicked with.
func (d detector) run(h *history, s config.Overseer) (f finding, fault any) {
	defer func() { fault = recover() }()
	return d.find(h, s), nil
}

// byTime is how many detectors, the last ones, look at the time alone.
const byTime = 2

// detectors are all of them, in the order in which equals are told.
var detectors = []detector{
	{Danger, danger, findDanger},
	{InfiniteLoop, loops, findLoop},
	{RepeatedFailures, loops, findFailures},
	{Oscillation, loops, findOscillation},
	{ScopeCreep, loops, findScopeCreep},
	{Stagnation, stagnates, findStagnation},
	{Inefficiency, stagnates, findInefficiency},
	{TokenExhaustion, always, findExhaustion},
	{MissedHeartbeat, always, findSilence},
	{Timeout, always, findTimeout},
}

func always(config.Overseer) bool      { return true }
func loops(s config.Overseer) bool     { return s.Patterns.LoopDetection }
func stagnates(s config.Overseer) bool { return s.Patterns.StagnationDetection }
func danger(s config.Overseer) bool    { return s.Patterns.DangerDetection }
