package api

import (
	"net/url"
	"time"

	"agency/internal/agency"
)

// Extent is how much of a run whoever looks at it needs at least.
type Extent string

// The extents.
const (
	Whole Extent = ""
	// Tree is what the text of agency inspect and what stands beside a gate are made of: of
	// a large run a quarter of the whole, and of its cost the limits and what is to come.
	Tree Extent = "tree"
)

// ParseExtent reads what ends a request for a run.
func ParseExtent(q url.Values) (Extent, error) {
	switch e := Extent(q.Get("extent")); e {
	case Whole, Tree:
		return e, nil
	default:
		return Whole, agency.Errorf(agency.KindInvalid, "extent %q is not known to this version: want %s, or none", e, Tree)
	}
}

// OneOf is the extent that was given, if any.
func OneOf(of []Extent) Extent {
	if len(of) == 0 {
		return Whole
	}
	return of[0]
}

func (e Extent) query() url.Values {
	if e == Whole {
		return nil
	}
	return url.Values{"extent": {string(e)}}
}

// TreeDoc is an InspectDoc of which only the keys of a Tree are written: read as an
// InspectDoc it lacks all else.
type TreeDoc struct {
	RunDoc
	Contracts     []treeContract         `json:"contracts"`
	Sessions      []SessionDoc           `json:"sessions"`
	Receipts      []ReceiptDoc           `json:"receipts"`
	Reviews       []treeReview           `json:"reviews"`
	Routing       []RoutingDoc           `json:"routing,omitempty"`
	Landings      []LandingDoc           `json:"landings"`
	Interventions []agency.Intervention  `json:"interventions"`
	Agents        []AgentDoc             `json:"agents"`
	Conflicts     []ConflictDoc          `json:"conflicts"`
	Pattern       []PatternDoc           `json:"pattern,omitempty"`
	Joints        []JointDoc             `json:"joint_verdicts,omitempty"`
	Amendments    []agency.PathAmendment `json:"amendments,omitempty"`
	Report        treeReport             `json:"report"`
}

// treeContract is a ContractDoc in a tree.
type treeContract struct {
	ID           agency.ContractID    `json:"id"`
	Title        string               `json:"title"`
	Resources    []string             `json:"resources,omitempty"`
	RetryBudget  int                  `json:"retry_budget"`
	Attempts     int                  `json:"attempts"`
	Status       agency.Status        `json:"status"`
	Stage        agency.Stage         `json:"stage,omitempty"`
	Error        string               `json:"error,omitempty"`
	CompletedAt  time.Time            `json:"completed_at,omitzero"`
	Leads        bool                 `json:"leads,omitempty"`
	Progress     float64              `json:"progress_percent"`
	Criteria     []treeProof          `json:"criteria"`
	WaitsFor     string               `json:"waits_for,omitempty"`
	Red          []agency.Red         `json:"red,omitempty"`
	Unproved     *agency.Unproved     `json:"unproved,omitempty"`
	Expectations []agency.Expectation `json:"expectations,omitempty"`
	Unchecked    []string             `json:"unchecked,omitempty"`
}

// treeProof is an agency.Proof in a tree.
type treeProof struct {
	Text   string           `json:"text"`
	Proof  agency.ProofKind `json:"proof"`
	Note   string           `json:"note,omitempty"`
	Missed bool             `json:"missed,omitempty"`
	Tests  []string         `json:"tests,omitempty"`
}

// treeReview is an agency.Review in a tree.
type treeReview struct {
	Contract  agency.ContractID    `json:"contract_id"`
	Attempt   int                  `json:"attempt"`
	Iteration int                  `json:"iteration"`
	Verdict   agency.ReviewVerdict `json:"verdict"`
	Reason    string               `json:"reason,omitempty"`
	Summary   string               `json:"summary"`
	Issues    []agency.Issue       `json:"issues,omitempty"`
	Notes     []agency.Issue       `json:"notes,omitempty"`
}

