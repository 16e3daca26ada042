package api

import "agency/internal/agency"

// PlannedDoc is a plan as its author submitted it.
type PlannedDoc struct {
	Contract              agency.ContractID `json:"contract_id"`    // in which it was planned
	Role                  agency.RoleID     `json:"role,omitempty"` // its author's; none of one that a person gave
	RetryBudgetMultiplier int               `json:"retry_budget_multiplier"`
	Contracts             []agency.Contract `json:"contracts"`
	Tiers                 *agency.TierFacts `json:"tiers,omitempty"` // of a plan of workstreams
}

// TierPlanDoc is the plan of a tiered run. No run takes it: its visionary plans.
type TierPlanDoc struct {
	GoalAnchor string `json:"goal_anchor"`
	// Plans are the visionary's in their order: the first, and those that it made after a
	// failure or because it did not accept what landed.
	Plans []WorkstreamsDoc `json:"tier_plans"`
	// Work are the workstreams and their tasks, once they are contracts of the run; Steering
	// the contracts in which it plans, designs and judges.
	Work     []PlannedContract `json:"work"`
	Steering []PlannedContract `json:"steering"`
}

// WorkstreamsDoc is a plan of workstreams as its author submitted it.
type WorkstreamsDoc struct {
	Contract agency.ContractID `json:"contract_id"` // in which it was planned
	agency.TierFacts
	RetryBudgetMultiplier int                            `json:"retry_budget_multiplier"`
	Workstreams           []WorkstreamDoc                `json:"workstreams"`
	Groups                map[string][]agency.ContractID `json:"groups"`
}

// WorkstreamDoc is a workstream. Status is empty until it is a contract of the run.
type WorkstreamDoc struct {
	ID                 agency.ContractID   `json:"id"`
	Name               string              `json:"name"`
	Domain             string              `json:"domain,omitempty"`
	TierPath           []agency.Tier       `json:"tier_path"`
	ParallelGroup      string              `json:"parallel_group"`
	DependsOn          []agency.ContractID `json:"depends_on,omitempty"` // by the sequence of the groups
	Specialist         string              `json:"t2_specialist,omitempty"`
	Talent             string              `json:"talent,omitempty"`
	Resources          []string            `json:"resources,omitempty"`
	Notes              string              `json:"notes"`
	AcceptanceCriteria []agency.Criterion  `json:"acceptance_criteria"`
	Writes             []string            `json:"writes,omitempty"`
	RelevantFiles      []string            `json:"relevant_files,omitempty"`
	Constraints        []string            `json:"constraints,omitempty"`
	Status             agency.Status       `json:"status,omitempty"`
}

// PlannedContract is a contract of a tiered run in short.
type PlannedContract struct {
	ID     agency.ContractID `json:"id"`
	Of     agency.ContractID `json:"parent_id,omitempty"`
	Title  string            `json:"title"`
	Role   agency.RoleID     `json:"assigned_role"`
	Status agency.Status     `json:"status"`
}

// FeatureDoc is an entry of the backlog with what it waits for.
type FeatureDoc struct {
	agency.Feature
	Ready    bool               `json:"ready"` // may be worked on now
	WaitsFor []agency.FeatureID `json:"waits_for,omitempty"`
}

// Follower is a run that begins where another one stands.
type Follower struct {
	ID    agency.RunID     `json:"id"`
	What  agency.Following `json:"what"`
	State agency.RunState  `json:"state"`
	// TakenBack is the run that took back what this one merged, where that stands.
	TakenBack agency.RunID `json:"taken_back_by,omitempty"`
}

// StartedDoc is the first line of `run --json`, and all of it with --detach.
type StartedDoc struct {
	RunID  agency.RunID `json:"run_id"`
	Number int          `json:"number,omitempty"`
}
