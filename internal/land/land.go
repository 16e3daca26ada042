// Package land moves branches of the user's repository, and nothing else does
// (docs/design.md, Workspaces and landing): it creates the run's branch, lands verified work on it, and at
// the end merges it into the target, even where that is checked out.
//
// Each move is a compare-and-swap with an intent row before it and the step's
// key in the commit, so that a process killed at any point neither loses nor
// repeats one. A merge into a checked-out branch touches no file that the user
// has changed; what stands in its way is named, with nothing touched.
//
// A landing is one claim on its way to its level, which is the run's branch or a
// line below it; batch several in one swap; merge is the final one, and checkouts are
// the user's worktrees that go along. A line is a ref of the run's private git
// directory: it lands, whole, on the level above.
//
// The package does not judge whether work is good: a Verifier is handed in.
package land

import (
	"context"

	"agency/internal/agency"
	"agency/internal/flow"
)

// The activities. Target performs the merge, Queue the others; Bind registers
// all.
var (
	BranchActivity = flow.Activity[BranchSpec, Branch]{Name: "land.branch"}
	Activity       = flow.Activity[Spec, Outcome]{Name: "land"}
	MergeActivity  = flow.Activity[MergeSpec, MergeOutcome]{Name: "land.merge"}
	FilesActivity  = flow.Activity[FilesSpec, Files]{Name: "land.files"}
	HeadActivity   = flow.Activity[BranchSpec, Branch]{Name: "land.head"}
	MoveActivity   = flow.Activity[MoveSpec, flow.None]{Name: "land.move"}
)

// BranchSpec asks for the run's branch at the run's base, or for a line at a commit of
// the level above it.
type BranchSpec struct {
	Run  agency.RunID `json:"run"`
	Base agency.OID   `json:"base"`
	Line string       `json:"line,omitempty"` // "": the run's branch
}

// MoveSpec asks that a line goes on to what its landing on the level above came to, or
// back to where it stood before work that the level above would not have.
type MoveSpec struct {
	Run  agency.RunID `json:"run"`
	Line string       `json:"line"`
	From agency.OID   `json:"from"` // where it stands: nothing has landed on it since
	To   agency.OID   `json:"to"`
}

// Branch is the run's branch, or a line.
type Branch struct {
	Ref  string     `json:"ref"` // full name
	Head agency.OID `json:"head"`
	Tree agency.OID `json:"tree,omitempty"` // of Head; where the head was asked for
	// Held says why the branch in the user's repository is not at Head; "" where
	// it is.
	Held string `json:"held,omitempty"`
}

// Spec asks for the landing of a claim: the tree of the workspace named like
// the contract, or of Workspace where that is set. With a Source and no tree it is what
// landed on that line that lands; with both, the tree brings the line together with what
// it could not land on.
type Spec struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Tree     agency.OID        `json:"tree,omitempty"`
	Line     string            `json:"line,omitempty"` // that it lands on; "": the run's branch
	// Source is a line, whose head is the second parent of the landing, so that its
	// landings stay in the history.
	Source    string `json:"source,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	// Of is a commit whose files the tree are: it becomes the second parent of the landing,
	// so that its history counts as landed.
	Of agency.OID `json:"of,omitempty"`
	// Lost is what the claim lost of a conflict that it resolves; it is recorded
	// with the landing.
	Lost []string `json:"lost,omitempty"`
}

// Outcome is how a landing ended. Exactly one of Landed, Conflict, Red and
// Refused is set; Reason says in a sentence why it did not land.
type Outcome struct {
	Landed   *Landed          `json:"landed,omitempty"`
	Conflict *agency.Conflict `json:"conflict,omitempty"` // also with Red: what landed meanwhile
	Red      *Red             `json:"red,omitempty"`
	Refused  *Refusal         `json:"refused,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	// Apart is set beside these where a whole line did not land.
	Apart *Apart `json:"apart,omitempty"`
}

// Apart is a line that could not land, for who brings both sides together.
type Apart struct {
	Head agency.OID `json:"head"` // of the level, a commit
	From agency.OID `json:"from"` // the commit at which the line left it
	Ours agency.OID `json:"ours"` // the files of the line, a tree
	// Merged are the files of both, a tree, with conflict marks where they conflict.
	Merged agency.OID `json:"merged"`
}

// Landed is work on its level. Already is set where an earlier try of
// the same step had landed it.
type Landed struct {
	Commit  agency.OID `json:"commit"`
	Tree    agency.OID `json:"tree"`
	Already bool       `json:"already,omitempty"`
	// Empty is set where the claim changes nothing: Commit is the head as it
	// was, and no commit was made.
	Empty bool `json:"empty,omitempty"`
	// Files are what the commit changed; nil where none was made.
	Files *agency.Files `json:"files,omitempty"`
	agency.MergeDetails
}

