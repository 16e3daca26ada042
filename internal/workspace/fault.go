package workspace

import (
	"errors"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/store"
)

// FaultKind says what is wrong with a checkout.
type FaultKind string

// The faults of a checkout. Each makes a claim on it fail by name.
const (
	GitReplaced FaultKind = "git_replaced"      // .git at the root is not our empty mount point
	NestedGit   FaultKind = "nested_repository" // a .git below the root, or a gitlink that the base does not have
	Filtered    FaultKind = "filtered_path"     // a change to a path that the base hands to a filter such as LFS
	Submodule   FaultKind = "submodule"         // a change inside of a submodule; it has been put back
	Unreadable  FaultKind = "unreadable"        // something that git cannot take into a tree
)

// Fault is something in a checkout that must not be there. The agent can mend
// it; the text says how.
type Fault struct {
	Kind  FaultKind
	Paths []string
	Why   string // what git says, where it is not in the kind
}

func (f *Fault) Error() string {
	paths := strings.Join(f.Paths, ", ")
	switch f.Kind {
	case GitReplaced:
		return fmt.Sprintf("%s is not the empty folder that the harness put there", paths)
	case NestedGit:
		return fmt.Sprintf("a git repository inside of the workspace cannot be part of the work: %s (remove its .git)", paths)
	case Filtered:
		return fmt.Sprintf("files kept by a git filter such as LFS cannot be changed here: %s (restore them)", paths)
	case Submodule:
		return fmt.Sprintf("submodules are read-only here, what was changed in them has been put back: %s", paths)
	case Unreadable:
		return "git cannot take the files of the workspace into a tree: " + strings.TrimSpace(paths+" "+f.Why)
	default:
		return fmt.Sprintf("cannot be taken into a tree: %s", paths)
	}
}

// explain is the end of what used the index: a git that was killed leaves the
// lock of our own index behind, and nobody else uses it.
func (w *Workspace) explain(err error) error {
	if err != nil {
		err = errors.Join(unreadable(err), removeAll(w.index+".lock"))
	}
	return err
}

// unreadable makes a fault of what git says about files that it cannot read or
// name: a pipe, a file without the right to read, a name such as .GIT. What
// lies outside of the checkout, such as a full disk, stays as it is.
func unreadable(cause error) error {
	if s := (*git.Stuck)(nil); errors.As(cause, &s) {
		return &Fault{Kind: Unreadable, Paths: s.Paths, Why: "(pipes: remove them)"}
	}
	f := (*git.Failure)(nil)
	if store.IsFull(cause) || !errors.As(cause, &f) {
		return cause
	}
	for _, outside := range []string{"No space left", "quota", "insufficient permission for adding an object"} {
		if strings.Contains(f.Stderr, outside) {
			return cause
		}
	}
	for _, sign := range []string{"can only add regular files", "nvalid path", "unable to index file", "unable to stat"} {
		if strings.Contains(f.Stderr, sign) {
			return &Fault{Kind: Unreadable, Why: strings.TrimSpace(f.Stderr)}
		}
	}
	return cause
}

// Unwrap classes a fault as invalid.
func (f *Fault) Unwrap() error { return agency.Errorf(agency.KindInvalid, "workspace: %s", f.Kind) }
