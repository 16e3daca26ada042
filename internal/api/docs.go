package api

import (
	"encoding/json"
	"time"

	"agency/internal/agency"
)

// RunDoc is one run as ps shows it.
type RunDoc struct {
	ID     agency.RunID `json:"id"`
	Number int          `json:"number,omitempty"`
	Goal   string       `json:"goal"`
	Mode   agency.Mode  `json:"mode"`
	// Agent is who answers the goal in mode agent, and Answer what came of it.
	Agent  string `json:"agent,omitempty"`
	Answer string `json:"answer,omitempty"`
	// MovedTo is the mode in which the run works since it moved by itself.
	MovedTo agency.Mode     `json:"moved_to,omitempty"`
	State   agency.RunState `json:"state"`
	Why
	// Progress is how far it is, 0 to 1: its contracts of work, each as far as it has come.
	Progress       float64    `json:"progress"`
	ContractsDone  int        `json:"contracts_done"`
	ContractsTotal int        `json:"contracts_total"`
	Tokens         int64      `json:"tokens"` // output plus uncached input
	CostUSD        float64    `json:"cost_usd"`
	Unpriced       bool       `json:"unpriced,omitempty"` // some model has no price
	Target         string     `json:"target"`
	Branch         string     `json:"branch"`
	Base           agency.OID `json:"base"`
	Merged         agency.OID `json:"merged_commit,omitempty"`
	Repo           string     `json:"repo"`
	Yes            bool       `json:"yes,omitempty"`
	Dry            bool       `json:"dry_run,omitempty"` // it ends with its plan
	CreatedAt      time.Time  `json:"created_at"`
	FinishedAt     time.Time  `json:"finished_at,omitzero"`
	Gates          []GateDoc  `json:"gates"` // that wait
	// Live tells that a host works on it now.
	Live     bool   `json:"live,omitempty"`
	WaitsFor string `json:"waits_for,omitempty"` // an answer that takes long, and since when
	// Follows is the run where this one begins, FollowedBy are those that begin here; Doc
	// of one run alone does not tell these.
	Follows    *agency.Follows `json:"follows,omitempty"`
	FollowedBy []Follower      `json:"followed_by,omitempty"`
	// LastEvent is the id of the newest event, to follow from here.
	LastEvent int64 `json:"last_event"`
	// DiskBytes is what the run's files take; only ps gives it, and not where it
	// takes too long to be measured.
	DiskBytes *int64 `json:"disk_bytes,omitempty"`
}

// DryDoc is what a run would do and may cost at most; nothing was started.
type DryDoc struct {
	Goal     string            `json:"goal"`
	Mode     agency.Mode       `json:"mode"`
	MovesUp  string            `json:"moves_up,omitempty"` // why it begins in another mode
	MovesTo  agency.Mode       `json:"moves_to,omitempty"`
	Land     agency.LandMode   `json:"land"`
	Base     agency.OID        `json:"base"`
	Target   string            `json:"target"`
	Sandbox  string            `json:"sandbox"` // the tier in force
	Notes    []string          `json:"notes"`   // what a start says of the repository and its commands
	Commands map[string]string `json:"commands"`
	Steps    []DryStep         `json:"contracts"`
	Gates    []DryGate         `json:"gates"`
	// WorstUSD and WorstTokens are the most that the run takes before a person
	// grants more; the budget is the limit where the attempts could take more.
	// Models of Unpriced are not in WorstUSD.
	WorstUSD    float64 `json:"worst_usd"`
	WorstTokens int64   `json:"worst_tokens"`
	// Odds say how likely it is.
	Odds         agency.Odds `json:"odds,omitzero"`
	BudgetUSD    float64     `json:"budget_usd"`
	BudgetTokens int64       `json:"budget_tokens"`
	Unpriced     []string    `json:"unpriced"`
	// Across are the limits of a day and a month for all runs, where they are set.
	Across []AcrossDoc `json:"across_runs,omitempty"`
	// Plan is set where it is known, with what it may take and what it cost to
	// make.
	Plan     *agency.Plan         `json:"plan,omitempty"`
	TierPlan *TierPlanDoc         `json:"tier_plan,omitempty"` // of a tiered run, in the place of Plan
	Estimate *agency.PlanEstimate `json:"estimate,omitempty"`
	Spent    *SpentDoc            `json:"spent,omitempty"`
}

