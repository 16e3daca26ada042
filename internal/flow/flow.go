// Package flow is durable execution: a run is an ordinary Go function over a
// Ctx, readable from top to bottom, whose effects are journaled, so that a
// restarted process runs the function again and arrives where it was.
//
// The function may use the primitives of this package and pure code, nothing
// else: no goroutine, clock, random number, map order or I/O. Effects are
// activities, declared beside the code that acts and called by name:
//
//	var Activity = flow.Activity[Spec, Outcome]{Name: "verify"}
//	...
//	out, err := flow.Call(c, verify.Activity, key, spec)
//
// Keys are stable paths, unique in the run, and derived from what they name,
// never from a counter over a set. The journal keeps a hash of the input with
// each key; another input under the same key is a Fault.
//
// The package holds the typed API and the registry of activities. Executing
// is the matter of an Engine: flow/local on one machine. It does not decide
// where a run's state lives, and activities must be idempotent by their key.
package flow

import (
	"encoding/json"
	"fmt"
	"time"

	"agency/internal/agency"
)

// None is the result of an activity that has none.
type None struct{}

// Ctx is a branch of a run. It is passed down explicitly and used only by the
// branch it was given to.
type Ctx struct {
	run     agency.RunID
	backend Backend
}

// NewCtx is for backends.
func NewCtx(run agency.RunID, b Backend) Ctx { return Ctx{run: run, backend: b} }

// Run is the run's id.
func (c Ctx) Run() agency.RunID { return c.run }

// Activity names an effect with its input and output. The value is the whole
// declaration; Bind ties it to code. Both types are JSON. A new field of I
// needs omitempty, so that runs recorded before it still match.
type Activity[I, O any] struct{ Name string }

// Future is the result, perhaps to come, of a Start or a Go. Any branch of
// the run may wait for it.
type Future[O any] struct{ handle Handle }

// Get waits for the result. The error is the activity's, as it was journaled:
// its kind, text and mending step, not its Go type.
func (f Future[O]) Get(c Ctx) (O, error) {
	var out O
	c.backend.Await("", f.handle)
	data, err := f.handle.Outcome()
	if err != nil {
		return out, err
	}
	return out, decode(data, &out)
}

// Call runs an activity and waits for it. The result that it gives is the one
// that is journaled: decoded from the stored, redacted bytes.
func Call[I, O any](c Ctx, a Activity[I, O], key string, in I) (O, error) {
	return Start(c, a, key, in).Get(c)
}

// Start begins an activity.
func Start[I, O any](c Ctx, a Activity[I, O], key string, in I) Future[O] {
	return Future[O]{handle: c.backend.Start(Op{Kind: OpCall, Key: key, Name: a.Name, Input: encode(in)})}
}

// Signal is what comes from outside: a person's answer, a message.
type Signal[T any] struct{ Name string }

// Encode is a signal's payload for the sender, typed by the signal.
func Encode[T any](_ Signal[T], v T) ([]byte, error) { return json.Marshal(v) }

// Receive takes the next signal of that name which nobody has taken, in order
// of arrival, waiting for one if need be.
func Receive[T any](c Ctx, s Signal[T], key string) (T, error) {
	return Future[T]{handle: c.backend.Start(Op{Kind: OpReceive, Key: key, Name: s.Name})}.Get(c)
}

// Sleep waits for d of the host's time at work: time asleep or down does not
// count. A future error (there is none today) would be returned.
func Sleep(c Ctx, key string, d time.Duration) error {
	_, err := Future[None]{handle: c.backend.Start(Op{Kind: OpTimer, Key: key, Wait: d})}.Get(c)
	return err
}

// Now is the wall time when the branch first came here, UTC, in microseconds.
func Now(c Ctx, key string) time.Time {
	t, err := Future[time.Time]{handle: c.backend.Start(Op{Kind: OpNow, Key: key})}.Get(c)
	if err != nil {
		panic(fmt.Sprintf("flow: Now %q: %v", key, err)) // a backend's own bytes; the run stops
	}
	return t
}

// Go starts a branch: fn runs beside its caller, one of them at a time. Keys
// inside it are prefixed by its key. A branch that nobody waits for ends with
// the run's function.
func Go(c Ctx, key string, fn func(Ctx) error) Future[None] {
	run := c.run
	return Future[None]{handle: c.backend.Go(key, func(b Backend) error { return fn(NewCtx(run, b)) })}
}

// Case is one way in which a Select can go on.
type Case struct {
	handle Handle
	op     Op
	isOp   bool
}

// OnFuture is ready when f has its result, which Get then gives at once.
func OnFuture[O any](f Future[O]) Case { return Case{handle: f.handle} }

// OnSignal is ready while a signal of that name waits to be received. It does
// not take it: Receive does.
func OnSignal[T any](s Signal[T]) Case {
	return Case{isOp: true, op: Op{Kind: OpPeek, Name: s.Name}}
}

// OnTimer is ready d after the Select began.
func OnTimer(d time.Duration) Case { return Case{isOp: true, op: Op{Kind: OpTimer, Wait: d}} }

// Select waits until one of the cases is ready and returns its index, the
// lowest if several are. The choice is journaled under key.
func Select(c Ctx, key string, cases ...Case) (int, error) {
	if len(cases) == 0 {
		return 0, agency.Errorf(agency.KindInvalid, "%s: select without cases", key)
	}
	handles := make([]Handle, len(cases))
	for i, cs := range cases {
		handles[i] = cs.handle
		if cs.isOp {
			cs.op.Key = fmt.Sprintf("%s/case-%d", key, i)
			handles[i] = c.backend.Start(cs.op)
		}
	}
	chosen := c.backend.Await(key, handles...)
	for i, cs := range cases {
		if cs.isOp {
			handles[i].Cancel() // the timers that did not fire, the signals not waited for
		}
	}
	return chosen, nil
}

// Member is one branch of a Race. Its key names what it does, so
// that adding a member leaves the others' keys alone.
type Member struct {
	Key string
	Run func(Ctx) error
}

// Race runs the members beside each other until the first has ended, with or
// without an error, and returns its index and error. The others are then
// cancelled: their activities are told to stop and waited for, their branches
// unwind (deferred calls run) without going on.
func Race(c Ctx, key string, members ...Member) (int, error) {
	futures, cases := make([]Future[None], len(members)), make([]Case, len(members))
	for i, m := range members {
		futures[i] = Go(c, key+"/"+m.Key, m.Run)
		cases[i] = OnFuture(futures[i])
	}
	first, err := Select(c, key, cases...)
	if err != nil {
		return 0, err
	}
	for i, f := range futures {
		if i != first {
			f.handle.Cancel()
		}
	}
	for i, f := range futures {
		if i != first {
			c.backend.Await("", f.handle) // its activities have stopped
		}
	}
	_, err = futures[first].handle.Outcome()
	return first, err
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("flow: %T is not JSON: %v", v, err)) // a programming error; the run stops with it
	}
	return b
}

func decode(data []byte, v any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return agency.Errorf(agency.KindInternal, "journaled result does not fit %T: %w", v, err)
	}
	return nil
}
