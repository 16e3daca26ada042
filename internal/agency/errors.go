package agency

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
