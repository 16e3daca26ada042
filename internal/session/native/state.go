package native

import (
	"maps"
	"time"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/session"
)

// state is what a session remembers beside its messages. It is stored with
// each settled turn and never grows with their number.
type state struct {
	Turn   int           `json:"turn"`   // settled turns
	Tokens int64         `json:"tokens"` // against the session's limit (docs/design.md, Modes)
	Work   time.Duration `json:"work"`   // time at work
	// Carry is time at work that no settled request has charged yet.
	Carry time.Duration `json:"carry,omitempty"`
	promptSize
	Tree agency.OID `json:"tree,omitempty"` // after the last settled turn; empty: unknown

	// Epoch counts from 1, where 0 is 1 too; First is the seq of its first
	// message.
	Epoch int    `json:"epoch,omitempty"`
	First int    `json:"first,omitempty"`
	Model string `json:"model,omitempty"` // that answered last
	// Due is set while the conversation waits to be compacted; Compactions counts how
	// often it was without a turn between.
	Due         *due `json:"due,omitempty"`
	Compactions int  `json:"compactions,omitempty"`

	// Limited is how long the request of the open turn has waited for limited rates.
	Limited *waited `json:"limited,omitempty"`

	stall
	session.Notes
	pending
}

// stall is what a session does in a row that leads nowhere.
type stall struct {
	Reminded bool `json:"reminded,omitempty"` // was asked for an ending since its last call that ran
	Empty    int  `json:"empty,omitempty"`    // empty answers
	Cut      int  `json:"cut,omitempty"`      // answers cut at the output limit
	Short    bool `json:"short,omitempty"`    // the open turn's answer may be shorter than the limit, for want of money
	Barren   int  `json:"barren,omitempty"`   // turns without one call that ran
	Warned   int  `json:"warned,omitempty"`   // the share of its limits, in percent, of which it was told
	// Refused is what the last call was answered that did not run.
	Refused string `json:"refused,omitempty"`
}

// pending is what the open turn shows and waits for.
type pending struct {
	// Mail are messages that the open turn shows.
	Mail []agency.MessageID `json:"mail,omitempty"`
	// Open is the message of results that waits for an answer from outside.
	Open *llm.Message `json:"open,omitempty"`
	// Waits is the tool call whose result Open lacks.
	Waits string `json:"waits,omitempty"`
	// Asks are those calls where the run's agents are asked about.
	Asks []session.AgentsAsk `json:"asks,omitempty"`
}

// waited is for how long the open request has waited for providers that limit the rate. It
// is stored as each wait begins, so that a host that takes the session over knows how much
// of a provider's patience is used up. A value is never changed.
type waited struct {
	Models map[string]time.Duration `json:"models,omitempty"` // what is over, by model: provider/model
	Model  string                   `json:"model"`            // that is waited for since then, so long
	Since  time.Time                `json:"since"`
	For    time.Duration            `json:"for"`
}

// begin adds the wait for a model that begins now.
func (w *waited) begin(model string, now time.Time, wait time.Duration) *waited {
	return &waited{Models: w.passed(now), Model: model, Since: now, For: wait}
}

// left is how long the last wait goes on from now, by its model.
func (w *waited) left(now time.Time) map[string]time.Duration {
	if w == nil {
		return nil
	}
	return map[string]time.Duration{w.Model: min(w.For, w.For-now.Sub(w.Since))}
}

// passed is how long each model was waited for until now. Of the last wait that is the time
// since it began, whether a host lived or not: the provider asked for no more.
func (w *waited) passed(now time.Time) map[string]time.Duration {
	if w == nil {
		return nil
	}
	all := maps.Clone(w.Models)
	if all == nil {
		all = map[string]time.Duration{}
	}
	all[w.Model] += min(max(0, now.Sub(w.Since)), w.For)
	return all
}

// promptSize is how large the prompt is, and how far its bytes tell its tokens.
type promptSize struct {
	Bytes int64 `json:"bytes"` // of the request as it stands
	// SeenIn and SeenBytes are the prompt's tokens as the provider counted them
	// and its bytes, at the last answer.
	SeenIn    int64 `json:"seen_in,omitempty"`
	SeenBytes int64 `json:"seen_bytes,omitempty"`
}

// maxBarren is how many turns in a row may pass without one call that could
// run before the session is given up.
const maxBarren = 6

// epoch is the number of the current one, from 1.
func (s state) epoch() int { return max(1, s.Epoch) }

// over says which limit of the role is reached, if any.
func (s state) over(l roster.Limits) (session.Cause, bool) {
	switch {
	case l.Turns > 0 && s.Turn >= l.Turns:
		return session.CauseTurns, true
	case l.Tokens > 0 && s.Tokens >= l.Tokens:
		return session.CauseTokens, true
	case l.Seconds > 0 && s.Work >= l.Timeout():
		return session.CauseTime, true
	case s.Barren >= maxBarren:
		return session.CauseRefusals, true
	}
	return "", false
}

// use is how much is used of the limit of which most is used.
func (s state) use(l roster.Limits) brief.Use {
	most := brief.Use{}
	for _, u := range []brief.Use{{What: "turns", Used: int64(s.Turn), Limit: int64(l.Turns)}, {What: "tokens", Used: s.Tokens, Limit: l.Tokens}} {
		if u.Limit <= 0 {
			continue
		}
		if u.Percent = int(u.Used * 100 / u.Limit); u.Percent > most.Percent {
			most = u
		}
	}
	return most
}

// promptTokens estimates the next prompt: what the provider counted last time,
// and what was added since.
func (s promptSize) promptTokens() int64 {
	if s.SeenIn > 0 && s.Bytes >= s.SeenBytes {
		return s.SeenIn + llm.EstimateTokens(s.Bytes-s.SeenBytes)
	}
	return llm.EstimateTokens(s.Bytes)
}

// charge counts an answer against the session's limit of tokens: output and
// uncached input; where the provider does not tell what was cached, the bytes
// that are new since the last request (docs/design.md, Modes).
func (s *state) charge(a llm.Answer) {
	used := a.Usage.Billed()
	if !a.CacheKnown {
		used = a.Usage.Out + min(max(0, a.Usage.In), llm.EstimateTokens(s.Bytes-s.SeenBytes))
	}
	s.Tokens += used
	if a.Usage.In <= s.Bytes { // more tokens than bytes is a miscount, and says nothing of the window
		s.SeenIn, s.SeenBytes = a.Usage.In, s.Bytes
	}
}

// most is how many tokens the next prompt may have at the most: by its bytes, or by what
// the provider counted of it before where that is more.
func (s promptSize) most() int64 {
	return max(llm.EstimateTokens(s.Bytes), s.promptTokens())
}
