package git

import (
	"fmt"
	"regexp"

	"agency/internal/agency"
)

// Locked is a lock file of git that stands in the way: another git at work,
// or one that died.
type Locked struct {
	Path string
	Err  error
}

var lockForm = regexp.MustCompile(`(?:Unable|unable) to create '([^'\n]+\.lock)': File exists`)

// badConfig names the file of a configuration that git gives up on: a line of
// it is none, or it may not be read.
var badConfig = regexp.MustCompile(`bad (?:[a-z]+ )?config (?:line|variable|value)[^\n]*? in file '?([^\n':]+)|unable to access '([^'\n]+)': Permission denied`)

var extensionForm = regexp.MustCompile(`unknown repository extensions? found:\s+(\S+)`)

func (l *Locked) Error() string {
	return fmt.Sprintf("%s exists: another git is at work there, or one has died", l.Path)
}

// Unwrap classes a lock as a conflict and gives the mending step.
func (l *Locked) Unwrap() error {
	return agency.Errorf(agency.KindConflict, "%w", l.Err).WithMend("rm '%s' (when no git command is running)", l.Path)
}

// Moved is a ref that is not where the caller expected it. An empty OID
// stands for a ref that does not exist.
type Moved struct {
	Ref       string
	Want, Got agency.OID
}

func (m *Moved) Error() string {
	return fmt.Sprintf("%s is at %s, expected %s", m.Ref, orNone(m.Got), orNone(m.Want))
}

// Unwrap classes a moved ref as a conflict.
func (m *Moved) Unwrap() error {
	return agency.Errorf(agency.KindConflict, "compare-and-swap of %s", m.Ref)
}

// Blocked is a ref that cannot be created because another ref's name is a
// folder of it, or the other way round.
type Blocked struct{ Ref, By string }

func (b *Blocked) Error() string {
	return fmt.Sprintf("%s cannot be created: %s exists", b.Ref, b.By)
}

// Unwrap classes a blocked ref as a conflict.
func (b *Blocked) Unwrap() error {
	return agency.Errorf(agency.KindConflict, "creating %s", b.Ref)
}

func orNone(id agency.OID) string {
	if id == "" {
		return "nothing"
	}
	return string(id)
}

// Vanished is an object that a ref was to point to and that the repository does
// not have any more: somebody has collected what no ref named yet.
type Vanished struct{ ID agency.OID }

func (v *Vanished) Error() string {
	return "object " + string(v.ID) + " is gone from the repository (git gc --prune=now?)"
}

// Unwrap classes it as a matter of the world outside.
func (v *Vanished) Unwrap() error {
	return agency.Errorf(agency.KindTransient, "an object was collected before a ref named it")
}
