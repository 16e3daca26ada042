package workspace

import (
	"errors"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/store"
)

// ViolationKind says what is wrong with a checkout.
type ViolationKind string

// The violations of a checkout. Each makes a claim on it fail by name.
const (
	GitReplaced ViolationKind = "git_replaced"      // .git at the root is not our empty mount point
	NestedGit   ViolationKind = "nested_repository" // a .git below the root, or a gitlink that the base does not have
	Filtered    ViolationKind = "filtered_path"     // a change to a path that the base hands to a filter such as LFS
	Submodule   ViolationKind = "submodule"         // a change inside of a submodule; it has been put back
	TooMuch     ViolationKind = "too_much"          // more than a tree should hold
	Unreadable  ViolationKind = "unreadable"        // something that git cannot take into a tree
	Encoded     ViolationKind = "encoded"           // a rule for the encoding of files that the base does not have
	Refused     ViolationKind = "refused"           // a tree that git does not take over into another repository
)

// Violation is something in a checkout that must not be there. The agent can mend
// it; the text says how.
type Violation struct {
	Kind  ViolationKind
	Paths []string
	Why   string // what git says, where it is not in the kind
}

// sentences say of each kind what stands around the paths.
var sentences = map[ViolationKind][2]string{
	GitReplaced: {"", " is not the empty folder that the harness put there"},
	NestedGit:   {"a git repository inside of the workspace cannot be part of the work: ", " (remove its .git)"},
	Filtered:    {"files kept by a git filter such as LFS cannot be changed here: ", " (restore them)"},
	Submodule:   {"submodules are read-only here, what was changed in them has been put back: ", ""},
	TooMuch:     {"more than can be part of the work, remove it: ", ""},
	Unreadable:  {"git cannot take the files of the workspace into a tree: ", ""},
	Encoded:     {"the encoding in which git keeps files cannot be changed here: ", " (" + encoding + " in .gitattributes: leave it as the base has it)"},
	Refused:     {"the user's git would not take over: ", " (remove or restore it)"},
}

func (f *Violation) Error() string {
	between := ", "
	if f.Kind == TooMuch || f.Kind == Refused { // whose paths come with reasons
		between = "; "
	}
	what := strings.Join(f.Paths, between)
	if f.Why != "" {
		what = strings.TrimSpace(what + " " + f.Why)
	}
	s := sentences[f.Kind]
	return s[0] + what + s[1]
}

// unreadable makes a violation of what git says about files that it cannot read,
// recode or name: a pipe, a file without the right to read, a name such as .GIT.
// What lies outside of the checkout, such as a full disk, stays as it is.
func unreadable(cause error) error {
	if s := (*git.Stuck)(nil); errors.As(cause, &s) {
		return &Violation{Kind: Unreadable, Paths: s.Paths, Why: "(pipes: remove them)"}
	}
	f := (*git.Failure)(nil)
	known := (*Violation)(nil)
	if store.IsFull(cause) || errors.As(cause, &known) || !errors.As(cause, &f) || says(f, outside) {
		return cause
	}
	if says(f, ofFiles) || f.Status > 0 && git.IsPlain(cause) && (f.Verb == "add" || f.Verb == "update-index") {
		return &Violation{Kind: Unreadable, Why: strings.TrimSpace(f.Stderr)}
	}
	return cause
}

// outside is what git says where disk, memory or our own folders are the cause,
// ofFiles what it says of files, whatever it did with them. Of all else the files
// are the cause where git was to take them in.
var (
	outside = []string{
		"No space left", "quota", "insufficient permission for adding an object", "nput/output error", "ut of memory", "annot allocate memory", "emory exhausted",
		"Too many open files", "Resource temporarily unavailable", "Stale file handle", "Transport endpoint", "Structure needs cleaning",
		"index file", "new index", "bad signature", "bad index", "temporary file", "not a git repository", "cannot run", "cannot fork", "unable to fork", "bad config",
		"unable to write", "unable to create", "loose object", "packfile", "object directory", "BUG:",
	}
	ofFiles = []string{
		"can only add regular files", "nvalid path", "unable to index file", "unable to stat",
		"failed to encode", "BOM is required", "BOM is prohibited", "working-tree-encoding",
	}
)

func says(f *git.Failure, texts []string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(f.Stderr, t) })
}

// Unwrap classes a violation as invalid.
func (f *Violation) Unwrap() error { return agency.Errorf(agency.KindInvalid, "workspace: %s", f.Kind) }
