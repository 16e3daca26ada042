package agency

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agency/internal/text"
)

// Kind classes an error by who can mend it. It is set once, where the error
// enters the program, and read only by the retry policy, the HTTP status and
// the exit code.
type Kind uint8

// The closed set of kinds. The zero Kind is KindInternal, so that an
// unclassified error is treated as the program's own fault.
const (
	KindInternal  Kind = iota // the program is at fault
	KindInvalid               // what was typed or configured is wrong
	KindNotFound              // what was named does not exist
	KindConflict              // something else got there first
	KindDenied                // not allowed
	KindExhausted             // a limit that a person has set is reached
	KindTransient             // the world outside refused: provider, network, disk, kernel
)

var kindNames = [...]string{"internal", "invalid", "not_found", "conflict", "denied", "exhausted", "transient"}

// String is the kind's name on the wire.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "internal"
}

// ParseKind is the inverse of String; unknown names are KindInternal.
func ParseKind(s string) Kind {
	return Kind(max(slices.Index(kindNames[:], s), 0)) // internal is the first
}

// Error is the one error type with a kind. Mend, where there is one, is the
// command or step that mends it, shown to the user on a line of its own.
type Error struct {
	Kind Kind
	Mend string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind; %w wraps as in fmt.Errorf.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// WithMend adds the mending step and returns the error.
func (e *Error) WithMend(format string, args ...any) *Error {
	e.Mend = fmt.Sprintf(format, args...)
	return e
}

// KindOf is the kind of the outermost Error in the chain, KindInternal where
// there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// MendOf is the first mending step in the chain, or "".
func MendOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Mend != "" {
			return e.Mend
		}
		err = e.Err
	}
	return ""
}