// AcrossDoc is a limit across runs, and what is left of it.
type AcrossDoc struct {
	Period   string  `json:"period"` // such as day 2026-11-24
	LimitUSD float64 `json:"limit_usd"`
	LeftUSD  float64 `json:"left_usd"` // below 0 where more was spent
	HeldUSD  float64 `json:"held_usd"` // by requests under way, not in LeftUSD
	Where    string  `json:"where"`    // it stands: key and place
	// Passed is set where the run may come to more than is left.
	Passed bool `json:"may_be_passed,omitempty"`
}

// SpentDoc is what a manager took for its plan.
type SpentDoc struct {
	Run      agency.RunID `json:"run_id"`
	Tokens   int64        `json:"tokens"`
	CostUSD  float64      `json:"cost_usd"`
	Unpriced bool         `json:"unpriced,omitempty"`
}

// DryStep is a contract that a run would pursue.
type DryStep struct {
	Contract      string        `json:"id"`
	Title         string        `json:"title"`
	Role          agency.RoleID `json:"role"`
	Models        []string      `json:"models"`
	Only          string        `json:"only_if,omitempty"`
	Attempts      int           `json:"attempts"` // at most
	Sessions      int           `json:"sessions"` // an attempt, at most
	Turns         int           `json:"turns"`    // a session, at most
	SessionTokens int64         `json:"session_tokens"`
	SessionUSD    float64       `json:"session_usd"` // at most
}

// DryGate is a place where a run would wait, or may.
type DryGate struct {
	Kind agency.GateKind `json:"kind"`
	When string          `json:"when"`
}

// GateDoc is a waiting gate in a list; Recorder.Gates gives all of it.
type GateDoc struct {
	ID        agency.GateID   `json:"id"`
	Kind      agency.GateKind `json:"kind"`
	Summary   string          `json:"summary"`
	CreatedAt time.Time       `json:"created_at"`
}

// InspectDoc is a run with everything that it did.
type InspectDoc struct {
	RunDoc
	Contracts []ContractDoc    `json:"contracts"`
	Sessions  []SessionDoc     `json:"sessions"`
	Receipts  []ReceiptDoc     `json:"receipts"`
	Reviews   []agency.Review  `json:"reviews"`
	Verdicts  []agency.Verdict `json:"verdicts"`
	Routing   []RoutingDoc     `json:"routing,omitempty"` // in the order of the decisions
	// Plans are those that were submitted, in their order.
	Plans []SubmittedDoc `json:"plans,omitempty"`
	// Planned are those that agents submitted, as they submitted them, the last of each
	// contract, in their order: also before a person has accepted them.
	Planned       []PlannedDoc            `json:"planned,omitempty"`
	Landings      []LandingDoc            `json:"landings"`
	Interventions []agency.Intervention   `json:"interventions"`
	Agents        []AgentDoc              `json:"agents"`    // that ever joined, by id
	Conflicts     []ConflictDoc           `json:"conflicts"` // in the order in which they were found
	Threads       []ThreadDoc             `json:"threads"`   // in the order in which they began
	Pattern       []PatternDoc            `json:"pattern,omitempty"`
	Decisions     []agency.SharedDecision `json:"decisions,omitempty"` // that its agents took together, by key
	Names         []agency.Reservation    `json:"names,omitempty"`     // that only one contract may take, as they were reserved
	// Artifacts, Joints, Acceptances and Amendments are of tiered runs.
	Artifacts   []agency.Artifact      `json:"artifacts,omitempty"`
	Joints      []JointDoc             `json:"joint_verdicts,omitempty"` // in their order
	Acceptances []agency.Acceptance    `json:"acceptances,omitempty"`
	Amendments  []agency.PathAmendment `json:"amendments,omitempty"`
	Report      agency.Report          `json:"report"` // what the run came to so far
}

// JointDoc is a squad lead's verdict on its workstream.
type JointDoc struct {
	Workstream agency.ContractID `json:"workstream"`
	By         agency.AgentID    `json:"by"`
	agency.JointVerdict
}

// SubmittedDoc is a plan that passed validation; its contracts are among those
// of the run, once it was accepted.
type SubmittedDoc struct {
	Contract              agency.ContractID     `json:"contract_id"` // the manager's
	Contracts             int                   `json:"contracts"`
	RetryBudgetMultiplier int                   `json:"retry_budget_multiplier"`
	Estimate              *agency.PlanEstimated `json:"estimate,omitempty"` // nil until it was made
}

// RoutingDoc is the decision on which level a contract is worked on.
type RoutingDoc struct {
	Contract agency.ContractID `json:"contract_id"`
	Role     agency.RoleID     `json:"role"`
	agency.ModelRouted
}

