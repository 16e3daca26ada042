// Package native is the runtime of sessions that asks a model itself: it persists
// the answer before anything acts on it, runs the tool calls, takes a snapshot,
// settles what it cost, and goes on until a tool ends the part, a limit is
// reached or it has to wait (docs/design.md, Sessions). Each turn is durable:
// after a crash a stored answer is never asked for again, and the transcript is
// always one that a model accepts. A conversation that nears its model's window
// is compacted: what binds it is read from the store again, what was said is
// summed up.
//
// It does not say what an effect of a tool means or how a part may end (session).
package native

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/tool"
)

// Options make a Runner.
type Options struct {
	DB   *store.DB
	Host Host
	// Mail is the board of this process. Without one, mail is looked for before
	// each request, and is sent without limits.
	Mail session.Mail
	Now  func() time.Time // default time.Now

	// between is called after each commit and each effect; a test dies there.
	between func(point string) error
	// heartbeat is how far heartbeats are apart while nothing else is written.
	heartbeat time.Duration
}

// Runner runs sessions. It is safe for concurrent use; what it holds is shared
// by all of them.
type Runner struct {
	o          Options
	heartbeats *session.Heartbeats

	mu   sync.Mutex
	kits map[kitName]*kit
}

// New makes a Runner; it does no I/O.
func New(o Options) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.between == nil {
		o.between = func(string) error { return nil }
	}
	return &Runner{o: o, heartbeats: session.NewHeartbeats(o.DB, o.heartbeat), kits: map[kitName]*kit{}}
}

// errLeft is the cause of the context when the range over Run was left.
var errLeft = errors.New("the session's watcher left")

// errCancelled is the cause of the context when a person cancelled the run.
var errCancelled = errors.New("the run is cancelled")

// Run is for session.Runtime.
func (r *Runner) Run(ctx context.Context, spec session.Spec) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		left := false
		emit := func(ev session.Event) {
			if !left && !yield(ev, nil) {
				left = true
				cancel(errLeft)
			}
		}
		defer r.watch(ctx, cancel, spec.Run)()
		out, err := r.part(ctx, spec, emit)
		switch {
		case left:
		case err != nil:
			yield(nil, err)
		default:
			yield(session.Ended{Outcome: out}, nil)
		}
	}
}

// watch cancels the context when the run is cancelled; the returned function
// ends the watching and waits for it.
func (r *Runner) watch(ctx context.Context, cancel context.CancelCauseFunc, run agency.RunID) func() {
	ch := r.o.Host.Cancelled(run)
	if ch == nil {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ch:
			cancel(errCancelled)
		case <-stop:
		case <-ctx.Done():
		}
	}()
	return func() { close(stop); <-done }
}

// part finds where the session stands and goes on from there.
func (r *Runner) part(ctx context.Context, spec session.Spec, emit func(session.Event)) (session.Outcome, error) {
	if err := spec.Check(); err != nil {
		return session.Outcome{}, err
	}
	fence := flow.ScopeOf(ctx).Fence
	c := newConversation(r, spec, fence, emit)
	ended, err := c.load(ctx)
	if err != nil || ended != nil {
		return orZero(ended), err
	}
	c.presence = r.heartbeats.Enter(c.Member, fence)
	defer r.heartbeats.Exit(c.presence)
	if err := c.open(ctx); err != nil {
		return c.interrupted(ctx, err)
	}
	defer func() { _ = c.tools.Files.Close() }() // only a folder's handle
	out, err := c.loop(ctx)
	if err != nil {
		return c.interrupted(ctx, err)
	}
	return out, nil
}

func orZero(o *session.Outcome) session.Outcome {
	if o == nil {
		return session.Outcome{}
	}
	return *o
}

// kit is what a role's sessions share: its tools, as they run and as a model
// is shown them.
type kit struct {
	tools []tool.Tool
	shown []llm.Tool
	json  []byte // of shown, as it is stored
}

// kitName says whose kit it is.
type kitName struct {
	role    agency.RoleID
	phase   roster.Phase
	backlog bool
}

// kit makes the kit of a role, in a phase of it, once: with the tools of the
// backlog where there is one.
func (r *Runner) kit(role roster.Role, phase roster.Phase, backlog bool) (*kit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := kitName{role.ID, phase, backlog}
	if k := r.kits[name]; k != nil {
		return k, nil
	}
	k := &kit{tools: session.Offered(role, phase, backlog)}
	for _, t := range k.tools {
		k.shown = append(k.shown, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	k.shown = llm.SortedTools(k.shown)
	var err error
	if k.json, err = json.Marshal(k.shown); err != nil {
		return nil, err
	}
	r.kits[name] = k
	return k, nil
}

func (k *kit) find(name string) (tool.Tool, bool) {
	i := slices.IndexFunc(k.tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 {
		return tool.Tool{}, false
	}
	return k.tools[i], true
}

// Host is what the process that owns the run gives its sessions. The fence of
// their writes comes with the activity's context (flow.ScopeOf).
type Host interface {
	session.Host
	// Setup is what the run's own copy of the configuration says for a session.
	Setup(ctx context.Context, spec session.Spec) (Setup, error)
}

// Setup is the configuration of one session.
type Setup struct {
	// Model answers; retries and the fallback list are already in it, so that its
	// events and answers say who is asked and who answered.
	Model llm.Model
	// Models is that list as configured, provider/model, in order; never empty.
	Models []string
	// Window is the context window in tokens; 0 where nobody knows it.
	Window int64
	// Prices are those of the models that may answer.
	Prices budget.Tariff
	Limits roster.Limits
	// Repo is the user's repository path, at which the agent sees its files.
	Repo     string
	Network  bool
	Commands check.Commands
	// Shared are the globs of files whose change by several contracts is no
	// matter.
	Shared []string
	// Rules hold for the plan of a session that ends by one.
	Rules agency.PlanRules
	// Context bounds what is staged for a contract.
	Context staging.Limits
	// RespondWithin is in what time a question to another agent is to be answered
	// where its sender names no time; 0: whenever.
	RespondWithin time.Duration
	// Parent is the budget node above the session's; empty: budget.Root.
	Parent string
}
