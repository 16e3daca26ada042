package workspace

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// FaultKind says what is wrong with a checkout.
type FaultKind string

// The faults of a checkout. Each makes a claim on it fail by name.
const (
	GitReplaced FaultKind = "git_replaced"      // .git at the root is not our empty mount point
	NestedGit   FaultKind = "nested_repository" // a .git below the root, or a gitlink that the base does not have
	Filtered    FaultKind = "filtered_path"     // a change to a path that the base hands to a filter such as LFS
	BadIgnore   FaultKind = "unreadable"        // something that git cannot take into a tree
)

// Fault is something in a checkout that must not be there. The agent can mend
// it; the text says how.
type Fault struct {
	Kind  FaultKind
	Paths []string
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
	default:
		return fmt.Sprintf("cannot be taken into a tree: %s", paths)
	}
}

// Unwrap classes a fault as invalid.
func (f *Fault) Unwrap() error { return agency.Errorf(agency.KindInvalid, "workspace: %s", f.Kind) }
