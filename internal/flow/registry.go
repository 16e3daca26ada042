package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"agency/internal/agency"
)

// Registry holds what activities do, by name. It is filled by the wiring
// before the first run and only read afterwards.
type Registry struct {
	funcs map[string]activityFunc
}

type activityFunc func(ctx context.Context, key agency.StepKey, in []byte) ([]byte, error)

// NewRegistry is empty.
func NewRegistry() *Registry { return &Registry{funcs: map[string]activityFunc{}} }

// Bind ties an activity to the code that does it. key is the step's
// idempotency key, RUN/PATH: fn may run again with the same key after a crash
// and looks first whether its effect has happened.
//
// An error of the kinds Invalid, NotFound, Conflict, Denied, Exhausted and
// Internal is the activity's result and is journaled. KindTransient, and the
// end of ctx, mean that there is no result yet: the run is interrupted and
// the activity runs again when it goes on. A panic is treated as the latter,
// so that a mended binary can go on.
//
// Binding a name twice is a programming error and panics.
func Bind[I, O any](r *Registry, a Activity[I, O], fn func(ctx context.Context, key agency.StepKey, in I) (O, error)) {
	if _, ok := r.funcs[a.Name]; ok || a.Name == "" {
		panic(fmt.Sprintf("flow: activity %q is bound twice or has no name", a.Name))
	}
	r.funcs[a.Name] = func(ctx context.Context, key agency.StepKey, raw []byte) ([]byte, error) {
		var in I
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, agency.Errorf(agency.KindInternal, "input of %s: %w", a.Name, err)
		}
		out, err := fn(ctx, key, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
}

// ErrPanic is in the chain of what Invoke returns for an activity that
// panicked or ended its goroutine.
var ErrPanic = errors.New("panic in an activity")

// Invoke runs an activity, for backends.
func (r *Registry) Invoke(ctx context.Context, name string, key agency.StepKey, in []byte) (out []byte, err error) {
	fn := r.funcs[name]
	if fn == nil {
		return nil, agency.Errorf(agency.KindInternal, "activity %q is not bound", name)
	}
	defer func() {
		if v := recover(); v != nil {
			err = agency.Errorf(agency.KindInternal, "%w: %s: %v\n%s", ErrPanic, name, v, debug.Stack())
		}
	}()
	return fn(ctx, key, in)
}

// Scope is what an activity's context says about the step it carries out.
type Scope struct {
	Run   agency.RunID
	Key   agency.StepKey
	Fence agency.Fence // for the activity's own fenced writes
	// Rest tells the engine that the activity does nothing until what it waits for comes,
	// so that the run may be quiet meanwhile, and the function that it works again. Nil where
	// nobody is told.
	Rest func() (work func())
}

// Rest is the Scope's of an activity's context.
func Rest(ctx context.Context) (work func()) {
	if s := ScopeOf(ctx); s.Rest != nil {
		return s.Rest()
	}
	return func() {}
}

type scopeKey struct{}

// WithScope is for backends.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf is the scope of an activity's context; zero outside one.
func ScopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}