// AgentDoc is an agent as the others see it, over all of its sessions.
type AgentDoc struct {
	ID              agency.AgentID    `json:"agent_id"`
	Role            agency.RoleID     `json:"role"`
	Name            string            `json:"display_name,omitempty"`
	Contract        agency.ContractID `json:"contract_id,omitempty"`
	Status          string            `json:"status"`
	Activity        string            `json:"current_activity,omitempty"`
	Turns           int64             `json:"turns_completed"`
	Tokens          int64             `json:"tokens_used"`
	Files           int64             `json:"files_modified"`
	ToolCalls       int64             `json:"tool_calls"`
	Errors          int64             `json:"error_count"`
	LastTool        string            `json:"last_tool_call,omitempty"`
	LastFile        string            `json:"last_file_modified,omitempty"`
	Progress        float64           `json:"progress_percent"` // 0 to 1: its contract's
	StartedAt       time.Time         `json:"started_at"`
	LastActivityAt  time.Time         `json:"last_activity_at"`
	LastHeartbeatAt time.Time         `json:"last_heartbeat_at"`
	CompletedAt     time.Time         `json:"completed_at,omitzero"`
	HeartbeatMillis int64             `json:"heartbeat_interval_ms"`
	Missed          int               `json:"missed_heartbeats"`
}

// ConflictDoc is what agents disagree on. Proof is set where it is resolved.
type ConflictDoc struct {
	ID          int64            `json:"id"`
	Type        string           `json:"type"`
	Resource    string           `json:"resource"` // the file or the contract
	Agents      []agency.AgentID `json:"agents"`
	Evidence    []string         `json:"evidence"` // messages, or the landing, that show it
	Status      string           `json:"status"`
	EscalatedTo string           `json:"escalated_to,omitempty"`
	By          string           `json:"decided_by,omitempty"`
	How         string           `json:"how,omitempty"`
	ProofKind   string           `json:"proof_kind,omitempty"`
	Proof       string           `json:"proof,omitempty"`
	CreatedAt   time.Time        `json:"created_at"`
	DecidedAt   time.Time        `json:"decided_at,omitzero"`
}

// ContractDoc is a contract with the proof of each criterion.
type ContractDoc struct {
	agency.Contract
	// Leads tells whether it plans, leads or judges the work of others, or is the harness's
	// own: nothing of it is to be proved, and its criteria say what it is for.
	Leads bool `json:"leads,omitempty"`
	// Progress is how far it has come in its attempt, 0 to 1.
	Progress float64        `json:"progress_percent"`
	Criteria []agency.Proof `json:"criteria"`
	// WaitsFor is what it waits for now: something scarce, its model, or contracts before it.
	WaitsFor string `json:"waits_for,omitempty"`
	// Red are the checks that did not pass when it was last checked; Unproved,
	// Expectations and Unchecked are those of its last verdict.
	Red          []agency.Red         `json:"red,omitempty"`
	Unproved     *agency.Unproved     `json:"unproved,omitempty"`
	Expectations []agency.Expectation `json:"expectations,omitempty"`
	Unchecked    []string             `json:"unchecked,omitempty"`
}

// State says for readers how it stands with a criterion of the contract.
func (c ContractDoc) State(p agency.Proof) string {
	if c.Leads {
		return "aim"
	}
	return p.State()
}

// SessionDoc is one session. Outcome is empty while it is at work.
type SessionDoc struct {
	ID       agency.SessionID  `json:"id"`
	Role     agency.RoleID     `json:"role"`
	Agent    agency.AgentID    `json:"agent"`
	Contract agency.ContractID `json:"contract_id"`
	Attempt  int               `json:"attempt"`
	Turns    int               `json:"turns"`
	Epochs   int               `json:"epochs"` // from 1; each compaction and each other model begins one
	Tokens   int64             `json:"tokens"`
	CostUSD  float64           `json:"cost_usd"`
	Unpriced bool              `json:"unpriced,omitempty"`
	Outcome  string            `json:"outcome"`
	Reason   string            `json:"reason,omitempty"`
	// Health is working, waiting, slow, looping, halted or ended; of one that is at
	// work since when, and why where it does not just work.
	Health       string     `json:"health"`
	HealthSince  *time.Time `json:"health_since,omitempty"`
	HealthReason string     `json:"health_reason,omitempty"`
}