// Cause is the cause of a failed system call without the call's name, which tells
// people nothing.
func Cause(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// FailureKind is what kind of cause work failed by.
type FailureKind string

// The kinds.
const (
	FailedChecks       FailureKind = "checks"       // claims that do not hold
	FailedSession      FailureKind = "session"      // an agent that ended without a claim
	FailedBlocked      FailureKind = "blocked"      // an agent that says that it cannot go on
	FailedDanger       FailureKind = "danger"       // an agent that was halted for danger
	FailedReview       FailureKind = "review"       // a critic, a verifier or a visionary who does not accept it
	FailedConflict     FailureKind = "conflict"     // others changed the same
	FailedDependencies FailureKind = "dependencies" // what it asks for is not installed
	FailedNothing      FailureKind = "nothing"      // an agent that changed nothing
	FailedRejected     FailureKind = "rejected"     // a person
	FailedBudget       FailureKind = "budget"
	FailedPlan         FailureKind = "plan"
	FailedTarget       FailureKind = "target" // what stands in the target
	FailedAnswer       FailureKind = "answer" // an agent of a file
	FailedFault        FailureKind = "fault"  // the harness or its machine, at a gate that was rejected
	FailedOther        FailureKind = "other"
	// What is no failure of the work: the run was cut off, or ended by a person.
	FailedStopped   FailureKind = "stopped"   // its host was
	FailedCrashed   FailureKind = "crashed"   // its host died
	FailedOutside   FailureKind = "outside"   // a provider, a disk, the machine
	FailedCancelled FailureKind = "cancelled" // a person
)

// Failure is why work failed for good, or a run was interrupted or cancelled: its first cause. What failed after it, because of it
// or in another attempt at the same, is told where the work is looked at.
type Failure struct {
	Kind     FailureKind `json:"kind"`
	Cause    string      `json:"cause,omitempty"`       // without what the kind says
	Contract ContractID  `json:"contract_id,omitempty"` // that it happened to
	Attempt  int         `json:"attempt,omitempty"`     // and at which of its attempts
	Used     int         `json:"used,omitempty"`        // attempts, where all are
	Last     string      `json:"last,omitempty"`        // what the last of them failed by, where that is another cause
	Team     bool        `json:"team,omitempty"`        // others were worked on beside it
	// BudgetUSD is the smallest limit in dollars that would have held the request that was
	// refused, where that is what was used up.
	BudgetUSD float64 `json:"budget_usd,omitempty"`
}

// failureWords are what a kind says before its cause, and what to look at; "" is the run.
var failureWords = map[FailureKind]struct{ says, look string }{
	FailedChecks:       {"the work does not hold", " --checks"},
	FailedSession:      {"the agent ended without a claim", transcriptFlag},
	FailedBlocked:      {"the agent could not go on", transcriptFlag},
	FailedDanger:       {"the agent was halted", transcriptFlag},
	FailedReview:       {"the work was not accepted", ""},
	FailedConflict:     {"the work meets what others changed", ""},
	FailedDependencies: {"what the work needs cannot be installed", ""},
	FailedNothing:      {"", transcriptFlag},
	FailedRejected:     {"a person rejected it", ""},
	FailedBudget:       {"the budget does not hold the next request", " --report"},
	FailedPlan:         {"no valid plan came", transcriptFlag},
	FailedTarget:       {"", ""},
	FailedAnswer:       {"no answer came", ""},
	FailedFault:        {"a person ended it at a fault", ""},
	FailedOther:        {"", ""},
	FailedStopped:      {"", ""},
	FailedCrashed:      {"", ""},
	FailedOutside:      {"", ""},
	FailedCancelled:    {"", ""},
}

// transcriptFlag is where what the agent said is to be looked at.
const transcriptFlag = " --transcript "

// longestCause is how much of a cause is told, in characters.
const longestCause = 400

// Sentence is the failure for people, in one line.
func (f Failure) Sentence() string {
	s, cause := failureWords[f.Kind].says, strings.TrimRight(text.OneLine(f.Cause, longestCause), ".;: ")
	if s != "" && cause != "" {
		s += ": "
	}
	s = cmp.Or(s+cause, "it failed, and nothing says why")
	if f.Team && f.Contract != "" && f.Kind != FailedBudget { // that is the whole run's
		s = string(f.Contract) + ": " + s
	}
	switch {
	case f.Used > 0 && f.Kind == FailedPlan:
		s += "; " + AllUsed(f.Used, " at a plan")
	case f.Used > 0:
		s += "; " + AllUsed(f.Used, "")
	}
	if f.Last != "" {
		s += ", the last one: " + text.OneLine(f.Last, longestCause)
	}
	return s
}

// Step is a command for a person, with what it is for.
type Step struct {
	Does    string `json:"does"`
	Command string `json:"command"`
}

// Next is what a person may do about a run that stands still without a gate, the first to
// understand it, the last to go on. Each is a command that works as it stands, or with the
// person's own words in the place of those in quotes.
func (r Run) Next() []Step {
	id := string(r.ID)
	look := Step{"see why with", "agency inspect " + id}
	switch {
	case r.State == StatePaused:
		return []Step{{"go on with", "agency resume " + id}}
	case r.State == StateInterrupted:
		return []Step{look, {"go on with", "agency resume " + id}}
	case r.State == StateCancelled && r.Mode != ModeAgent && !r.Dry:
		return []Step{look, {"go on with", r.goOn("what is wanted now")}}
	case r.State == StateCancelled:
		return []Step{look}
	case r.State != StateFailed:
		return nil
	}
	f := r.failure()
	switch flag := failureWords[f.Kind].look; {
	case flag == transcriptFlag && f.Contract != "" && r.Mode != ModeAgent:
		look.Command += flag + fmt.Sprintf("%s/attempt-%d", f.Contract, max(f.Attempt, 1))
	case flag != transcriptFlag:
		look.Command += flag
	}
	switch former := r.Follows; {
	case r.Mode == ModeAgent:
		return []Step{look, {"ask again with", r.askAgain(f)}}
	case r.Dry:
		return []Step{look}
	case f.Kind == FailedTarget && former != nil && former.Rebase:
		return []Step{look, {"mend it, then", "agency resume " + string(former.Run) + " --rebase"}}
	case f.Kind == FailedTarget && former != nil && former.What == FollowLand:
		return []Step{look, {"mend it, then", "agency merge " + string(former.Run)}}
	case f.Kind == FailedTarget && former != nil && former.What == FollowUndo:
		return []Step{look}
	case f.BudgetUSD > 0:
		return []Step{look, {"go on with a budget that holds that request", r.goOn("go on") + " --budget " + USD(f.BudgetUSD).Typed()}}
	}
	return []Step{look, {"go on with", r.goOn(cmp.Or(failureHints[f.Kind], "what to do about it"))}}
}

// failureHints are the words that a person gives who goes on.
var failureHints = map[FailureKind]string{
	FailedChecks: "how to mend it", FailedSession: "go on", FailedBudget: "go on", FailedBlocked: "what it lacked", FailedReview: "what counts",
	FailedNothing: "what is missing", FailedRejected: "what to do instead", FailedPlan: "the goal in smaller steps",
}

// GuideAgent answers questions about a repository (agency ask).
const GuideAgent = "repository-guide"

// askAgain asks the agent of a run that failed once more.
func (r Run) askAgain(f Failure) string {
	command := "agency run --agent " + r.Agent + ` "the input"`
	if r.Agent == GuideAgent {
		command = `agency ask "the question"`
	}
	if f.Kind == FailedBudget {
		command += " --budget USD"
	}
	return command
}

func (r Run) goOn(words string) string {
	return fmt.Sprintf("agency run --continue %s %q", r.ID, words)
}

// failure is why a run failed; of one that an older build ended only its reason is known.
func (r Run) failure() Failure {
	if r.Failure == nil {
		return Failure{Kind: FailedOther, Cause: r.Reason}
	}
	return *r.Failure
}
