package agency

import (
	"encoding/json"
	"slices"
	"time"
)

// Status is the coarse state of a contract (docs/design.md, Contracts).
type Status string

// The statuses. Complete means landed, or, with no diff, verdict accepted.
const (
	StatusPending    Status = "pending"
	StatusInProgress Status = "in_progress"
	StatusInReview   Status = "in_review"
	StatusComplete   Status = "complete"
	StatusBlocked    Status = "blocked"
	StatusFailed     Status = "failed"
	StatusCancelled  Status = "cancelled"
)

// Final tells whether a contract in this status can never go on.
func (s Status) Final() bool {
	return s == StatusComplete || s == StatusFailed || s == StatusCancelled
}

// Stage refines a status.
type Stage string

// The stages; final statuses have the empty Stage.
const (
	StageReady     Stage = "ready"
	StageWorking   Stage = "working"
	StageParked    Stage = "parked"
	StageVerifying Stage = "verifying"
	StageReviewing Stage = "reviewing"
	StageQueued    Stage = "queued"
	StageLanding   Stage = "landing"
)

// ContractType says what kind of work a contract is.
type ContractType string

// The types of contracts.
const (
	TypeFeature  ContractType = "feature"
	TypeRefactor ContractType = "refactor"
	TypeTest     ContractType = "test"
	TypeReview   ContractType = "review"
	TypeDesign   ContractType = "design"
	TypeVerify   ContractType = "verify"
)

// ExecutionMode says whether a contract may run beside its siblings.
type ExecutionMode string

// The execution modes; empty is parallel.
const (
	ExecutionParallel   ExecutionMode = "parallel"
	ExecutionSequential ExecutionMode = "sequential"
)

// Complexity is the one three-step scale (docs/design.md, Modes).
type Complexity string

// The steps, as stored. ParseComplexity accepts the synonyms.
const (
	Small  Complexity = "small"
	Medium Complexity = "medium"
	Large  Complexity = "large"
)

// ParseComplexity reads any of the words that the reference designs use.
func ParseComplexity(s string) (Complexity, error) {
	switch s {
	case "small", "low", "simple":
		return Small, nil
	case "medium", "":
		return Medium, nil
	case "large", "high", "complex":
		return Large, nil
	}
	return "", Errorf(KindInvalid, "complexity %q: want small, medium or large, or low or high", s)
}

// Criterion is one thing that must be true when the contract is complete.
type Criterion struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Check *Check `json:"check,omitempty"`
	// From is the contract's field that promises it; empty: it was written as a
	// criterion.
	From string `json:"from,omitempty"`
}

// Check is what the harness itself can look at. Exactly one field is set.
type Check struct {
	Test     string `json:"test,omitempty"`     // a test's name
	Command  string `json:"command,omitempty"`  // a command that must exit 0
	File     string `json:"file,omitempty"`     // a file that must exist
	Created  string `json:"created,omitempty"`  // a file that the work must add
	Modified string `json:"modified,omitempty"` // a file that the work must change
	// Coverage is how many percent of the changed lines tests must reach.
	Coverage float64 `json:"coverage,omitempty"`
}

// Outputs is what a contract expects to change, or what it did.
type Outputs struct {
	FilesCreated  []string `json:"files_created,omitempty"`
	FilesModified []string `json:"files_modified,omitempty"`
	TestsPassing  []string `json:"tests_passing,omitempty"`
}

// Results are what a contract came to when it landed, as the harness measured
// it: files by its landing, tests by the verdict on its claim. Of a contract
// that changes nothing, Review is what its reviewer found.
type Results struct {
	Outputs
	FilesDeleted []string `json:"files_deleted,omitempty"`
	Commit       OID      `json:"commit,omitempty"`
	Review       string   `json:"review,omitempty"`
	// LeftOut is how many names the lists do not hold, for they are long.
	LeftOut int `json:"left_out,omitempty"`
}

// mostNames bounds each list of a contract's results: its record is read with
// every step.
const mostNames = 200