// ReceiptDoc is a receipt. Output is there where Checks are asked for.
type ReceiptDoc struct {
	ID       agency.ReceiptID  `json:"id"`
	Contract agency.ContractID `json:"contract_id"`
	Kind     agency.CheckKind  `json:"kind"`
	Command  string            `json:"command"`
	ExitCode int               `json:"exit_code"`
	Cause    string            `json:"cause,omitempty"`
	Passed   int               `json:"passed"`
	Failed   int               `json:"failed"`
	Skipped  int               `json:"skipped"`
	Seconds  float64           `json:"seconds"`     // how long it took
	CPU      float64           `json:"cpu_seconds"` // and of the processors
	Tree     agency.OID        `json:"tree"`
	Stage    string            `json:"stage,omitempty"` // on what: work, base, claim, landing, target, or that of a trial
	Trial    string            `json:"trial,omitempty"` // what a trial of the tests ran on: it says nothing of the work
	Red      *agency.Red       `json:"red,omitempty"`   // why it does not pass
	Output   string            `json:"output,omitempty"`
}

// LandingDoc is a commit that the run put on a branch.
type LandingDoc struct {
	Contract agency.ContractID `json:"contract_id"`
	// Level is what it landed on; Branch which, a line of a tiered run by its words. The
	// final merge has none.
	Level  agency.LandingLevel `json:"level,omitempty"`
	Branch string              `json:"branch"`
	Commit agency.OID          `json:"commit"`
	// Checks are those that passed on the tree whose checks let it land.
	Checks []agency.CheckKind `json:"checks,omitempty"`
	Step   agency.StepKey     `json:"step"`
	agency.MergeDetails
}

// CostDoc is what a run spent, in total and by each way of looking at it.
type CostDoc struct {
	Total      Spend            `json:"total"`
	ByRole     map[string]Spend `json:"by_role"`
	ByTier     map[string]Spend `json:"by_tier"`
	ByModel    map[string]Spend `json:"by_model"`
	ByContract map[string]Spend `json:"by_contract"`
	ByAgent    map[string]Spend `json:"by_agent"`
	// ByHour is by the hour of UTC in which an answer was paid for, such as
	// 2026-01-02T15:00:00Z.
	ByHour map[string]Spend `json:"by_hour"`
	// Lines are what all of these are sums of.
	Lines  []CostLine `json:"lines"`
	Limits LimitsDoc  `json:"limits"`
	// Reserved is what requests under way may cost at most; nil where there are none.
	Reserved *ReservedDoc `json:"reserved,omitempty"`
	// Forecast is what the run is likely to come to; of one that has ended, what it
	// came to.
	Forecast agency.RunForecast `json:"forecast"`
	// Progress is how far the run is, as its RunDoc says.
	Progress float64 `json:"progress"`
	// Savings is set where a level was picked for contracts.
	Savings *SavingsDoc `json:"savings,omitempty"`
	// Pattern is who worked for whom, in a run of an agent.
	Pattern []PatternDoc `json:"pattern,omitempty"`
}

// PatternDoc is an agent of a composition with those that worked for it: whoever answers is
// above whoever handed over to it, was called by it, advised it, or was in its team.
type PatternDoc struct {
	Agent      string            `json:"agent"`
	Contract   agency.ContractID `json:"contract_id"`
	Reached    agency.Reached    `json:"reached"`
	Team       string            `json:"team,omitempty"` // in which it spoke
	Supervises bool              `json:"supervises,omitempty"`
	Status     agency.Status     `json:"status"`
	Error      string            `json:"error,omitempty"`
	Turns      int               `json:"turns"`
	// Clarifications is how often it was asked again after its report.
	Clarifications int   `json:"clarifications,omitempty"`
	Own            Spend `json:"own"`
	// Total is with all that worked for it, TotalTurns likewise.
	Total      Spend        `json:"total"`
	TotalTurns int          `json:"total_turns"`
	Below      []PatternDoc `json:"below,omitempty"`
}

// ReservedDoc is what is set aside for requests that have no answer yet. It is in no sum.
type ReservedDoc struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"` // without models that have no known price
}

// CostLine is what an agent spent in an hour with one model on one contract.
type CostLine struct {
	Hour     time.Time         `json:"hour"`
	Agent    agency.AgentID    `json:"agent"`
	Role     agency.RoleID     `json:"role"`
	Tier     string            `json:"tier"`
	Model    string            `json:"model"`
	Contract agency.ContractID `json:"contract"`
	Spend
}

// SavingsDoc compares what was spent with what the same tokens would have cost
// on the highest level. Unpriced are models without a known price: tokens that
// they answered are in neither sum.
type SavingsDoc struct {
	Model      string   `json:"model"` // of the highest level
	CostUSD    float64  `json:"cost_usd"`
	HighestUSD float64  `json:"highest_usd"`
	SavedUSD   float64  `json:"saved_usd"` // negative where the highest level is the cheaper one
	Unpriced   []string `json:"unpriced,omitempty"`
}

