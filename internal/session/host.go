package session

import (
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/tool"
)

// Host is what the process that owns the run gives its sessions. The fence of
// their writes comes with the activity's context (flow.ScopeOf).
type Host interface {
	// Setup is what the run's own copy of the configuration says for a session.
	Setup(ctx context.Context, spec Spec) (Setup, error)
	// Desk opens the contract's workspace. The session closes its Files.
	Desk(ctx context.Context, spec Spec) (*Desk, error)
	// Cancelled is closed when a person cancels the run: the session ends its
	// turn at once as Stopped. A nil channel never is.
	Cancelled(run agency.RunID) <-chan struct{}
}

// Setup is the configuration of one session.
type Setup struct {
	// Model answers; retries and the fallback list are already in it, so that its
	// events and answers say who is asked and who answered.
	Model llm.Model
	// Models is that list as configured, provider/model, in order; never empty.
	Models []string
	// Window is the context window in tokens; 0 where nobody knows it.
	Window int64
	// Prices are those of the models that may answer.
	Prices budget.Tariff
	Limits roster.Limits
	// Repo is the user's repository path, at which the agent sees its files.
	Repo     string
	Network  bool
	Commands check.Commands
	// Shared are the globs of files whose change by several contracts is no
	// matter.
	Shared []string
	// Rules hold for the plan of a session that ends by one.
	Rules agency.PlanRules
	// Context bounds what is staged for a contract.
	Context staging.Limits
	// RespondWithin is in what time a question to another agent is to be answered
	// where its sender names no time; 0: whenever.
	RespondWithin time.Duration
	// Parent is the budget node above the session's; empty: budget.Root.
	Parent string
}

// Desk is a workspace with what the tools of a session reach.
type Desk struct {
	Files    *tool.Files
	Commands tool.Commands
	Checks   tool.Checks
	History  tool.History
	Tree     Tree
	// Recent are the files of recent commits before the contract, newest first;
	// nil where nobody asks for a staged context.
	Recent func(context.Context) ([][]string, error)
}

// Tree is a workspace's content as git trees.
type Tree interface {
	// Snapshot names the files as they are; ignored files do not count.
	// KindInvalid: the workspace holds what would make a claim worthless, such as
	// a nested .git, and the text says how to mend it.
	Snapshot(ctx context.Context) (agency.OID, error)
	// Restore makes the files those of a tree.
	Restore(ctx context.Context, tree agency.OID) error
	// Checkpoint names a snapshot; the same id again is the first one's.
	Checkpoint(ctx context.Context, id, label string) (tool.Checkpoint, error)
	// Rollback restores a checkpoint; KindNotFound names those that there are.
	Rollback(ctx context.Context, id string) (tool.Checkpoint, error)
}
