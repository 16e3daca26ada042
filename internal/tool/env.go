package tool

import (
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/overseer"
	"agency/internal/sandbox/proxy"
)

// Env is everything that a tool may reach.
type Env struct {
	Files       *Files
	Commands    Commands
	Checks      Checks
	History     History
	Checkpoints Checkpoints
	Mail        Mail
	Decisions   Decisions
	Names       Names
	Artifacts   Artifacts
	Records     Records
	Team        Team
	Oversight   Oversight
	Pages       Pages // nil: the run may reach no host
	// Redact, where set, takes secrets of the host out of what a tool shows.
	Redact func([]byte) []byte
	Task
}

// Task is what the agent works on.
type Task struct {
	Contract agency.ContractID
	Criteria []string // the ids of its acceptance criteria
	Limits   ChangeLimits
}

// Mail sends what an agent writes to others of its run.
type Mail interface {
	// Send makes a message durable. KindNotFound, KindDenied and KindConflict say
	// why a recipient cannot have it: unknown, out of the role's reach, ended,
	// or with a full inbox.
	// Its To is an agent's id, a role, or agency.Everyone; empty: whoever wrote
	// what it answers. Who sends it, and its id, are not the agent's to say.
	Send(ctx context.Context, m agency.Message) (Sent, error)
	// Unheard is how many messages of people wait for the agent, which it has not been shown.
	Unheard(ctx context.Context) (int, error)
}

// Decisions are what the agents of a run decide together.
type Decisions interface {
	// Note takes a decision, or changes it where the version is still the one that the
	// agent has read, and gives who at work is told. KindConflict where it is decided
	// otherwise by now: current is what holds.
	Note(ctx context.Context, d agency.SharedDecision) (current agency.SharedDecision, told []agency.AgentID, err error)
	// List are those whose keys begin with a text, by key: of the run, and those that are
	// kept for its repository where the run has not decided otherwise.
	List(ctx context.Context, begins string) ([]agency.SharedDecision, error)
}

// Names are those of a run that only one of its contracts may take.
type Names interface {
	// Reserve gives the agent's contract a name. Where got is false another contract has it,
	// and the reservation is that one's.
	Reserve(ctx context.Context, r agency.Reservation) (now agency.Reservation, got bool, err error)
	// Release gives one back; given is false where nobody had it. KindDenied: another has it.
	Release(ctx context.Context, name string) (given bool, err error)
}

// Artifacts are what the tiers of a run hand to each other in words.
type Artifacts interface {
	// Publish writes one of the agent's contract. KindDenied where its role may not.
	Publish(ctx context.Context, kind agency.ArtifactKind, content string) (agency.Artifact, error)
	// Read are those of a kind, oldest first.
	Read(ctx context.Context, kind agency.ArtifactKind) ([]agency.Artifact, error)
	// Amend adds tiers to the path of a workstream, and gives the path. KindInvalid: there is
	// no such path; KindNotFound and KindDenied: it is no workstream, or not the agent's.
	Amend(ctx context.Context, m agency.PathAmendment) ([]agency.Tier, error)
}

// Sent is a message that is durable, and who at work may read it.
type Sent struct {
	ID        agency.MessageID
	Listeners []agency.AgentID
	// Within is when its sender is told that no answer came; 0: never.
	Within time.Duration
}

// Pages are those of the hosts that a run may reach.
type Pages interface {
	// Page asks for one; the error says why not, in words for an agent.
	Page(ctx context.Context, url string) (Page, error)
}

// Page is what a server answers, as package sandbox/proxy has it.
type Page = proxy.Page

// Commands runs what an agent typed, in the sandbox, in the workspace.
type Commands interface {
	Shell
	Background
}

// Shell runs lines to their end.
type Shell interface {
	// Command runs a shell line to its end; a timeout of zero is the run's
	// default. A command that fails is an Output;
	// the error says that the sandbox itself could not run.
	Command(ctx context.Context, line string, timeout time.Duration) (Output, error)
}

// Output is what a command did.
type Output struct {
	ExitCode int
	Cause    string // why it ended where not by itself: timeout, memory, ...; else empty
	Text     []byte // standard output and error as they came, head and tail
	Dropped  int64  // bytes left out of Text
	// Shell is what ran the line where that is not bash; empty: it was.
	Shell string
	// Long tells of an output that is too long to be shown; nil: it is not.
	Long *LongOutput
}

// Background are commands of the agent that go on while it does other things. They end when
// its session does or waits.
type Background interface {
	// Start starts a shell line, which has an id from then on. KindConflict: as many go on as
	// may.
	Start(ctx context.Context, line string) (id string, err error)
	// Output is what a command wrote since this was asked last. KindNotFound names those
	// that go on.
	Output(ctx context.Context, id string) (Going, error)
	// Stop ends a command with all that it has started; it answers as Output does.
	Stop(ctx context.Context, id string) (Going, error)
}