// Spend is tokens and money. Lost counts requests whose answer stalled, was cut off,
// given up, or taken by a crash: they are charged at their worst case, or at what came
// where that was more, and only Tokens knows of theirs.
type Spend struct {
	In       int64   `json:"tokens_in"`
	Cached   int64   `json:"tokens_cached"`
	Out      int64   `json:"tokens_out"`
	Tokens   int64   `json:"tokens"` // that count: output plus uncached input
	CostUSD  float64 `json:"cost_usd"`
	Unpriced bool    `json:"unpriced"`
	// Estimated: for some requests the provider gave no counts, such as lost ones.
	Estimated bool `json:"estimated,omitempty"`
	Requests  int  `json:"requests"`
	Lost      int  `json:"lost,omitempty"`
}

// LimitsDoc is what the run may spend at most; zero is no limit.
type LimitsDoc struct {
	USD         float64 `json:"usd"`
	Tokens      int64   `json:"tokens"`
	WallMinutes float64 `json:"wall_minutes"`
	// WallUsed is the time with a session or check at work.
	WallUsed float64 `json:"wall_used_minutes"`
}

// DiffDoc is what the run would land, or has landed, against its base.
type DiffDoc struct {
	Base   agency.OID `json:"base"`
	Head   agency.OID `json:"head"`
	Branch string     `json:"branch"`
	Stat   string     `json:"stat"`
	Patch  string     `json:"patch"`
	// Local are the user's own edits that the run started from and that land with
	// it; nil: there are none.
	Local *LocalDiff `json:"local_edits,omitempty"`
}

// LocalDiff is the commit of the user's own edits, which Base of its DiffDoc is.
type LocalDiff struct {
	Parent agency.OID `json:"parent"`
	Commit agency.OID `json:"commit"`
	Stat   string     `json:"stat"`
	Patch  string     `json:"patch"`
}

// TranscriptDoc is a session's conversation.
type TranscriptDoc struct {
	Session SessionDoc    `json:"session"`
	System  string        `json:"system"`
	Lines   []MessageLine `json:"messages"`
}

// MessageLine is one block of a conversation. Kind is text, reasoning,
// tool_call, tool_result or image.
type MessageLine struct {
	Turn   int             `json:"turn"`
	Role   string          `json:"role"`
	Kind   string          `json:"kind"`
	Tool   string          `json:"tool,omitempty"`
	CallID string          `json:"call_id,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Text   string          `json:"text,omitempty"`
	Error  bool            `json:"error,omitempty"`
	// By is the person whose answer a result is.
	By string `json:"by,omitempty"`
}

// ResultDoc is the last line of `run --json`.
type ResultDoc struct {
	RunID    agency.RunID    `json:"run_id"`
	Number   int             `json:"number,omitempty"`
	State    agency.RunState `json:"state"`
	Branch   string          `json:"branch"`
	Merged   agency.OID      `json:"merged_commit"`
	CostUSD  float64         `json:"cost_usd"`
	Tokens   int64           `json:"tokens"`
	ExitCode int             `json:"exit_code"`
	Why
	// Answer is that of a run of an agent.
	Answer string `json:"answer,omitempty"`
}

// MessageDoc is a message of a run with how far it has come with each
// recipient.
type MessageDoc struct {
	agency.Message
	Deliveries []DeliveryDoc `json:"deliveries,omitempty"`
	// Response is what has become of the response that the message requires:
	// awaited, given, overdue, late or never; AnsweredBy is the message that it is.
	Response   string           `json:"response,omitempty"`
	AnsweredBy agency.MessageID `json:"answered_by,omitempty"`
}

// ThreadDoc is a message and what was said in answer to it.
type ThreadDoc struct {
	ID          agency.MessageID  `json:"id"` // of the message that began it
	Contract    agency.ContractID `json:"contract_id,omitempty"`
	Subject     string            `json:"subject,omitempty"`
	Awaited     int               `json:"awaited"`      // responses that may still come
	DeadLetters int               `json:"dead_letters"` // deliveries that will never be read
	Messages    []MessageDoc      `json:"messages"`     // in the order in which they were sent
}

// DeliveryDoc is one recipient's copy of a message. Agent is empty for a
// role's message that nobody has claimed.
type DeliveryDoc struct {
	Agent       agency.AgentID       `json:"agent_id,omitempty"`
	Session     agency.SessionID     `json:"session_id,omitempty"`
	Status      agency.MessageStatus `json:"status"`
	Reason      string               `json:"reason,omitempty"`
	DeliveredAt time.Time            `json:"delivered_at,omitzero"`
	ReadAt      time.Time            `json:"read_at,omitzero"`
	ProcessedAt time.Time            `json:"processed_at,omitzero"`
}
