package agency

// DangerKind is a way in which a call of an agent can do harm.
type DangerKind string

// The kinds of danger.
const (
	DangerEscape    DangerKind = "escape"          // something that the sandbox refused
	DangerSecret    DangerKind = "secret"          // a secret of the host in what was printed
	DangerDeletion  DangerKind = "mass_deletion"   // much of the workspace is deleted
	DangerHistory   DangerKind = "history_rewrite" // commits or the repository itself are rewritten
	DangerInjection DangerKind = "injection"       // outside text that gives the agent orders
)
