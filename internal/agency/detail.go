package agency

// StageBase is the stage of checks on what a work began from: they say nothing of
// the work (check.Stage).
const StageBase = "base"

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
	// GatePaused says that a gate's deadline passed; the run waits on, nothing is spent.
	GatePaused struct {
		Gate GateID `json:"gate_id"`
	}
	// GateResumed says that a gate whose deadline had passed was answered.
	GateResumed struct {
		Gate GateID `json:"gate_id"`
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
	}
	// Retried says that a request or an attempt is made again.
	Retried struct {
		Attempt     int     `json:"attempt"`
		Cause       string  `json:"cause"`
		WaitSeconds float64 `json:"wait_seconds,omitempty"`
	}
	// PathAmendment says that a workstream's tier path changed.
	PathAmendment struct {
		Workstream string `json:"workstream"`
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
	// LockAcquired says who holds a lease.
	LockAcquired struct {
		Name   string `json:"name"`
		Holder string `json:"holder"`
		Shared bool   `json:"shared,omitempty"`
	}
	// LockDenied says who was refused a lease, and because of whom.
	LockDenied struct {
		Name   string   `json:"name"`
		Holder string   `json:"holder"`
		HeldBy []string `json:"held_by,omitempty"`
	}
	// LockReleased says who gave a lease back, or lost it for a reason.
	LockReleased struct {
		Name   string `json:"name"`
		Holder string `json:"holder"`
		Reason string `json:"reason,omitempty"`
	}
	// TokenGranted says who holds an execution token.
	TokenGranted struct {
		Name   string `json:"name"`
		Holder string `json:"holder"`
	}
	// TokenReleased says who gave an execution token back, or lost it for a
	// reason.
	TokenReleased struct {
		Name   string `json:"name"`
		Holder string `json:"holder"`
		Reason string `json:"reason,omitempty"`
	}
	// CheckpointCreated names a tree that can be rolled back to.
	CheckpointCreated struct {
		Checkpoint string `json:"checkpoint_id"`
		Label      string `json:"label"`
		Tree       OID    `json:"tree"`
	}
	// RolledBack says that a workspace went back to a checkpoint.
	RolledBack struct {
		Checkpoint string `json:"checkpoint_id"`
		Tree       OID    `json:"tree"`
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
	}
	// Spent is how much of its budget a run has used.
	Spent struct {
		USD    float64 `json:"cost_usd"`
		Tokens int64   `json:"tokens"`
	}
	// ToolCalled is one tool call with its outcome.
	ToolCalled struct {
		Session SessionID `json:"session_id"`
		Turn    int       `json:"turn"`
		Tool    string    `json:"tool"`
		Error   string    `json:"error,omitempty"`
	}
	// ToolRefused is a call that the role, the arguments or a path rule refused.
	ToolRefused struct {
		Session SessionID `json:"session_id"`
		Turn    int       `json:"turn"`
		Tool    string    `json:"tool"`
		Reason  string    `json:"reason"`
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
	}
	// VerdictSubmitted is the result of verifying a claim.
	VerdictSubmitted struct {
		Verdict string   `json:"verdict"`
		Reasons []string `json:"reasons,omitempty"`
		// Red are the checks that do not pass, also those that were red before.
		Red          []Red         `json:"red,omitempty"`
		Unproved     *Unproved     `json:"unproved,omitempty"`
		Expectations []Expectation `json:"expectations,omitempty"`
	}
	// Merged is a landing, or the final merge where Contract is empty.
	Merged struct {
		Contract ContractID `json:"contract_id,omitempty"`
		Commit   OID        `json:"commit"`
		Step     StepKey    `json:"step,omitempty"`
		Branch   string     `json:"branch"`
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
	// Nudged is the overseer's mildest intervention.
	Nudged struct {
		Cause string `json:"cause"`
	}
	// Halted is the overseer's strongest intervention.
	Halted struct {
		Cause string `json:"cause"`
	}
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
		Reason string `json:"reason"`
	}
	// RunCancelled ends a run on a person's word.
	RunCancelled struct {
		By string `json:"by,omitempty"`
	}
	// Log is a line for people that is no other event.
	Log struct {
		Text string `json:"text,omitempty"`
	}
)