// Going is how a command in the background stands.
type Going struct {
	// Output has the end of what it wrote, whole lines without secrets; Dropped stands before.
	Output
	Ended bool
	Held  int // bytes of a line that it has begun, or that may be part of a secret
}

// Checks runs the repository's own commands.
type Checks interface {
	// Check runs the command of a kind, narrowed to target where that is not
	// empty, and records a receipt. KindNotFound: the run has no such command.
	Check(ctx context.Context, kind agency.CheckKind, target string) (agency.Receipt, error)
	// Cover runs the tests as Check does and measures what they reach.
	Cover(ctx context.Context, target string) (agency.Receipt, error)
	// Coverage is what the last Cover measured. KindNotFound: nothing has been.
	Coverage(ctx context.Context) ([]check.FileCoverage, error)
}

// History compares the workspace with where the contract began.
type History interface {
	// Diff is the unified diff from the contract's base to the files as they
	// are, of one path or of all where it is empty.
	Diff(ctx context.Context, path string) (string, error)
	// Log is the history before the contract's base, newest first, at most n
	// commits.
	Log(ctx context.Context, path string, n int) (string, error)
	// Changed are the files that differ from the contract's base.
	Changed(ctx context.Context) ([]git.Change, error)
	// Sizes are the same files with what changed in them and what they hold.
	Sizes(ctx context.Context) ([]FileSize, error)
}

// Checkpoint is a named tree of the workspace.
type Checkpoint struct {
	ID    string
	Label string
	Tree  agency.OID
}

// Checkpoints names trees and goes back to them.
type Checkpoints interface {
	Create(ctx context.Context, label string) (Checkpoint, error)
	// Rollback makes the workspace's files those of the checkpoint.
	// KindNotFound names the checkpoints that there are.
	Rollback(ctx context.Context, id string) (Checkpoint, error)
}

// Records are what the run knows of an agent's contract and of features.
type Records interface {
	// Asked looks a question up, and tells how many may still be asked.
	Asked(ctx context.Context, question string) (Asked, error)
	// MayHandOver tells whether an agent may hand its contract over, MayAsk whether
	// it may ask for a change of what it tests: the error says why not.
	MayHandOver(ctx context.Context, to agency.RoleID) error
	MayAsk(ctx context.Context) error
	// Progress is every contract that belongs to a feature, in the plan's order, each
	// with the proofs of its last passing verdict.
	Progress(ctx context.Context, id agency.FeatureID) ([]TeamContract, error)
}

// Asked is what the record says.
type Asked struct {
	Answer string // to the same question; empty: it was not asked, or not answered
	By     string
	Most   int // questions of one attempt
	Left   int
}

// Team knows the contracts of a plan: those that are only noted, and those that
// agents work on.
type Team interface {
	// Contract gives one of the team's contracts. Its error of KindNotFound lists the
	// ids that there are.
	Contract(ctx context.Context, id agency.ContractID) (TeamContract, error)
	// Contracts are all of them, as Contract gives them without receipts.
	Contracts(ctx context.Context) ([]TeamContract, error)
}

// TeamContract is a contract with what the harness knows of the work on it.
type TeamContract struct {
	agency.Contract
	Noted    bool            // not started: nobody but its author knows of it
	Agent    agency.AgentID  // empty where it is only noted
	Verdict  *agency.Verdict // the last one; nil: no claim was verified
	Receipts []agency.Receipt
	Reviews  []agency.Review
	Proofs   []agency.Proof // of what landed
}

// Oversight is what the model-backed overseer is shown of the agents of its run, and
// how it steps in.
type Oversight interface {
	// View is what is known of an agent at work. KindNotFound names those that there
	// are.
	View(ctx context.Context, agent agency.AgentID) (overseer.View, error)
	// History is what the log tells of an agent of late, a line an event, oldest first.
	History(ctx context.Context, agent agency.AgentID) ([]string, error)
	// Step nudges, halts or escalates, once for what was flagged, and says what came
	// of it. KindConflict: why not.
	Step(ctx context.Context, agent agency.AgentID, action overseer.Action, words string) (string, error)
}

// FileSize is a file that differs from the contract's base: the lines that
// changed, and what it holds now.
type FileSize struct {
	Path           string
	Added, Deleted int
	Lines          int // as it is now
	Bytes          int64
	Binary         bool // it has no lines
	Gone           bool
}

// ChangeLimits are the most that a contract should change; 0 is no limit.
type ChangeLimits struct{ Files, Lines int }
