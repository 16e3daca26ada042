package session

import (
	"context"
	"iter"

	"agency/internal/agency"
)

// Runtime runs sessions: package native has the one over a model.
// Whatever it needs beside its own conversation is exported here.
type Runtime interface {
	// Run runs a part of a session. The sequence ends with Ended, or with one
	// error: the context's where the host goes down or the loop is left,
	// KindTransient where the world outside refused. Either way the same Spec goes
	// on later where this one stopped. A part that has ended gives its outcome
	// again.
	Run(ctx context.Context, spec Spec) iter.Seq2[Event, error]
}

// Host is what a runtime of any kind gets from the process that owns the run.
type Host interface {
	// Toolset opens the contract's workspace. The session closes its Files.
	Toolset(ctx context.Context, spec Spec) (*Toolset, error)
	// Cancelled is closed when a person cancels the run: the session ends its
	// turn at once as Stopped. A nil channel never is.
	Cancelled(run agency.RunID) <-chan struct{}
}

// Do makes the activity of a runtime: it runs a part of a session to its
// outcome. Live, where set, is shown what happens; it must not block.
func Do(r Runtime, live func(agency.SessionID, Event)) func(context.Context, agency.StepKey, Spec) (Outcome, error) {
	return func(ctx context.Context, _ agency.StepKey, spec Spec) (out Outcome, err error) {
		for ev, err := range r.Run(ctx, spec) {
			if err != nil {
				return Outcome{}, err
			}
			if end, ok := ev.(Ended); ok {
				out = end.Outcome
			}
			if live != nil {
				live(spec.ID(), ev)
			}
		}
		return out, nil
	}
}

// Event is what a watcher sees while a part of a session runs. It is lossy and
// stored nowhere; what is durable stands in the event log. The set is closed.
type Event interface{ event() }

type (
	// Voided says that an answer broke off: the request is made again, or another
	// model is asked.
	Voided struct{ Cause string }
	// TurnStarted says that a request is about to be sent.
	TurnStarted struct{ Turn int }
	// ToolStarted and ToolEnded frame a tool call.
	ToolStarted struct {
		Turn, Index int
		Tool        string
	}
	ToolEnded struct {
		Turn, Index int
		Tool        string
		Failed      bool
	}
	// TurnEnded says that a turn is settled.
	TurnEnded struct {
		Turn  int
		Usage agency.Usage
	}
	// Ended is the last event of a sequence that ends without an error.
	Ended struct{ Outcome Outcome }
)

func (Voided) event()      {}
func (TurnStarted) event() {}
func (ToolStarted) event() {}
func (ToolEnded) event()   {}
func (TurnEnded) event()   {}
func (Ended) event()       {}
