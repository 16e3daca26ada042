package agency

import (
	"slices"
	"strconv"
	"strings"
)

// Unshared are the files whose change by several contracts matters: those that
// no shared glob matches.
func Unshared(files, shared []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return isShared(f, shared) })
}

// Parts are the files of which a contract declares symbols only: beside one
// that declares other symbols it was meant to change the same file.
func Parts(c Contract, files []string) []string {
	declared := c.WriteSet()
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		whole := slices.ContainsFunc(declared, func(w string) bool {
			file, _, symbol := strings.Cut(w, "#")
			return !symbol && MatchPath(file, f)
		})
		symbols := slices.ContainsFunc(declared, func(w string) bool { return strings.HasPrefix(w, f+"#") })
		return whole || !symbols
	})
}

// Landing is a contract that waits to land, and the files that its agent has
// changed.
type Landing struct {
	Contract Contract
	Edited   []string
}

// LandingOrder is the order in which landings go that wait for each other, by
// their places in the list: who changed a file without declaring it goes after
// the one that declares it, so that what does not go together comes back to who
// strayed (docs/design.md, Contracts). All else stays in line.
func LandingOrder(waiting []Landing, shared []string) []int {
	left := make([]int, len(waiting))
	for i := range left {
		left[i] = i
	}
	follows := func(i, j int) bool {
		return strays(waiting[i], waiting[j], shared) && !strays(waiting[j], waiting[i], shared)
	}
	var out []int
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(i int) bool {
			return !slices.ContainsFunc(left, func(j int) bool { return follows(i, j) })
		})
		next = max(next, 0) // a circle: who came first
		out, left = append(out, left[next]), slices.Delete(left, next, next+1)
	}
	return out
}

// strays tells whether one has changed what only the other declares.
func strays(a, b Landing, shared []string) bool {
	if a.Contract.ID == b.Contract.ID {
		return false
	}
	for _, f := range Undeclared(a.Contract, a.Edited, shared) {
		if _, _, meets := Overlap(b.Contract.WriteSet(), []string{f}, nil); meets {
			return true
		}
	}
	return false
}

// Leftover is a new file of a claim that its contract does not name: no declared
// write, expected output or criterion does.
type Leftover struct {
	Path string `json:"path"` // or a folder, with a trailing slash
	// Why says as what it looks left behind, such as "a backup"; empty for a
	// file that may well belong to the work.
	Why string `json:"why,omitempty"`
}

// String is the line that people and agents read.
func (l Leftover) String() string {
	s := l.Path
	if q := strconv.Quote(s); q != `"`+s+`"` {
		s = q
	}
	if l.Why != "" {
		s += " (" + l.Why + ")"
	}
	return s
}

// Conflict is why work could not be merged onto its parent branch: the paths
// that two sides changed, or a merged tree that failed its checks, with what
// either side meant. It goes back to the owner (docs/design.md, Workspaces and landing).
type Conflict struct {
	Head   OID      `json:"head"`   // of the parent branch, to work on
	Paths  []string `json:"paths"`  // that both sides changed; empty where the merged tree failed
	Ours   string   `json:"ours"`   // what this contract meant
	Theirs string   `json:"theirs"` // what landed meanwhile, a line each
	Detail string   `json:"detail,omitempty"`
	// OursDiff and TheirsDiff are what either side did to the paths, or to all
	// files where none are named; cut where they are long.
	OursDiff   string `json:"ours_diff,omitempty"`
	TheirsDiff string `json:"theirs_diff,omitempty"`
	// With are the contracts whose landings changed the paths meanwhile.
	With []ContractID `json:"with,omitempty"`
}

// LandingLevel is what work lands on: the run's branch, or a line below it on which the
// work of a tiered run comes together first (docs/design.md, Tiers).
type LandingLevel string

// The levels, from below.
const (
	OnWorkstream  LandingLevel = "workstream"  // the tasks of one
	OnIntegration LandingLevel = "integration" // the workstreams of one domain
	OnRun         LandingLevel = "run"         // the run's branch
)

// MergeDetails says how a landing went together with others.
type MergeDetails struct {
	// Structural are the files that lines alone would not have merged.
	Structural []string `json:"structural,omitempty"`
	// Batch is how many landings were verified as one tree and moved the branch
	// at once, where it was more than one.
	Batch int `json:"batch,omitempty"`
	// Lost are lines of either side of a conflict of which its resolution has no
	// trace, each behind its path.
	Lost []string `json:"lost,omitempty"`
	// Checked is the tree whose checks let it land: its own, or that of its batch.
	Checked OID `json:"checked_tree,omitempty"`
}
