package api

import (
	"bytes"
	"encoding/gob"
	"net/url"

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
	// Checks is a tree with what each check printed.
	Checks Extent = "checks"
)

// ParseExtent reads what ends a request for a run.
func ParseExtent(q url.Values) (Extent, error) {
	switch e := Extent(q.Get("extent")); e {
	case Whole, Tree, Checks:
		return e, nil
	default:
		return Whole, agency.Errorf(agency.KindInvalid, "extent %q is not known to this version: want %s, %s, or none", e, Tree, Checks)
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

// TreeOf is a run of which only what a Tree has is there.
func TreeOf(d InspectDoc) InspectDoc {
	t := InspectDoc{
		RunDoc: d.RunDoc, Sessions: d.Sessions, Receipts: d.Receipts, Routing: d.Routing, Landings: d.Landings,
		Interventions: d.Interventions, Agents: d.Agents, Conflicts: d.Conflicts, Pattern: d.Pattern, Joints: d.Joints,
		Amendments: d.Amendments, Report: agency.Report{Acts: d.Report.Acts, Standing: agency.Standing{Words: d.Report.Words}},
		Contracts: make([]ContractDoc, len(d.Contracts)), Reviews: make([]agency.Review, len(d.Reviews)),
	}
	for i := range d.Contracts {
		c, to := &d.Contracts[i], &t.Contracts[i]
		to.ID, to.Title, to.Resources, to.RetryBudget, to.Attempts, to.Status = c.ID, c.Title, c.Resources, c.RetryBudget, c.Attempts, c.Status
		to.Stage, to.Error, to.CompletedAt, to.Leads, to.Progress, to.WaitsFor = c.Stage, c.Error, c.CompletedAt, c.Leads, c.Progress, c.WaitsFor
		to.Red, to.Unproved, to.Expectations, to.Unchecked = c.Red, c.Unproved, c.Expectations, c.Unchecked
		to.Criteria = make([]agency.Proof, len(c.Criteria))
		for j, p := range c.Criteria {
			to.Criteria[j] = agency.Proof{Criterion: agency.Criterion{Text: p.Text}, Proof: p.Proof, Note: p.Note, Missed: p.Missed, Tests: p.Tests}
		}
	}
	for i := range d.Reviews {
		r, to := &d.Reviews[i], &t.Reviews[i]
		to.ContractID, to.Attempt, to.Iteration, to.Verdict, to.Reason = r.ContractID, r.Attempt, r.Iteration, r.Verdict, r.Reason
		to.Summary, to.Issues, to.Notes = r.Summary, r.Issues, r.Notes
	}
	return t
}

// EncodeTree is the tree of a run as it goes over the wire: it is for clients alone, who
// read a large one in this form four times as fast as JSON. What is zero is not written.
func EncodeTree(d InspectDoc) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(TreeOf(d))
	return b.Bytes(), err
}

// decodeTree reads what EncodeTree wrote.
func decodeTree(b []byte) (d InspectDoc, err error) {
	err = gob.NewDecoder(bytes.NewReader(b)).Decode(&d)
	return d, err
}

// Turn is the turn that was given, if any; else 0.
func Turn(of []int) int {
	if len(of) == 0 {
		return 0
	}
	return of[0]
}

// Why says why the state of a run is what it is, for people; Failure why it failed, was interrupted or cancelled, Next what
// a person may do about it.
type Why struct {
	Reason  string          `json:"reason,omitempty"`
	Failure *agency.Failure `json:"failure,omitempty"`
	Next    []agency.Step   `json:"next,omitempty"`
}
