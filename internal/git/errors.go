package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"agency/internal/agency"
	"agency/internal/regexp"
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

// Failure is a git command that ended with a status other than zero.
type Failure struct {
	Verb   string // the git command, such as "update-ref"
	Status int    // -1: killed
	Stderr string // the end of what it said
}

func (f *Failure) Error() string {
	msg := strings.TrimSpace(f.Stderr)
	if msg == "" {
		msg = fmt.Sprintf("status %d", f.Status)
	}
	return "git " + f.Verb + ": " + msg
}

// fatal tells a command that broke off from one that answers no by its status.
func (f *Failure) fatal() bool { return f.Status < 0 || f.Status >= 128 }

func full(f *Failure) error {
	return agency.Errorf(agency.KindTransient, "disk full: %w", &noSpace{f}).WithMend("free space on the disk of the path named above")
}

// noSpace is a failure that a full disk caused, whatever git called it.
type noSpace struct{ *Failure }

// Is tells that the cause is the operating system's.
func (*noSpace) Is(target error) bool { return target == syscall.ENOSPC }

// Unwrap gives what git said.
func (n *noSpace) Unwrap() error { return n.Failure }

// missing is a failure for want of an object.
type missing struct{ *Failure }

// Unwrap gives what git said.
func (m *missing) Unwrap() error { return m.Failure }

// IsMissing tells that an object is not where it should be: the repository is
// damaged, partial, or away for a moment. It is no fact of the step that met
// it, so that a run can go on when it is back.
func IsMissing(err error) bool {
	var m *missing
	return errors.As(err, &m)
}

// IsPlain tells a failure of git behind which no cause outside of the command is
// known, such as a disk, rights or a lock.
func IsPlain(err error) bool {
	var f *Failure
	return errors.As(err, &f) && agency.KindOf(err) == agency.KindInternal
}

// classify names the causes that lie outside: disk, rights, stale locks.
func classify(f *Failure) error {
	switch s := f.Stderr; {
	case badConfig.MatchString(s):
		m := badConfig.FindStringSubmatch(s)
		return agency.Errorf(agency.KindInvalid, "the git configuration cannot be read: %w", f).
			WithMend("correct %s, or take its include out of the repository's .git/config", filepath.Clean(m[1]+m[2]))
	case strings.Contains(s, "No space left on device"), strings.Contains(s, "Disk quota exceeded"):
		return full(f)
	case strings.Contains(s, "Permission denied"), strings.Contains(s, "Read-only file system"), strings.Contains(s, "insufficient permission"):
		return agency.Errorf(agency.KindTransient, "no right to write: %w", f).WithMend("give your user the right to write the path named above")
	case extensionForm.MatchString(s):
		return agency.Errorf(agency.KindInvalid, "the repository is kept in a form that this git does not know (%s): %w", extensionForm.FindStringSubmatch(s)[1], f).
			WithMend("install a git that knows it")
	case lockForm.MatchString(s):
		lock := lockForm.FindStringSubmatch(s)[1]
		return &Locked{Path: lock, Err: f}
	case strings.Contains(s, "unable to read tree"), strings.Contains(s, "unable to read "), strings.Contains(s, "cannot read object"), strings.Contains(s, "bad object"),
		strings.Contains(s, "missing blob"), strings.Contains(s, "invalid object"), strings.Contains(s, "object file"):
		return agency.Errorf(agency.KindTransient, "an object is missing: %w", &missing{f}).WithMend("git fsck names what is missing; a partial clone or a damaged one must be completed first (git fetch --refetch --no-filter)")
	}
	return f
}

var errOver = errors.New("output over its cap")

// IsTooLong tells that what was asked for has more bytes than were allowed.
func IsTooLong(err error) bool { return errors.Is(err, errOver) }

// Stuck is a command that was ended because it waits for a pipe: git opens
// what bears the name of one of its own files, such as .gitignore, whatever it
// is, and opening a pipe that nobody writes to never returns.
type Stuck struct {
	Paths []string // below the work tree, with slashes
}

func (s *Stuck) Error() string {
	return fmt.Sprintf("%s is a pipe, which git would wait for", strings.Join(s.Paths, ", "))
}

// Unwrap classes a pipe as invalid.
func (s *Stuck) Unwrap() error {
	return agency.Errorf(agency.KindInvalid, "pipes among the files").WithMend("remove the pipes")
}
