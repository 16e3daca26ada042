package agency

import (
	"fmt"
	"time"
)

// Stages of checks (check.Stage): on what a work began from, which say nothing of the
// work, and those that an agent asks for on its own.
const (
	StageBase = "base"
	StageWork = "work"
)

// What a verdict comes to.
const (
	VerdictPass = "pass"
	VerdictFail = "fail"
)

// String says it as a part of a sentence: "gpu (1 of 1 in use)".
func (w ResourceWaited) String() string {
	return fmt.Sprintf("%s (%d of %d in use)", w.Resource, w.InUse, w.Of)
}

// The details of events, one type for each word.
type (
	// RunStarted says that a run began and what it is pinned to.
	RunStarted struct {
		Goal   string `json:"goal"`
		Mode   Mode   `json:"mode"`
		Base   OID    `json:"base"`
		Target string `json:"target"`
		Branch string `json:"branch"`
	}
	// PlanSubmitted says that a plan passed validation.
	PlanSubmitted struct {
		Contracts int `json:"contracts"`
		// RetryBudgetMultiplier is by how much it raises the attempts of its
		// contracts; 0: it does not.
		RetryBudgetMultiplier int `json:"retry_budget_multiplier,omitempty"`
	}
	// GatePending says that the run waits for a person.
	GatePending struct {
		Gate GateID   `json:"gate_id"`
		Kind GateKind `json:"kind"`
	}
	// GateApproved is the decision of a gate. Accepted are the weakened checks
	// that it named.
	GateApproved struct {
		Gate     GateID      `json:"gate_id"`
		Kind     GateKind    `json:"kind"`
		By       string      `json:"by"`
		Note     string      `json:"note,omitempty"`
		Accepted []Weakening `json:"accepted,omitempty"`
	}
	// GateRejected is the decision of a gate.
	GateRejected struct {
		Gate   GateID   `json:"gate_id"`
		Kind   GateKind `json:"kind"`
		By     string   `json:"by"`
		Reason string   `json:"reason,omitempty"`
	}
	// GatePaused says that a gate's deadline passed, so that the run waits on and spends
	// nothing, or, Manual, that a person paused the run: at that gate, or at none.
	GatePaused struct {
		Gate   GateID `json:"gate_id,omitempty"`
		Manual bool   `json:"manual,omitempty"`
	}
	// GateResumed says that a gate whose deadline had passed was answered, or, Manual,
	// that a person lets a paused run go on.
	GateResumed struct {
		Gate   GateID `json:"gate_id,omitempty"`
		Manual bool   `json:"manual,omitempty"`
	}
	// Spawned says that a session began.
	Spawned struct {
		Session SessionID `json:"session_id"`
		Attempt int       `json:"attempt"`
		Model   string    `json:"model"`
	}
	// Completed says that a session or a contract ended well.
	Completed struct {
		Session SessionID `json:"session_id,omitempty"`
		Outcome string    `json:"outcome,omitempty"`
	}
	// Failed says that a session, an attempt or a contract ended badly.
	Failed struct {
		Session SessionID `json:"session_id,omitempty"`
		Reason  string    `json:"reason"`
	}
	// Escalated says that a matter went to the next level.
	Escalated struct {
		Reason string  `json:"reason"`
		Step   StepKey `json:"step,omitempty"` // of the run that says it, once
		// Overseen is set where the overseer paused an agent, for whoever leads it.
		Overseen *Overseen `json:"overseen,omitempty"`
	}
	// Retried says that an attempt is made again, or, of a Session, a request to its model.
	Retried struct {
		Session     SessionID `json:"session_id,omitempty"`
		Attempt     int       `json:"attempt"`
		Cause       string    `json:"cause"`
		WaitSeconds float64   `json:"wait_seconds,omitempty"`
		// Of how many tries at most, and Until when it waits for the Provider: of a request.
		Of       int       `json:"of,omitempty"`
		Provider string    `json:"provider,omitempty"`
		Until    time.Time `json:"until,omitzero"`
	}
	// MessageSent says that a message is durable.
	MessageSent struct {
		Message MessageID   `json:"message_id"`
		From    string      `json:"from"`
		To      string      `json:"to"` // an agent, a role or Everyone
		Type    MessageType `json:"type,omitempty"`
	}
	// MessageDelivered says who was handed a message.
	MessageDelivered struct {
		Message MessageID `json:"message_id"`
		To      AgentID   `json:"to"`
		Session SessionID `json:"session_id,omitempty"`
	}
	// MessageProcessed says what has become of a message: its status, or that a
	// response is overdue.
	MessageProcessed struct {
		Message MessageID `json:"message_id"`
		Status  string    `json:"status"`
	}
	// StateChanged says that a run, a contract or an agent moved to another
	// state, or, where Key is set, that a key of the shared state moved from one
	// version to another.
	StateChanged struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Reason string `json:"reason,omitempty"`

		Namespace string `json:"namespace,omitempty"`
		Key       string `json:"key,omitempty"`
	}
	// NameReserved says which name only one contract may take now, and why it wants it.
	NameReserved struct {
		Name  string `json:"name"`
		Why   string `json:"why,omitempty"`
		Fence Fence  `json:"fence"`
	}
	// NameReleased says which name others may take again: its contract gave it back, or lost
	// it for a reason.
	NameReleased struct {
		Name   string `json:"name"`
		Reason string `json:"reason,omitempty"`
	}
	// NameRefused says who was refused a name that another contract holds: a reservation, or,
	// where it says the place, a change that takes it.
	NameRefused struct {
		Name   string     `json:"name"`
		HeldBy ContractID `json:"held_by"`
		Place  string     `json:"place,omitempty"`
		Step   StepKey    `json:"step,omitempty"` // of the landing
	}
	// ResourceWaited says that a command of a contract waits for what is scarce on the
	// machine, all of whose slots are in use.
	ResourceWaited struct {
		Resource string `json:"resource"`
		InUse    int    `json:"in_use"`
		Of       int    `json:"of"` // slots
		Command  string `json:"command"`
		Stage    string `json:"stage,omitempty"` // on what it is to run
	}
	// ResourceTaken says that a command that waited has all that it needs.
	ResourceTaken struct {
		Resources     []string `json:"resources"`
		WaitedSeconds float64  `json:"waited_seconds"`
		Command       string   `json:"command"`
		Stage         string   `json:"stage,omitempty"`
	}
	// CheckpointCreated names a tree that can be rolled back to.
	CheckpointCreated struct {
		Checkpoint string `json:"checkpoint_id"`
		Label      string `json:"label"`
		Tree       OID    `json:"tree"`
	}
	// RolledBack says that a workspace went back to a checkpoint, or to where an
	// attempt begins; Left names the checkpoint of what was left then.
	RolledBack struct {
		Checkpoint string `json:"checkpoint_id,omitempty"`
		Tree       OID    `json:"tree"`
		Left       string `json:"left,omitempty"`
		Reason     string `json:"reason,omitempty"`
	}
	// TurnCompleted is one settled turn.
	TurnCompleted struct {
		Session  SessionID `json:"session_id"`
		Turn     int       `json:"turn"`
		In       int64     `json:"tokens_in"`
		Cached   int64     `json:"tokens_cached"`
		Out      int64     `json:"tokens_out"`
		CostUSD  float64   `json:"cost_usd"`
		Unpriced bool      `json:"unpriced,omitempty"`
		// Estimated is set where the provider gave no counts.
		Estimated bool   `json:"estimated,omitempty"`
		Model     string `json:"model,omitempty"` // that answered: provider/model, as configured
		// Run is what the whole run has spent by now, with what was lost: a sum over
		// turns is less.
		Run Spent `json:"run,omitzero"`
		// Tree is the workspace as the turn left it.
		Tree OID `json:"tree,omitempty"`
		// Files are those that it had before, where the turn took some away.
		Files FilesGone `json:"files,omitzero"`
	}
	// ToolCalled is one tool call with its outcome.
	ToolCalled struct {
		Session SessionID `json:"session_id"`
		Turn    int       `json:"turn"`
		Tool    string    `json:"tool"`
		Error   string    `json:"error,omitempty"`
		CallDigests
		// Path is the file that it changed, or read.
		Path string `json:"path,omitempty"`
		// Ended is how the command ended that it ran; empty: well.
		Ended string `json:"ended,omitempty"`
		// Waits is set where the command itself waits.
		Waits bool `json:"waits,omitempty"`
		// Use is what else the command is for, where its words tell.
		Use CommandUse `json:"use,omitempty"`
		// Danger names what it did, or tried, that can do harm.
		Danger []DangerKind `json:"danger,omitempty"`
	}
	// ToolRefused is a call that the role, the arguments or a path rule refused.
	ToolRefused struct {
		Session SessionID `json:"session_id"`
		Turn    int       `json:"turn"`
		Tool    string    `json:"tool"`
		Reason  string    `json:"reason"`
		CallDigests
		Danger []DangerKind `json:"danger,omitempty"`
	}
	// TestsRun is a receipt of a test command. Stage says on what: work, base,
	// claim, landing or target, else it is a trial that says nothing of the work.
	TestsRun struct {
		Command  string    `json:"command"`
		Passed   int       `json:"passed"`
		Failed   int       `json:"failed"`
		Skipped  int       `json:"skipped"`
		ExitCode int       `json:"exit_code"`
		Receipt  ReceiptID `json:"receipt,omitempty"`
		Stage    string    `json:"stage,omitempty"`
		// Red is why it does not pass.
		Red *Red `json:"red,omitempty"`
	}
	// LintRun is a receipt of a build, lint or type-check command.
	LintRun struct {
		Command  string    `json:"command"`
		Kind     CheckKind `json:"kind"`
		ExitCode int       `json:"exit_code"`
		Receipt  ReceiptID `json:"receipt,omitempty"`
		Stage    string    `json:"stage,omitempty"`
		Red      *Red      `json:"red,omitempty"` // why it does not pass
	}
	// Claimed says that a session claims to be complete.
	Claimed struct {
		Session SessionID `json:"session_id"`
		Summary string    `json:"summary"`
	}
	// ModelRouted says on which level a session works, and why. Up is by how many
	// levels earlier failures raised it; the estimate is of one attempt.
	ModelRouted struct {
		Route
		Attempt         int     `json:"attempt"`
		Up              int     `json:"up,omitempty"`
		Model           string  `json:"model"`
		EstimatedTokens int64   `json:"estimated_tokens"`
		EstimatedUSD    float64 `json:"estimated_cost_usd"`
		EstimatedFrom   int     `json:"estimated_from,omitempty"` // past contracts; none: a table
		Unpriced        bool    `json:"unpriced,omitempty"`
	}
	// PlanEstimated says what a plan may take; Attempt is the manager's that made
	// the plan.
	PlanEstimated struct {
		Attempt int `json:"attempt"`
		PlanEstimate
		// Cut is how many contracts are left out of the list, not of the sums.
		Cut int `json:"contracts_cut,omitempty"`
	}
	// SessionParked says what a session waits for, holding nothing.
	SessionParked struct {
		Session SessionID `json:"session_id"`
		For     string    `json:"for"`
	}
	// EpochBegun says that a session's next request does not repeat the one
	// before: the conversation was compacted, or another model answered.
	EpochBegun struct {
		Session SessionID `json:"session_id"`
		Epoch   int       `json:"epoch"` // from 2: the first begins with the session
		Turn    int       `json:"turn"`  // after which it begins
		Cause   string    `json:"cause"` // near or overflow of the window, or model
		Model   string    `json:"model,omitempty"`
		From    string    `json:"from,omitempty"` // the model before
		// Folded are the messages that a summary stands for, Before and After
		// the request's size in tokens, estimated.
		Folded int   `json:"folded,omitempty"`
		Before int64 `json:"tokens_before,omitempty"`
		After  int64 `json:"tokens_after,omitempty"`
	}
	// RunWaiting says that nothing goes on until a person acts.
	RunWaiting struct {
		For string `json:"for"`
	}
	// RunPaused says that a person paused the run.
	RunPaused struct {
		By string `json:"by,omitempty"`
	}
	// RunResumed says that a paused or interrupted run goes on.
	RunResumed struct {
		By string `json:"by,omitempty"`
	}
	// ReviewSubmitted is a critic's review. Verdict is the one that counts, Said
	// the critic's own, Reason why they differ.
	ReviewSubmitted struct {
		Verdict   string `json:"verdict"`
		Issues    int    `json:"issues"`
		Iteration int    `json:"iteration,omitempty"`
		Said      string `json:"said,omitempty"`
		Reason    string `json:"reason,omitempty"`
		Summary   string `json:"summary,omitempty"`
		Critical  int    `json:"critical"`
		Major     int    `json:"major"`
		Minor     int    `json:"minor"`
		Nitpick   int    `json:"nitpick"`
		// Places are what its blocking issues are about: files and criteria.
		Places []string `json:"places,omitempty"`
	}
	// VerdictSubmitted is the result of verifying a claim.
	VerdictSubmitted struct {
		Verdict string   `json:"verdict"` // VerdictPass or VerdictFail
		Reasons []string `json:"reasons,omitempty"`
		// Criteria is how many the contract has, Shown for how many of them something was
		// shown, were it the agent's word.
		Criteria int `json:"criteria,omitempty"`
		Shown    int `json:"shown,omitempty"`
		// Red are the checks that do not pass, also those that were red before.
		Red          []Red         `json:"red,omitempty"`
		Unproved     *Unproved     `json:"unproved,omitempty"`
		Expectations []Expectation `json:"expectations,omitempty"`
	}
	// Merged is a landing, or the final merge where Contract is empty. Branch is that on
	// which it landed, or names the line of a tiered run.
	Merged struct {
		Contract ContractID   `json:"contract_id,omitempty"`
		Commit   OID          `json:"commit"`
		Step     StepKey      `json:"step,omitempty"`
		Branch   string       `json:"branch"`
		Level    LandingLevel `json:"level,omitempty"` // empty for the final merge
		MergeDetails
	}
	// MergeRequested says that a person wants a run that ended on its branch
	// merged.
	MergeRequested struct {
		By string `json:"by,omitempty"`
	}
	// MergeConflicted says which files two sides changed.
	MergeConflicted struct {
		Contract ContractID `json:"contract_id"`
		Paths    []string   `json:"paths"`
	}
	// Nudged is the overseer's mildest intervention. Undelivered is why nobody
	// reads it.
	Nudged struct {
		Overseen
		Text        string `json:"text,omitempty"`
		Undelivered string `json:"undelivered,omitempty"`
	}
	// Halted is the overseer's strongest intervention: the session ends with what
	// it has made, and another attempt begins.
	Halted struct{ Overseen }
	// ResumedAfterCrash says that a new host took up a run whose host died.
	ResumedAfterCrash struct {
		Epoch int64 `json:"epoch"`
	}
	// BudgetWarning says which share of a budget is used.
	BudgetWarning struct {
		Node string  `json:"node"`
		Used float64 `json:"used"`
	}
	// BudgetExhausted says which limit stopped the spending.
	BudgetExhausted struct {
		Node  string `json:"node"`
		Limit string `json:"limit"`
	}
	// RunSucceeded ends a run well.
	RunSucceeded struct {
		Branch string `json:"branch"`
		Commit OID    `json:"merged_commit,omitempty"`
	}
	// RunFailed ends a run badly.
	RunFailed struct {
		Reason string      `json:"reason"`
		Kind   FailureKind `json:"kind,omitempty"`
	}
	// RunCancelled ends a run on a person's word.
	RunCancelled struct {
		By string `json:"by,omitempty"`
	}
	// Log is a line for people that is no other event.
	Log struct {
		Text string `json:"text,omitempty"`
		// Overseen is set where the overseer saw something and let it be.
		Overseen *Overseen `json:"overseen,omitempty"`
		// Missed is how many heartbeats an agent owes.
		Missed int `json:"missed_heartbeats,omitempty"`
	}
)

