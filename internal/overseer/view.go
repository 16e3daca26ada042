package overseer

import (
	"slices"
	"time"
)

// View is what is known of an agent at work, for whoever judges it.
type View struct {
	Snapshot
	Condition Condition `json:"health"`
	Why       string    `json:"why,omitempty"`
	Since     time.Time `json:"since"`
	Waited    float64   `json:"waited_seconds"` // for others
	Silent    float64   `json:"silent_seconds"`
	// Idle and IdleTokens are what it took since it last got on.
	Idle       int   `json:"turns_without_progress"`
	IdleTokens int64 `json:"tokens_without_progress"`

	WarnTokens int64 `json:"token_warning_threshold"`
	MaxTokens  int64 `json:"token_limit"`
	Timeout    int   `json:"timeout_seconds"`

	Nudges   int       `json:"nudges"`
	Cooldown float64   `json:"nudge_cooldown_seconds"` // until it may be nudged again
	Patterns []Pattern `json:"patterns"`
}

// Pattern is a behaviour that a history shows as it is, whatever was done about it.
type Pattern struct {
	Behaviour  Behaviour `json:"behavior"`
	Severity   Severity  `json:"severity"`
	Confidence float64   `json:"confidence"`
	Evidence   []string  `json:"evidence"`
}

// Views are those of the agents at work.
func (w *Watch) Views() (out []View) {
	for _, h := range w.sessions.sorted() {
		if !h.clock.ended {
			out = append(out, w.view(h))
		}
	}
	return out
}

func (w *Watch) view(h *history) View {
	health := h.health()
	v := View{
		Snapshot: h.snapshot(), Condition: health.Condition, Why: health.Why, Since: health.Since, Waited: h.clock.waited.Seconds(),
		Silent: (w.awake - h.clock.sign).Seconds(), Idle: h.fallow.turns, IdleTokens: h.fallow.tokens, Nudges: h.standing.nudged.n, Patterns: []Pattern{},
		WarnTokens: w.settings.TokenWarningThreshold, MaxTokens: w.settings.MaxTokens, Timeout: w.settings.TimeoutSeconds,
	}
	if v.Nudges > 0 {
		v.Cooldown = max(0, float64(w.settings.NudgeCooldownSeconds)-h.clock.last.Sub(h.standing.nudged.last).Seconds())
	}
	for _, d := range detectors {
		if w.broken[d.behaviour] || !d.on(w.settings) {
			continue
		}
		if f, fault := d.run(h, w.settings); fault == nil && f.severity != "" {
			v.Patterns = append(v.Patterns, Pattern{d.behaviour, f.severity, f.confidence, orNone(f.evidence)})
		}
	}
	return v
}

// Stands tells whether what a detection says of a session at work is not over.
func (w *Watch) Stands(d Detection) bool {
	return slices.ContainsFunc(w.sessions.sorted(), func(h *history) bool {
		t, raised := h.standing.raised[d.Behaviour]
		return h.key == key{d.Agent, d.Session} && !h.clock.ended && h.standing.final == "" && raised && !t.over
	})
}