// Red is a merged tree that failed its checks.
type Red struct {
	Tree    agency.OID `json:"tree"`
	Reasons []string   `json:"reasons"`
}

// Cause says why a landing or a merge was refused with nothing touched.
type Cause string

// The causes.
const (
	CauseCaseCollision Cause = "case_clash" // two paths that differ only in case
	CauseNestedGit     Cause = "nested_git" // a gitlink that the base does not have
	CauseFiltered      Cause = "filtered"   // a path that the base hands to a filter such as LFS
	CauseReserved      Cause = "reserved"   // a name that another contract of the run holds
	CauseConflict      Cause = "conflict"   // target and run changed the same lines
	CauseNothing       Cause = "nothing"    // the target holds all of it already
	CauseUnrelated     Cause = "unrelated"  // the target was rewritten from its first commit on: it shares none with the run
	CauseOverlap       Cause = "overlap"    // local edits of the user are in the way
	CauseLocked        Cause = "locked"     // a lock of git stands in the user's repository
	CauseBusy          Cause = "busy"       // the target is in the middle of a merge, a rebase or the like
	CauseMissing       Cause = "missing"    // the target branch does not exist
	CauseUnborn        Cause = "no_branch"  // the run's branch does not exist
	CauseUnusual       Cause = "unusual"    // a checkout that cannot be written safely
	CauseSigner        Cause = "signer"     // the user signs commits, and the signer failed
	CauseOwner         Cause = "owner"      // the repository belongs to another user than this process
)

// Refusal is a closed reason with the paths, or the names, that it is about.
type Refusal struct {
	Cause Cause    `json:"cause"`
	Paths []string `json:"paths,omitempty"`
}

// MergeSpec asks for the final merge of the run's branch into a target.
type MergeSpec struct {
	Run agency.RunID `json:"run"`
	// Target is the short name of a branch.
	Target string `json:"target"`
	// Head is the commit of the run's branch that a person was shown and that was
	// verified: no other is merged. Empty: the one that the run left there.
	Head agency.OID `json:"head,omitempty"`
	// Verified is the Moved of an earlier call after the caller has verified
	// its tree: the merge is done only where target and branch still are there.
	// Nil means that the target must be where the run started.
	Verified *Moved `json:"verified,omitempty"`
}

// MergeOutcome is how a merge ended. Exactly one of Merged, Moved and Refused
// is set; with Refused, Reason is a sentence for a person that names what is in
// the way, and nothing has been touched. Mend is how to mend it then, or to merge
// what somebody moved by hand.
type MergeOutcome struct {
	Merged  *Merged  `json:"merged,omitempty"`
	Moved   *Moved   `json:"moved,omitempty"`
	Refused *Refusal `json:"refused,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Mend    string   `json:"mend,omitempty"`
}

// Merged is the run's work in the target. Already is set where an earlier try
// had merged it.
type Merged struct {
	Commit  agency.OID `json:"commit"`
	Already bool       `json:"already,omitempty"`
}

// Moved says that target or branch are not where they were when their merge was
// verified: Target and Head are where they are now, Tree what their merge would
// be.
type Moved struct {
	Target agency.OID `json:"target"`
	Head   agency.OID `json:"head,omitempty"`
	Tree   agency.OID `json:"tree"`
	// Why says what is different from what was shown, for people; "" where the
	// merge changes the target just as shown. ByHand is set where it is the
	// branch, which somebody moved.
	Why    string `json:"why,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"`
}

// Candidate is a merged tree on its way to its level.
type Candidate struct {
	Run      agency.RunID
	Contract agency.ContractID
	Step     agency.StepKey
	Head     agency.OID // the commit it goes on top of
	Claim    agency.OID // the tree that was claimed
	Tree     agency.OID // the merged tree; equal to Claim where nothing landed meanwhile
	// Structural are files that no merge of lines made: nothing that is known of
	// another tree, and no receipt, counts for this one.
	Structural []string
	// Criteria of the contracts that land have to hold on the merged tree as well.
	Criteria []agency.Criterion
	compared map[agency.Fence]bool // the reserved names that the change was compared with
	took     []agency.Fence        // those of its own contract that it takes
}

// Verifier runs the whole suite on a merged tree before it becomes the head of
// its level. Reasons is empty where it passes.
type Verifier interface {
	VerifyLanding(ctx context.Context, c Candidate) (reasons []string, err error)
}