func (RunStarted) kind() (EventType, Category)       { return "run_started", CategoryState }
func (PlanSubmitted) kind() (EventType, Category)    { return "plan_submitted", CategoryAgent }
func (GatePending) kind() (EventType, Category)      { return "gate_pending", CategoryGate }
func (GateApproved) kind() (EventType, Category)     { return "gate_approved", CategoryGate }
func (GateRejected) kind() (EventType, Category)     { return "gate_rejected", CategoryGate }
func (GatePaused) kind() (EventType, Category)       { return "gate_paused", CategoryGate }
func (GateResumed) kind() (EventType, Category)      { return "gate_resumed", CategoryGate }
func (Spawned) kind() (EventType, Category)          { return "spawned", CategoryAgent }
func (Completed) kind() (EventType, Category)        { return "completed", CategoryAgent }
func (Failed) kind() (EventType, Category)           { return "failed", CategoryAgent }
func (Escalated) kind() (EventType, Category)        { return "escalated", CategoryAgent }
func (Retried) kind() (EventType, Category)          { return "retried", CategoryAgent }
func (ModelChosen) kind() (EventType, Category)      { return ModelChosenType, CategoryState }
func (MessageSent) kind() (EventType, Category)      { return "message_sent", CategoryMessage }
func (MessageDelivered) kind() (EventType, Category) { return "message_delivered", CategoryMessage }

