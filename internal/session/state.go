package session

import (
	"time"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/roster"
)

// state is what a session remembers beside its messages. It is stored with
// each settled turn and never grows with their number.
type state struct {
	Turn   int           `json:"turn"`   // settled turns
	Tokens int64         `json:"tokens"` // against the session's limit (DESIGN 15)
	Work   time.Duration `json:"work"`   // time at work
	// Carry is time at work that no settled request has charged yet.
	Carry time.Duration `json:"carry,omitempty"`
	Bytes int64         `json:"bytes"` // of the request as it stands
	// SeenIn and SeenBytes are the prompt's tokens as the provider counted them
	// and its bytes, at the last answer.
	SeenIn    int64      `json:"seen_in,omitempty"`
	SeenBytes int64      `json:"seen_bytes,omitempty"`
	Tree      agency.OID `json:"tree,omitempty"` // after the last settled turn; empty: unknown

	// Epoch counts from 1, where 0 is 1 too; First is the seq of its first
	// message.
	Epoch int    `json:"epoch,omitempty"`
	First int    `json:"first,omitempty"`
	Model string `json:"model,omitempty"` // that answered last
	// Due is set while the conversation waits to be compacted; Folds counts how
	// often it was without a turn between.
	Due   *due `json:"due,omitempty"`
	Folds int  `json:"folds,omitempty"`

	Reminded bool `json:"reminded,omitempty"` // was asked for an ending once
	Empty    int  `json:"empty,omitempty"`    // empty answers in a row
	Cut      int  `json:"cut,omitempty"`      // answers cut at the output limit in a row
	Barren   int  `json:"barren,omitempty"`   // turns in a row without one call that ran

	// Drafts are contracts noted for the plan, Returns how often it came back.
	Drafts  []agency.Contract `json:"drafts,omitempty"`
	Returns int               `json:"returns,omitempty"`

	// Mail are messages that the open turn shows.
	Mail []agency.MessageID `json:"mail,omitempty"`
	// Open is the message of results that waits for an answer from outside.
	Open *llm.Message `json:"open,omitempty"`
	// Waits is the tool call whose result Open lacks.
	Waits string `json:"waits,omitempty"`
	// Asks are those calls where the run's agents are asked about.
	Asks []AgentsAsk `json:"asks,omitempty"`
}

// maxBarren is how many turns in a row may pass without one call that could
// run before the session is given up.
const maxBarren = 6

// over says which limit of the role is reached, if any.
func (s state) over(l roster.Limits) (Cause, bool) {
	switch {
	case l.Turns > 0 && s.Turn >= l.Turns:
		return CauseTurns, true
	case l.Tokens > 0 && s.Tokens >= l.Tokens:
		return CauseTokens, true
	case l.Seconds > 0 && s.Work >= l.Timeout():
		return CauseTime, true
	case s.Barren >= maxBarren:
		return CauseRefusals, true
	}
	return "", false
}

// promptTokens estimates the next prompt: what the provider counted last time,
// and what was added since.
func (s state) promptTokens() int64 {
	if s.SeenIn > 0 && s.Bytes >= s.SeenBytes {
		return s.SeenIn + llm.EstimateTokens(s.Bytes-s.SeenBytes)
	}
	return llm.EstimateTokens(s.Bytes)
}

// charge counts an answer against the session's limit of tokens: output and
// uncached input; where the provider does not tell what was cached, the bytes
// that are new since the last request (DESIGN 15).
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

// reasons says a cause in words for people and for the next attempt.
func (c Cause) reason() string {
	switch c {
	case CauseTurns:
		return "the limit of turns is reached"
	case CauseTokens:
		return "the session's limit of tokens is reached"
	case CauseTime:
		return "the session's limit of time at work is reached"
	case CauseWindow:
		return "the conversation does not fit the model's context window any more"
	case CauseNoEnding:
		return "the model stopped without an ending tool, was asked once, and stopped again"
	case CauseRefusal:
		return "the model declined to answer"
	case CauseEmpty:
		return "the model gave empty answers"
	case CauseLength:
		return "the model's answers were cut at the limit of output again"
	case CauseRefusals:
		return "turn after turn, no call could run"
	}
	return string(c)
}
