package flow

import (
	"encoding/json"
	"fmt"
	"time"

	"agency/internal/agency"
)

// Backend executes the primitives for one branch. It sees names, keys and
// bytes, never the types of activities and signals. A branch that must not go
// on (the run is interrupted, the branch cancelled) does not return from a
// call: it ends as by runtime.Goexit.
type Backend interface {
	// Start begins op and returns at once.
	Start(op Op) Handle
	// Await blocks the branch until one of the handles is settled and returns
	// the lowest index of those that are. The choice is journaled under key
	// unless key is empty.
	Await(key string, handles ...Handle) int
	// Go starts a branch whose keys begin with key.
	Go(key string, fn func(Backend) error) Handle
}

// Handle is something under way.
type Handle interface {
	// Outcome is the JSON of the result, or the error, once settled.
	Outcome() (json.RawMessage, error)
	// Cancel makes it end without a result. Cancelling what is settled does
	// nothing.
	Cancel()
}

// OpKind is what an Op does.
type OpKind string

// The closed set of operations.
const (
	OpCall    OpKind = "call"    // Name: activity, Input
	OpReceive OpKind = "receive" // Name: signal; settled with its payload, which it takes
	OpPeek    OpKind = "peek"    // Name: signal; settled while one waits
	OpTimer   OpKind = "timer"   // Wait
	OpNow     OpKind = "now"     // settled at once with the time
)

// Op is one operation of a branch.
type Op struct {
	Kind  OpKind
	Key   string
	Name  string
	Input json.RawMessage
	Wait  time.Duration
}

// Fault stops a run whose code no longer does what its journal says it did:
// another input under the same key, another order of steps, a key used twice.
// It opens a gate; nothing is lost, and the code that wrote the journal goes
// on with it.
type Fault struct {
	Run    agency.RunID
	Key    string
	Detail string
	// Recorded and Running are code versions; they differ when the run was
	// begun, or last worked on, by another version of the code, which is then
	// the likely cause.
	Recorded, Running string
}

func (f *Fault) Error() string {
	s := fmt.Sprintf("run %s, step %q: %s", f.Run, f.Key, f.Detail)
	if f.OtherVersion() {
		s += fmt.Sprintf(" (recorded by version %s, this is version %s)", f.Recorded, f.Running)
	}
	return s
}

// OtherVersion tells whether another version of the code wrote the journal.
func (f *Fault) OtherVersion() bool { return f.Recorded != f.Running }

// Interrupt ends a run for now: an activity could not be carried out because
// the world outside refused (KindTransient) or because it was stopped. The
// step is not journaled; the next Run of the same run carries it out again.
type Interrupt struct {
	Key agency.StepKey
	Err error
}

func (i *Interrupt) Error() string { return fmt.Sprintf("step %s: %v", i.Key, i.Err) }

// Unwrap gives the cause, and so its kind and mending step.
func (i *Interrupt) Unwrap() error { return i.Err }