func (RunStarted) eventType() EventType        { return "run_started" }
func (PlanSubmitted) eventType() EventType     { return "plan_submitted" }
func (GatePending) eventType() EventType       { return "gate_pending" }
func (GateApproved) eventType() EventType      { return "gate_approved" }
func (GateRejected) eventType() EventType      { return "gate_rejected" }
func (GatePaused) eventType() EventType        { return "gate_paused" }
func (GateResumed) eventType() EventType       { return "gate_resumed" }
func (Spawned) eventType() EventType           { return "spawned" }
func (Completed) eventType() EventType         { return "completed" }
func (Failed) eventType() EventType            { return "failed" }
func (Escalated) eventType() EventType         { return "escalated" }
func (Retried) eventType() EventType           { return "retried" }
func (PathAmendment) eventType() EventType     { return "path_amendment" }
func (MessageSent) eventType() EventType       { return "message_sent" }
func (MessageDelivered) eventType() EventType  { return "message_delivered" }
func (MessageProcessed) eventType() EventType  { return "message_processed" }
func (StateChanged) eventType() EventType      { return "state_changed" }
func (LockAcquired) eventType() EventType      { return "lock_acquired" }
func (LockDenied) eventType() EventType        { return "lock_denied" }
func (LockReleased) eventType() EventType      { return "lock_released" }
func (TokenGranted) eventType() EventType      { return "token_granted" }
func (TokenReleased) eventType() EventType     { return "token_released" }
func (CheckpointCreated) eventType() EventType { return "checkpoint_created" }
func (RolledBack) eventType() EventType        { return "rolled_back" }
func (TurnCompleted) eventType() EventType     { return "turn_completed" }
func (ToolCalled) eventType() EventType        { return "tool_called" }
func (ToolRefused) eventType() EventType       { return "tool_refused" }
func (TestsRun) eventType() EventType          { return "tests_run" }
func (LintRun) eventType() EventType           { return "lint_run" }
func (Claimed) eventType() EventType           { return "claimed" }
func (ModelRouted) eventType() EventType       { return ModelRoutedType }
func (PlanEstimated) eventType() EventType     { return PlanEstimatedType }
func (SessionParked) eventType() EventType     { return "session_parked" }
func (EpochBegun) eventType() EventType        { return "epoch_begun" }
func (RunWaiting) eventType() EventType        { return "run_waiting" }
func (RunPaused) eventType() EventType         { return "run_paused" }
func (RunResumed) eventType() EventType        { return "run_resumed" }
func (ReviewSubmitted) eventType() EventType   { return "review_submitted" }
func (VerdictSubmitted) eventType() EventType  { return "verdict_submitted" }
func (Merged) eventType() EventType            { return "merged" }
func (MergeConflicted) eventType() EventType   { return "merge_conflicted" }
func (MergeRequested) eventType() EventType    { return MergeRequestedType }
func (Nudged) eventType() EventType            { return "nudged" }
func (Halted) eventType() EventType            { return "halted" }
func (ResumedAfterCrash) eventType() EventType { return "resumed_after_crash" }
func (BudgetWarning) eventType() EventType     { return "budget_warning" }
func (BudgetExhausted) eventType() EventType   { return "budget_exhausted" }
func (RunSucceeded) eventType() EventType      { return "run_succeeded" }
func (RunFailed) eventType() EventType         { return "run_failed" }
func (RunCancelled) eventType() EventType      { return "run_cancelled" }
func (Log) eventType() EventType               { return "log" }

func (RunStarted) category() Category        { return CategoryState }
func (PlanSubmitted) category() Category     { return CategoryAgent }
func (GatePending) category() Category       { return CategoryGate }
func (GateApproved) category() Category      { return CategoryGate }
func (GateRejected) category() Category      { return CategoryGate }
func (GatePaused) category() Category        { return CategoryGate }
func (GateResumed) category() Category       { return CategoryGate }
func (Spawned) category() Category           { return CategoryAgent }
func (Completed) category() Category         { return CategoryAgent }
func (Failed) category() Category            { return CategoryAgent }
func (Escalated) category() Category         { return CategoryAgent }
func (Retried) category() Category           { return CategoryAgent }
func (PathAmendment) category() Category     { return CategoryAgent }
func (MessageSent) category() Category       { return CategoryMessage }
func (MessageDelivered) category() Category  { return CategoryMessage }
func (MessageProcessed) category() Category  { return CategoryMessage }
func (StateChanged) category() Category      { return CategoryState }
func (LockAcquired) category() Category      { return CategoryCoordination }
func (LockDenied) category() Category        { return CategoryCoordination }
func (LockReleased) category() Category      { return CategoryCoordination }
func (TokenGranted) category() Category      { return CategoryCoordination }
func (TokenReleased) category() Category     { return CategoryCoordination }
func (CheckpointCreated) category() Category { return CategoryState }
func (RolledBack) category() Category        { return CategoryState }
func (TurnCompleted) category() Category     { return CategoryAgent }
func (ToolCalled) category() Category        { return CategoryAgent }
func (ToolRefused) category() Category       { return CategoryAgent }
func (TestsRun) category() Category          { return CategoryVerification }
func (LintRun) category() Category           { return CategoryVerification }
func (Claimed) category() Category           { return CategoryAgent }
func (ModelRouted) category() Category       { return CategoryAgent }
func (PlanEstimated) category() Category     { return CategoryAgent }
func (SessionParked) category() Category     { return CategoryAgent }
func (EpochBegun) category() Category        { return CategoryAgent }
func (RunWaiting) category() Category        { return CategoryState }
func (RunPaused) category() Category         { return CategoryState }
func (RunResumed) category() Category        { return CategoryState }
func (ReviewSubmitted) category() Category   { return CategoryVerification }
func (VerdictSubmitted) category() Category  { return CategoryVerification }
func (Merged) category() Category            { return CategoryGit }
func (MergeConflicted) category() Category   { return CategoryGit }
func (MergeRequested) category() Category    { return CategoryGit }
func (Nudged) category() Category            { return CategoryAgent }
func (Halted) category() Category            { return CategoryAgent }
func (ResumedAfterCrash) category() Category { return CategorySystem }
func (BudgetWarning) category() Category     { return CategoryState }
func (BudgetExhausted) category() Category   { return CategoryState }
func (RunSucceeded) category() Category      { return CategoryState }
func (RunFailed) category() Category         { return CategoryState }
func (RunCancelled) category() Category      { return CategoryState }
func (Log) category() Category               { return CategorySystem }

// ModelRoutedType is the type of the event of a routing decision.
const ModelRoutedType EventType = "model_routed"

// MergeRequestedType is the type of the event of a merge that a person wants.
const MergeRequestedType EventType = "merge_requested"

// PlanEstimatedType is the type of the event of a plan's estimate.
const PlanEstimatedType EventType = "plan_estimated"