func (MessageProcessed) kind() (EventType, Category) { return "message_processed", CategoryMessage }
func (StateChanged) kind() (EventType, Category)     { return "state_changed", CategoryState }
func (NameReserved) kind() (EventType, Category)     { return "name_reserved", CategoryCoordination }

func (NameReleased) kind() (EventType, Category) { return "name_released", CategoryCoordination }

func (NameRefused) kind() (EventType, Category)    { return NameRefusedType, CategoryCoordination }
func (ResourceWaited) kind() (EventType, Category) { return "resource_waited", CategoryCoordination }

func (ResourceTaken) kind() (EventType, Category)     { return "resource_taken", CategoryCoordination }
func (CheckpointCreated) kind() (EventType, Category) { return "checkpoint_created", CategoryState }
func (RolledBack) kind() (EventType, Category)        { return "rolled_back", CategoryState }
func (TurnCompleted) kind() (EventType, Category)     { return "turn_completed", CategoryAgent }
func (ToolCalled) kind() (EventType, Category)        { return "tool_called", CategoryAgent }
func (ToolRefused) kind() (EventType, Category)       { return "tool_refused", CategoryAgent }
func (TestsRun) kind() (EventType, Category)          { return "tests_run", CategoryVerification }
func (LintRun) kind() (EventType, Category)           { return "lint_run", CategoryVerification }
func (Claimed) kind() (EventType, Category)           { return ClaimedType, CategoryAgent }
func (ModelRouted) kind() (EventType, Category)       { return ModelRoutedType, CategoryAgent }
func (PlanEstimated) kind() (EventType, Category)     { return PlanEstimatedType, CategoryAgent }
func (SessionParked) kind() (EventType, Category)     { return "session_parked", CategoryAgent }
func (EpochBegun) kind() (EventType, Category)        { return "epoch_begun", CategoryAgent }
func (RunWaiting) kind() (EventType, Category)        { return "run_waiting", CategoryState }
func (RunPaused) kind() (EventType, Category)         { return "run_paused", CategoryState }
func (RunResumed) kind() (EventType, Category)        { return "run_resumed", CategoryState }
func (ReviewSubmitted) kind() (EventType, Category)   { return "review_submitted", CategoryVerification }

