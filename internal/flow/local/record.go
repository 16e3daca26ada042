package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"agency/internal/agency"
)

// Kind is what a record says.
type Kind string

// The closed set of records. Commands are what the code did, deliveries what
// came to it.
const (
	KindCode    Kind = "code"    // Name: the version of the code from here on
	KindCall    Kind = "call"    // command: activity Name begun with the input of Hash
	KindReceive Kind = "receive" // command: a signal Name is wanted
	KindTimer   Kind = "timer"   // command: a timer of the duration of Hash
	KindNow     Kind = "now"     // command: Data is the time
	KindSelect  Kind = "select"  // command: Choice was made
	KindGo      Kind = "go"      // command: a branch was started
	KindCancel  Kind = "cancel"  // command: a branch or call was cancelled
	KindEnd     Kind = "end"     // command: the run's function returned
	KindDone    Kind = "done"    // delivery: the call Key has a result
	KindSignal  Kind = "signal"  // delivery: the signal Name with the id Key came
	KindFired   Kind = "fired"   // delivery: the timer Key fired
)

// Record is one entry of a history.
type Record struct {
	Kind   Kind            `json:"kind"`
	Key    string          `json:"key,omitempty"`
	Name   string          `json:"name,omitempty"`
	Hash   string          `json:"hash,omitempty"`
	Choice int             `json:"choice,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	Error  *Failure        `json:"error,omitempty"`
}

// Failure is an error as it is journaled.
type Failure struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Mend string `json:"mend,omitempty"`
	// Cancelled: the call was cancelled by its run and has stopped.
	Cancelled bool `json:"cancelled,omitempty"`
}

// ErrCancelled is the outcome of what the run itself has cancelled.
var ErrCancelled = errors.New("cancelled by its run")

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	return &Failure{Kind: agency.KindOf(err).String(), Text: err.Error(), Mend: agency.MendOf(err)}
}

// err is the error as the run sees it, live and in replay alike.
func (f *Failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Cancelled:
		return ErrCancelled
	}
	e := agency.Errorf(agency.ParseKind(f.Kind), "%s", f.Text)
	e.Mend = f.Mend
	return e
}

func (r Record) delivery() bool {
	return r.Kind == KindDone || r.Kind == KindSignal || r.Kind == KindFired
}

// matches compares a command with a recorded one. Data is the record's to
// give, not to compare.
func (r Record) matches(want Record) bool {
	return r.Kind == want.Kind && r.Key == want.Key && r.Name == want.Name &&
		r.Hash == want.Hash && r.Choice == want.Choice
}

func (r Record) String() string {
	s := fmt.Sprintf("%s %q", r.Kind, r.Key)
	if r.Name != "" {
		s += " of " + r.Name
	}
	if r.Kind == KindSelect {
		s += fmt.Sprintf(" choosing %d", r.Choice)
	}
	return s
}

// hashInput is the SHA-256 of the canonical form: keys sorted, no spaces,
// numbers as they were written.
func hashInput(raw json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
