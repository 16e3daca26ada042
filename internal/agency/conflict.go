package agency

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
