package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/stream"
)

// Runtime runs sessions: package native has the one over a model.
// Whatever it needs beside its own conversation is exported here and in the packages
// briefing and record.
//
// A program that a runtime has run (Toolset.Process) runs from start to end within a
// part, and the next part starts it anew, by what it keeps at its home: between parts
// the host works on the checkout, and ends whatever still runs there
// (sandbox.Census).
type Runtime interface {
	// Run runs a part of a session to its outcome. An error is the context's where
	// the host goes down, and KindTransient where the world outside refused: either
	// way the same Spec goes on later where this one stopped. Where the context's
	// cause is ErrCancelled the part ends at once as Stopped. A part that has ended
	// gives its outcome again.
	Run(ctx context.Context, p *Part) (Outcome, error)
}

// Part is a part of a session as its runtime gets it, with what every runtime
// does alike.
type Part struct {
	*Member
	Setup    Setup
	Mail     *Mailbox
	Presence *Presence
	Account  *Account
	Edits    *Edits
	// Stream takes what the session's model says while it says it; nil: nobody looks on.
	Stream *stream.Source
}

// Host is what sessions get from the process that owns their runs.
type Host interface {
	// Setup is what the run's own copy of the configuration says for a session.
	Setup(ctx context.Context, spec Spec) (Setup, error)
	// Lineup is the models that the configuration gives a session to ask.
	Lineup(ctx context.Context, spec Spec) (Lineup, error)
	// Toolset opens the contract's workspace. The session closes its Files.
	Toolset(ctx context.Context, spec Spec) (*Toolset, error)
	// Cancelled is done when a person cancels the run.
	Cancelled(run agency.RunID) context.Context
}

// Setup is the configuration of one session, whatever runs it.
type Setup struct {
	Runtime string // its name in agency.yaml
	Limits  roster.Limits
	// Prices are those of the models that may answer.
	Prices budget.Tariff
	// Repo is the user's repository path, at which the agent sees its files.
	Repo     string
	Network  bool
	Commands check.Commands
	// Shared are the globs of files whose change by several contracts is no
	// matter.
	Shared []string
	// Rules hold for the plan of a session that ends by one.
	Rules agency.PlanRules
	// Talent is the expertise of the session beside its role's; Talents those that its plan
	// may name.
	Talent  roster.Talent
	Talents []roster.Talent
	// Persona is the agent of a composition whose session it is; with a Post.
	Persona roster.Persona
	// Context bounds what is staged for a contract.
	Context staging.Limits
	// RespondWithin is in what time a question to another agent is to be answered
	// where its sender names no time; 0: whenever.
	RespondWithin time.Duration
	// Parent is the budget node above the session's; empty: budget.Root.
	Parent string
}

// Lineup is the models that a session asks.
type Lineup struct {
	// Model answers; retries and the fallback list are already in it, so that its
	// events and answers say who is asked and who answered.
	Model llm.Model
	// Names is that list as configured, provider/model, in order; never empty.
	Names []string
	// Window is the context window in tokens; 0 where nobody knows it.
	Window int64
	// Output is how long an answer may be where the role sets no limit, in tokens; 0: the
	// default.
	Output int64
	// Stale tells whether a person has chosen other models since; nil: nobody can.
	Stale func() bool
	// Sees is set where one of them is shown pictures; Model gives the others words.
	Sees bool
}

// Options are what sessions of a process share.
type Options struct {
	DB   *store.DB
	Host Host
	// Mail is the board of this process. Without one, mail is looked for before
	// each request, and is sent without limits.
	Mail Mail
	// Runtimes are those of this version, by their names in agency.yaml.
	Runtimes map[string]Runtime
	// Heartbeat is how far heartbeats are apart while nothing else is written;
	// 0: as the board wants it.
	Heartbeat time.Duration
	// Stream is what sessions say while they say it; nil: nobody looks on.
	Stream *stream.Hub
	// Bell wakes those who wait for the budget; nil: one that hears the store.
	Bell *budget.Bell
	// Above is what the user allows across runs; nil: no limit.
	Above Allowance
}

// ErrCancelled is the cause of a part's context when a person cancelled the run.
var ErrCancelled = errors.New("the run is cancelled")

// Do makes the activity of sessions: it has a part run to its outcome by the
// runtime that the configuration names.
func Do(o Options) func(context.Context, agency.StepKey, Spec) (Outcome, error) {
	beats := NewHeartbeats(o.DB, o.Heartbeat)
	bell := sync.OnceValue(func() *budget.Bell { // goes with the store
		if o.Bell != nil {
			return o.Bell
		}
		return budget.NewBell(o.DB)
	})
	return func(ctx context.Context, _ agency.StepKey, spec Spec) (Outcome, error) {
		if err := spec.Check(); err != nil {
			return Outcome{}, err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(o.Host.Cancelled(spec.Run), func() { cancel(ErrCancelled) })()
		setup, err := o.Host.Setup(ctx, spec)
		if err != nil && errors.Is(context.Cause(ctx), ErrCancelled) {
			return Cancelled(""), nil
		}
		if err != nil {
			return Outcome{}, err
		}
		runtime := o.Runtimes[setup.Runtime]
		if runtime == nil {
			return Outcome{}, agency.Errorf(agency.KindInvalid, "runtime %s is not in this version", setup.Runtime)
		}
		fence := flow.ScopeOf(ctx).Fence
		m := &Member{Spec: spec, DB: o.DB, Write: func(ctx context.Context, fn func(*store.Tx) error) error {
			return o.DB.WriteFenced(ctx, fence, fn)
		}}
		p := &Part{
			Member: m, Setup: setup, Presence: beats.Enter(m, fence),
			Mail:    &Mailbox{Member: m, Board: o.Mail, RespondWithin: setup.RespondWithin},
			Account: &Account{Member: m, Prices: setup.Prices, Bell: bell(), Above: o.Above}, Edits: &Edits{Member: m, Shared: setup.Shared},
			Stream: o.Stream.Open(spec.Run, api.Delta{Session: spec.ID(), Contract: spec.Contract, Agent: spec.Agent, Role: spec.Role}),
		}
		defer p.Stream.Close()
		defer beats.Exit(p.Presence)
		return runtime.Run(ctx, p)
	}
}