// Measure are the results of a landing that changed these files and made these
// tests pass. The lists of both stay as they are.
func Measure(commit OID, f Files, tests []string) Results {
	r := Results{Commit: commit}
	cut := func(names []string) []string {
		r.LeftOut += max(0, len(names)-mostNames)
		return slices.Clone(names[:min(len(names), mostNames)])
	}
	r.FilesCreated, r.FilesModified, r.FilesDeleted, r.TestsPassing = cut(f.Created), cut(f.Modified), cut(f.Deleted), cut(tests)
	return r
}

// Contract is the unit of work (docs/design.md, Contracts). Only the registry changes one, and
// only by Advance, or by Amend before it has begun.
type Contract struct {
	ID                 ContractID         `json:"id"`
	RunID              RunID              `json:"run_id"`
	ParentID           ContractID         `json:"parent_id,omitempty"`
	FeatureID          FeatureID          `json:"feature_id,omitempty"`
	Type               ContractType       `json:"type,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	AssignedRole       RoleID             `json:"assigned_role"`
	AssignedAgentID    AgentID            `json:"assigned_agent_id,omitempty"`
	Tier               string             `json:"tier,omitempty"`
	Domain             string             `json:"domain,omitempty"`
	TierPath           []Tier             `json:"tier_path,omitempty"` // of a workstream: the tiers that it goes through
	Talent             string             `json:"talent,omitempty"`
	Post               *Post              `json:"post,omitempty"` // of an agent that answers an input
	Title              string             `json:"title"`
	Description        string             `json:"description"`
	GoalAnchor         string             `json:"goal_anchor,omitempty"`
	AcceptanceCriteria []Criterion        `json:"acceptance_criteria"`
	Constraints        []string           `json:"constraints,omitempty"`
	RelevantFiles      []string           `json:"relevant_files,omitempty"`
	APIDefinitions     []string           `json:"api_definitions,omitempty"`
	StyleGuide         string             `json:"style_guide,omitempty"`
	Writes             []string           `json:"writes,omitempty"`
	Resources          []string           `json:"resources,omitempty"` // that its commands need, of those of the configuration
	DependsOn          []ContractID       `json:"depends_on,omitempty"`
	Blocks             []ContractID       `json:"blocks,omitempty"` // as an author wrote it; Ordered makes it DependsOn of the others
	ExecutionMode      ExecutionMode      `json:"execution_mode,omitempty"`
	Inputs             Inputs             `json:"inputs,omitempty"`
	ExpectedOutputs    Outputs            `json:"expected_outputs,omitzero"`
	ActualOutputs      Results            `json:"actual_outputs,omitzero"`
	TestRequirements   []string           `json:"test_requirements,omitempty"`
	QualityThresholds  map[string]float64 `json:"quality_thresholds,omitempty"`
	Priority           int                `json:"priority,omitempty"`
	Complexity         Complexity         `json:"estimated_complexity,omitempty"`
	EstimatedLines     int                `json:"estimated_lines,omitempty"` // where the author gave one; held to max_lines
	RetryBudget        int                `json:"retry_budget"`
	Attempts           int                `json:"attempts"`
	Status             Status             `json:"status"`
	Stage              Stage              `json:"stage,omitempty"`
	Iterations         int                `json:"iterations,omitempty"`
	TokensUsed         int64              `json:"tokens_used"`
	CostUSD            float64            `json:"cost_usd"`
	Error              string             `json:"error,omitempty"`
	CreatedAt          time.Time          `json:"created_at,omitzero"`
	StartedAt          time.Time          `json:"started_at,omitzero"`
	CompletedAt        time.Time          `json:"completed_at,omitzero"`
}

// Reached is how work came to an agent of a composition.
type Reached string

// The ways.
const (
	ReachedRun      Reached = "run" // whoever started the run asked it
	ReachedHandoff  Reached = "handoff"
	ReachedRouter   Reached = "router"
	ReachedAdvisor  Reached = "advisor"
	ReachedMember   Reached = "member"
	ReachedSubAgent Reached = "sub-agent"
)

// Onward tells whether the agent has the work from one that ended with it.
func (r Reached) Onward() bool { return r == ReachedHandoff || r == ReachedRouter }

// Post is an agent's place in a composition of agents.
type Post struct {
	Agent   string  `json:"agent"` // its name
	Reached Reached `json:"reached"`
	// From is the post that the work came from: which handed it over, or which the agent
	// works for. Empty: whoever started the run.
	From ContractID `json:"from,omitempty"`
	// Team is the team in which it speaks, as its supervisor or as a member.
	Team       string `json:"team,omitempty"`
	Supervises bool   `json:"supervises,omitempty"`
	// Turns are the most that it has here; 0: as its file says.
	Turns int `json:"turns,omitempty"`
	// Optional says that others go on without its answer, and are told why there is none.
	Optional bool `json:"optional,omitempty"`
	// Caps are the calls that it works for whose tokens are bounded, the outermost first.
	Caps []Cap `json:"caps,omitempty"`
}

// Cap bounds what the agent that was called and all that it comes to may use together.
type Cap struct {
	Call   ContractID `json:"call"` // the post that was called
	Tokens int64      `json:"tokens"`
}

// Part says in words what the agent is in the composition, as the end of "it begins"; empty
// for whom the run's starter asked.
func (p Post) Part() string {
	switch {
	case p.Supervises:
		return " as supervisor of " + p.Team
	case p.Reached.Onward():
		return " by " + string(p.Reached)
	case p.Reached == ReachedMember && p.Team != "":
		return " as member of " + p.Team
	case p.Reached == ReachedRun:
		return ""
	}
	return " as " + string(p.Reached)
}

// Broadcasts tells whether the agent is a member that speaks in a team: it ends by its
// last broadcast.
func (p Post) Broadcasts() bool { return p.Team != "" && !p.Supervises }

// Broadcast is what a member of a team, or its supervisor, tells all others.
type Broadcast struct {
	Type   BroadcastType `json:"type"`
	Member string        `json:"member_id"`
	Text   string        `json:"message"`
	Turns  int           `json:"turn_count"` // of the member by then
	Time   time.Time     `json:"timestamp"`
	// Final is set where nothing more comes of the member.
	Final bool `json:"final,omitempty"`
}

// BroadcastType says what a broadcast is.
type BroadcastType string

// The types of broadcasts.
const (
	BroadcastUpdate  BroadcastType = "update"
	BroadcastFailure BroadcastType = "failure"
)

// Amend gives a contract that nobody has begun other words; what the harness
// counts and decides itself stays. One that has begun is a conflict.
func Amend(old, words Contract) (Contract, error) {
	if old.Attempts > 0 || old.Status != StatusPending {
		return old, Errorf(KindConflict, "contract %s: cannot be amended while %s", old.ID, describe(position{old.Status, old.Stage}))
	}
	words.ID, words.RunID, words.GoalAnchor, words.RetryBudget = old.ID, old.RunID, old.GoalAnchor, old.RetryBudget
	words.Status, words.Stage, words.CreatedAt, words.Error = old.Status, old.Stage, old.CreatedAt, old.Error
	words.AssignedAgentID, words.ActualOutputs = old.AssignedAgentID, old.ActualOutputs
	return words, nil
}

// WriteSet is the files and symbols that the contract expects to change: its
// writes, else the files of its expected outputs. Empty means unbounded.
func (c Contract) WriteSet() []string {
	if len(c.Writes) > 0 {
		return c.Writes
	}
	out := append([]string(nil), c.ExpectedOutputs.FilesCreated...)
	return append(out, c.ExpectedOutputs.FilesModified...)
}

// Block is the contract as a model sees it: a fenced block of JSON (docs/design.md, What a model is shown).
func (c Contract) Block() (string, error) {
	c.Status, c.Stage, c.TokensUsed, c.CostUSD, c.Error = "", "", 0, 0, ""
	c.CreatedAt, c.StartedAt, c.CompletedAt = time.Time{}, time.Time{}, time.Time{}
	b, err := json.MarshalIndent(blockView(c), "", "  ")
	if err != nil {
		return "", Errorf(KindInternal, "contract %s: %w", c.ID, err)
	}
	return "```json contract\n" + string(b) + "\n```\n", nil
}

// asAnchored is a criterion that says the goal again.
const asAnchored = "the goal is reached, as goal_anchor says it"

// blockView leaves out what the harness counts: it changes while the session
// runs or with the next attempt, and would break the prompt's stable prefix. A contract that is the goal
// itself says it once, in its anchor.
type contractView Contract

func blockView(c Contract) any {
	type view struct {
		contractView
		Status     *Status  `json:"status,omitempty"`
		TokensUsed *int64   `json:"tokens_used,omitempty"`
		CostUSD    *float64 `json:"cost_usd,omitempty"`
		Attempts   *int     `json:"attempts,omitempty"`
	}
	v := view{contractView: contractView(c)}
	if c.GoalAnchor == "" || c.Description != c.GoalAnchor {
		return v
	}
	v.AcceptanceCriteria = slices.Clone(c.AcceptanceCriteria)
	for i := range v.AcceptanceCriteria {
		if cr := &v.AcceptanceCriteria[i]; cr.Text == c.GoalAnchor {
			cr.Text = asAnchored
		}
	}
	type undescribed struct {
		view
		Description *string `json:"description,omitempty"`
	}
	if c.Title != c.GoalAnchor {
		return undescribed{view: v}
	}
	return struct {
		undescribed
		Title *string `json:"title,omitempty"`
	}{undescribed: undescribed{view: v}}
}

// Evidence is what a claim offers for one criterion. Kind test and command
// give a criterion without a check its check.
type Evidence struct {
	Criterion string    `json:"criterion"`
	Kind      CheckKind `json:"kind"`
	Ref       string    `json:"ref"`
}

// Claim is a session's statement that it is complete.
type Claim struct {
	Session  SessionID  `json:"session_id"`
	Contract ContractID `json:"contract_id"`
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Outputs  Outputs    `json:"outputs,omitzero"`
	Tree     OID        `json:"tree"` // the workspace's tree when it was made
}

// SaysNothing is the Summary of a Claim whose agent said nothing beside what shows it.
const SaysNothing = "complete"

// Inputs are what a contract is given to work with, by name: any values of JSON, kept
// as they were written.
type Inputs map[string]json.RawMessage

// DependenciesInput is the input that lists contracts that it depends on; they are
// among its DependsOn, too.
const DependenciesInput = "dependencies"

// TextInput is a text as a value.
func TextInput(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a text can always be encoded
		return json.RawMessage(`""`)
	}
	return b
}

// TextInputs are texts as inputs.
func TextInputs(texts map[string]string) Inputs {
	in := make(Inputs, len(texts))
	for name, s := range texts {
		in[name] = TextInput(s)
	}
	return in
}

// Text is the value of this name where it is a text, else "".
func (in Inputs) Text(name string) string {
	var s string
	if json.Unmarshal(in[name], &s) != nil {
		return ""
	}
	return s
}

// Dependencies are the contracts that the inputs list; an error where what is called
// so is no list of ids.
func (in Inputs) Dependencies() ([]ContractID, error) {
	raw, ok := in[DependenciesInput]
	if !ok {
		return nil, nil
	}
	var ids []ContractID
	if err := json.Unmarshal(raw, &ids); err != nil {
		return nil, Errorf(KindInvalid, "inputs.%s wants a list of ids of contracts; give other things another name", DependenciesInput)
	}
	return ids, nil
}

// Depending gives a contract with what its inputs list among what it depends on.
func Depending(c Contract) Contract {
	listed, err := c.Inputs.Dependencies()
	if err != nil { // a fault of the plan, which names it
		return c
	}
	for _, id := range listed {
		if !slices.Contains(c.DependsOn, id) {
			c.DependsOn = append(slices.Clone(c.DependsOn), id)
		}
	}
	return c
}

// ByContract parts what is about contracts by the one that each is about, in their order.
func ByContract[T any](all []T, of func(T) ContractID) map[ContractID][]T {
	out := map[ContractID][]T{}
	for _, v := range all {
		id := of(v)
		out[id] = append(out[id], v)
	}
	return out
}
