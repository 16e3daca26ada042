package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"agency/internal/agency"
)

// Tool is what a model may call. Schema is the JSON schema of its arguments,
// an object.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Request is one question to a model. Adapters send the tools sorted by name
// and change nothing else, so that a request which only appends messages to
// an earlier one repeats it byte for byte and finds the provider's cache.
type Request struct {
	Model     string // the provider's own name of the model
	System    string
	Tools     []Tool
	Messages  []Message
	MaxOutput int64 // tokens; 0 is DefaultMaxOutput
	// Session names the conversation in traces. It is not sent.
	Session string
	// Cache names what requests have in common that begin alike, for OpenAI, which sends
	// those of a name to where their prefix is kept; empty: nothing is said.
	Cache string
	// Waited is how long this request has waited already while the rate was limited, before it
	// was sent by this process, by the name of a model in a list. It is not sent.
	Waited map[string]time.Duration
	// Left is how long the provider wished it to wait still, likewise.
	Left map[string]time.Duration
}

// DefaultMaxOutput is the output limit, in tokens, of a request that names
// none.
const DefaultMaxOutput = 8192

// Limit is the most tokens that the answer may have.
func (r Request) Limit() int64 {
	if r.MaxOutput <= 0 {
		return DefaultMaxOutput
	}
	return r.MaxOutput
}

// Model answers requests. The sequence tells how far the answer is and then
// ends in one of two ways: with exactly one Done, or with exactly one error,
// which is a *Fault, or the context's error when the context ended.
// Leaving the loop early gives the request up and frees what it held.
type Model interface {
	Ask(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Event is a step of an answer; the set is closed.
type Event interface{ event() }

// Counted tells that the provider has begun to answer, and what it says that
// it has counted so far, which may be nothing yet: an answer that breaks off
// after it is not free. Before the error of one that broke off it tells what was
// received, estimated where the provider counted less.
type Counted struct {
	Usage agency.Usage
	Model string // as the provider reports it; empty: it has not
}

// Said is a piece of the answer as it comes, before anything of it is checked: what was
// said of a try that breaks off is said again by the next, from its beginning. Of an
// answer that comes in one piece nothing need be said. It is for people who look on; what
// counts is in Done.
type Said struct {
	Kind SaidKind
	Text string
}

// SaidKind is what a piece of an answer is a piece of.
type SaidKind string

// The kinds of Said. A call begins with its tool's name, SaidCall, after which its
// arguments come as JSON.
const (
	SaidText     SaidKind = "text"
	SaidThinking SaidKind = "thinking"
	SaidCall     SaidKind = "call"
	SaidArgs     SaidKind = "args"
)

// Retrying announces that a try ended in Cause and the next begins after Wait.
type Retrying struct {
	Attempt int // the number of the try that failed, from 1
	Of      int // how many tries there are at most, as it looks now
	Wait    time.Duration
	Until   time.Time // when the wait is over
	Cause   *Fault
}

// Asking announces that a request is about to be sent: to each model of a
// fallback list before its first try, and again before each further try. Who
// leaves then has sent nothing. With another model the prompt cache is void.
type Asking struct {
	Model string // as in failover.Named.Name; empty outside of a Fallback
	After *Fault // of the model asked before, where that is why; nil: the first of this request
}

// Done ends a successful answer.
type Done struct{ Answer Answer }

func (Done) event()     {}
func (Retrying) event() {}
func (Asking) event()   {}
func (Counted) event()  {}
func (Said) event()     {}

// Answer is what a model said, complete. Tool calls have ids that are unique
// in the conversation.
type Answer struct {
	Message Message
	Stop    StopReason
	Usage   agency.Usage
	// CacheKnown says that the provider told how much of the prompt came from
	// its cache; where it did not, Usage.Cached is 0 for want of knowledge.
	CacheKnown bool
	// By is who answered and is paid: the entry of the fallback list, provider/model
	// as configured. Fallback sets it.
	By    string
	Model string // as the provider reports it, else as requested
}

// StopReason says why an answer ended.
type StopReason string

// The closed set of stop reasons.
const (
	StopEndTurn StopReason = "end_turn" // the model has said what it wanted
	StopToolUse StopReason = "tool_use" // at least one tool call waits for its result
	StopLength  StopReason = "length"   // the output limit cut the answer; its last tool call may be Invalid
	StopRefusal StopReason = "refusal"  // the model or its provider declined
	StopEmpty   StopReason = "empty"    // neither text nor tool call
	StopPause   StopReason = "pause"    // ask again with the message appended unchanged
	StopContext StopReason = "context"  // the model's context window is full
)

// Collect drains an answer.
func Collect(seq iter.Seq2[Event, error]) (Answer, error) {
	var out Answer
	for ev, err := range seq {
		if err != nil {
			return Answer{}, err
		}
		if d, ok := ev.(Done); ok {
			out = d.Answer
		}
	}
	return out, nil
}

// Sleep waits, or gives the context's error as it ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
