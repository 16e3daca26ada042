package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/tool"
)

// Options make a Runner.
type Options struct {
	DB   *store.DB
	Host Host
	// Live, where set, is shown what happens while Do runs a part. It must not
	// block.
	Live func(agency.SessionID, Event)
	// Mail is the board of this process. Without one, mail is looked for before
	// each request, and is sent without limits.
	Mail Mail
	Now  func() time.Time // default time.Now

	// between is called after each commit and each effect; a test dies there.
	between func(point string) error
	// beat is how far heartbeats are apart while nothing else is written.
	beat time.Duration
}

// Runner runs sessions. It is safe for concurrent use; what it holds is shared
// by all of them.
type Runner struct {
	o     Options
	tools []tool.Tool
	beats *beats

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
	return &Runner{o: o, tools: tool.All(), beats: newBeats(o.DB, o.beat), kits: map[kitName]*kit{}}
}

// Do is the activity: it runs a part of a session to its outcome.
func (r *Runner) Do(ctx context.Context, _ agency.StepKey, spec Spec) (Outcome, error) {
	var out Outcome
	for ev, err := range r.Run(ctx, spec) {
		if err != nil {
			return Outcome{}, err
		}
		if end, ok := ev.(Ended); ok {
			out = end.Outcome
		}
		if r.o.Live != nil {
			r.o.Live(spec.ID(), ev)
		}
	}
	return out, nil
}

// errLeft is the cause of the context when the range over Run was left.
var errLeft = errors.New("the session's watcher left")

// errCancelled is the cause of the context when a person cancelled the run.
var errCancelled = errors.New("the run is cancelled")

// Run runs a part of a session. The sequence ends with Ended, or with one
// error: the context's where the host goes down or the loop is left, KindTransient
// where the world outside refused. Either way the same Spec goes on later where
// this one stopped. A part that has ended gives its outcome again.
func (r *Runner) Run(ctx context.Context, spec Spec) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		left := false
		emit := func(ev Event) {
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
			yield(Ended{Outcome: out}, nil)
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
func (r *Runner) part(ctx context.Context, spec Spec, emit func(Event)) (Outcome, error) {
	if err := spec.check(); err != nil {
		return Outcome{}, err
	}
	c := &conversation{r: r, spec: spec, id: spec.ID(), emit: emit, fence: flow.ScopeOf(ctx).Fence}
	ended, err := c.load(ctx)
	if err != nil || ended != nil {
		return orZero(ended), err
	}
	c.beat = r.beats.enter(spec, c.fence)
	defer r.beats.exit(c.beat)
	if err := c.open(ctx); err != nil {
		return c.interrupted(ctx, err)
	}
	defer func() { _ = c.desk.Files.Close() }() // only a folder's handle
	out, err := c.loop(ctx)
	if err != nil {
		return c.interrupted(ctx, err)
	}
	return out, nil
}

func orZero(o *Outcome) Outcome {
	if o == nil {
		return Outcome{}
	}
	return *o
}

func (s Spec) check() error {
	if s.Run == "" || s.Contract == "" || s.Attempt < 1 || s.Part < 1 || s.Agent == "" {
		return agency.Errorf(agency.KindInternal, "session: spec names no run, contract, agent, attempt or part: %+v", s)
	}
	return nil
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
	k := &kit{}
	for _, t := range r.tools {
		if role.OffersIn(phase, t.Name) && (backlog || !roster.OfBacklog(t.Name)) {
			k.tools = append(k.tools, t)
			k.shown = append(k.shown, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
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