// treeReport is an agency.Report in a tree.
type treeReport struct {
	Acts []agency.Act `json:"acts_elsewhere,omitempty"`
}

// TreeOf is a run as a Tree.
func TreeOf(d InspectDoc) TreeDoc {
	t := TreeDoc{
		RunDoc: d.RunDoc, Sessions: d.Sessions, Receipts: d.Receipts, Routing: d.Routing, Landings: d.Landings,
		Interventions: d.Interventions, Agents: d.Agents, Conflicts: d.Conflicts, Pattern: d.Pattern, Joints: d.Joints,
		Amendments: d.Amendments, Report: treeReport{d.Report.Acts},
		Contracts: make([]treeContract, len(d.Contracts)), Reviews: make([]treeReview, len(d.Reviews)),
	}
	for i := range d.Contracts {
		c := &d.Contracts[i]
		t.Contracts[i] = treeContract{
			ID: c.ID, Title: c.Title, Resources: c.Resources, RetryBudget: c.RetryBudget, Attempts: c.Attempts, Status: c.Status,
			Stage: c.Stage, Error: c.Error, CompletedAt: c.CompletedAt, Leads: c.Leads, Progress: c.Progress, Criteria: make([]treeProof, len(c.Criteria)),
			WaitsFor: c.WaitsFor, Red: c.Red, Unproved: c.Unproved, Expectations: c.Expectations, Unchecked: c.Unchecked,
		}
		for j, p := range c.Criteria {
			t.Contracts[i].Criteria[j] = treeProof{Text: p.Text, Proof: p.Proof, Note: p.Note, Missed: p.Missed, Tests: p.Tests}
		}
	}
	for i := range d.Reviews {
		r := &d.Reviews[i]
		t.Reviews[i] = treeReview{
			Contract: r.ContractID, Attempt: r.Attempt, Iteration: r.Iteration, Verdict: r.Verdict, Reason: r.Reason,
			Summary: r.Summary, Issues: r.Issues, Notes: r.Notes,
		}
	}
	return t
}

// inspect is the run that a tree is of, with what a tree has.
func (t TreeDoc) inspect() InspectDoc {
	d := InspectDoc{
		RunDoc: t.RunDoc, Sessions: t.Sessions, Receipts: t.Receipts, Routing: t.Routing, Landings: t.Landings,
		Interventions: t.Interventions, Agents: t.Agents, Conflicts: t.Conflicts, Pattern: t.Pattern, Joints: t.Joints,
		Amendments: t.Amendments, Report: agency.Report{Acts: t.Report.Acts},
		Contracts: make([]ContractDoc, len(t.Contracts)), Reviews: make([]agency.Review, len(t.Reviews)),
	}
	for i := range t.Contracts {
		c, to := &t.Contracts[i], &d.Contracts[i]
		to.ID, to.Title, to.Resources, to.RetryBudget, to.Attempts, to.Status = c.ID, c.Title, c.Resources, c.RetryBudget, c.Attempts, c.Status
		to.Stage, to.Error, to.CompletedAt, to.Leads, to.Progress, to.WaitsFor = c.Stage, c.Error, c.CompletedAt, c.Leads, c.Progress, c.WaitsFor
		to.Red, to.Unproved, to.Expectations, to.Unchecked = c.Red, c.Unproved, c.Expectations, c.Unchecked
		to.Criteria = make([]agency.Proof, len(c.Criteria))
		for j, p := range c.Criteria {
			to.Criteria[j] = agency.Proof{Criterion: agency.Criterion{Text: p.Text}, Proof: p.Proof, Note: p.Note, Missed: p.Missed, Tests: p.Tests}
		}
	}
	for i := range t.Reviews {
		r, to := &t.Reviews[i], &d.Reviews[i]
		to.ContractID, to.Attempt, to.Iteration, to.Verdict, to.Reason = r.Contract, r.Attempt, r.Iteration, r.Verdict, r.Reason
		to.Summary, to.Issues, to.Notes = r.Summary, r.Issues, r.Notes
	}
	return d
}
