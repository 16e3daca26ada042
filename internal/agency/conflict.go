package agency

// Conflict is why work could not be merged onto its parent branch: the paths
// that two sides changed, or a merged tree that failed its checks, with what
// either side meant. It goes back to the owner (DESIGN 8).
type Conflict struct {
	Head   OID      `json:"head"`   // of the parent branch, to work on
	Paths  []string `json:"paths"`  // that both sides changed; empty where the merged tree failed
	Ours   string   `json:"ours"`   // what this contract meant
	Theirs string   `json:"theirs"` // what landed meanwhile, a line each
	Detail string   `json:"detail,omitempty"`
	// With are the contracts whose landings changed the paths meanwhile.
	With []ContractID `json:"with,omitempty"`
}