func (VerdictSubmitted) kind() (EventType, Category) {
	return "verdict_submitted", CategoryVerification
}
func (Merged) kind() (EventType, Category)            { return "merged", CategoryGit }
func (MergeConflicted) kind() (EventType, Category)   { return "merge_conflicted", CategoryGit }
func (MergeRequested) kind() (EventType, Category)    { return MergeRequestedType, CategoryGit }
func (Nudged) kind() (EventType, Category)            { return "nudged", CategoryAgent }
func (Halted) kind() (EventType, Category)            { return "halted", CategoryAgent }
func (ResumedAfterCrash) kind() (EventType, Category) { return "resumed_after_crash", CategorySystem }
func (BudgetWarning) kind() (EventType, Category)     { return "budget_warning", CategoryState }
func (BudgetExhausted) kind() (EventType, Category)   { return "budget_exhausted", CategoryState }
func (RunSucceeded) kind() (EventType, Category)      { return "run_succeeded", CategoryState }
func (RunFailed) kind() (EventType, Category)         { return "run_failed", CategoryState }
func (RunCancelled) kind() (EventType, Category)      { return "run_cancelled", CategoryState }
func (Log) kind() (EventType, Category)               { return "log", CategorySystem }

// details makes the detail of each type of event.
var details = byType(
	made[RunStarted], made[PlanSubmitted], made[GatePending], made[GateApproved], made[GateRejected],
	made[GatePaused], made[GateResumed], made[Spawned], made[Completed], made[Failed], made[Escalated],
	made[Retried], made[MessageSent], made[MessageDelivered], made[MessageProcessed],
	made[StateChanged], made[NameReserved], made[NameReleased], made[NameRefused],
	made[ResourceWaited], made[ResourceTaken], made[CheckpointCreated], made[RolledBack], made[TurnCompleted], made[ToolCalled],
	made[ToolRefused], made[TestsRun], made[LintRun], made[Claimed], made[ModelRouted], made[ModelChosen], made[PlanEstimated],
	made[SessionParked], made[EpochBegun], made[RunWaiting], made[RunPaused], made[RunResumed],
	made[ReviewSubmitted], made[VerdictSubmitted], made[Merged], made[MergeConflicted], made[MergeRequested],
	made[Nudged], made[Halted], made[ResumedAfterCrash], made[BudgetWarning], made[BudgetExhausted], made[Charged],
	made[RunSucceeded], made[RunFailed], made[RunCancelled], made[Log],
	made[JointVerdictSubmitted], made[AcceptanceSubmitted], made[PathAmendment], made[Published], made[SwarmStarted],
)

// ClaimedType is the type of the event of a session's claim.
const ClaimedType EventType = "claimed"

// ModelRoutedType is the type of the event of a routing decision.
const ModelRoutedType EventType = "model_routed"

// NameRefusedType is the type of the event of a name that another contract holds.
const NameRefusedType EventType = "name_refused"

// MergeRequestedType is the type of the event of a merge that a person wants.
const MergeRequestedType EventType = "merge_requested"

// PlanEstimatedType is the type of the event of a plan's estimate.
const PlanEstimatedType EventType = "plan_estimated"
