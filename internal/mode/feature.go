package mode

import (
	"context"
	"fmt"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/verify"
)

// Backlog edits the backlog in a checkout of the run.
type Backlog interface {
	// MarkDone makes a checkout of a commit whose backlog says that a feature is
	// done, and gives its tree. The same again gives the same. KindInvalid and
	// KindNotFound: the backlog of that commit cannot say so.
	MarkDone(ctx context.Context, run agency.RunID, workspace string, at agency.OID, f agency.FeatureID, e agency.FeatureEvidence) (agency.OID, error)
}

// BacklogContract is the id of the contract by which the harness itself marks
// a feature; no plan may take it.
const BacklogContract agency.ContractID = "features.json"

// marking asks for a tree in which the run's feature is done.
type marking struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Feature  agency.FeatureID  `json:"feature"`
	At       agency.OID        `json:"at"`
}

// marked is that tree, or why there is none.
type marked struct {
	Tree   agency.OID `json:"tree,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

var markFeature = flow.Activity[marking, marked]{Name: "mode.mark_feature"}

// done lands the word that the run's feature is done on top of its work, so
// that both reach the target by one merge. Without a feature, or where the
// backlog cannot say it, the work goes on alone; a warning tells why.
func done(c flow.Ctx, in Input, landed land.Landed, again bool) (land.Landed, error) {
	if in.Feature == nil {
		return landed, nil
	}
	a := &attempts{in: in, n: 1, base: landed.Commit, role: generalist, contract: agency.Contract{
		ID: BacklogContract, RunID: in.Run, FeatureID: in.Feature.ID, Type: agency.TypeVerify, AssignedRole: generalist,
		Title:       firstLine("Mark " + string(in.Feature.ID) + " as done"),
		Description: "The harness itself writes it into features.json, with what proves it.", GoalAnchor: in.Goal, RetryBudget: 1,
		AcceptanceCriteria: []agency.Criterion{},
	}}
	if again {
		a.contract.ID += "-2"
	}
	if _, err := flow.Call(c, createContract, path(a.contract.ID, "create"), a.contract); err != nil {
		return landed, err
	}
	out, err := flow.Call(c, markFeature, path(a.contract.ID, "mark"), marking{
		Run: in.Run, Contract: a.contract.ID, Feature: in.Feature.ID, At: landed.Commit,
	})
	if err != nil {
		return landed, err
	}
	if out.Reason != "" {
		return landed, a.withdraw(c, out.Reason)
	}
	for _, s := range []struct {
		key  string
		step step
	}{
		{"start", step{Started: &agency.Started{Agent: a.agent()}}},
		{"claim", step{ClaimMade: &agency.ClaimMade{}}},
		{"verified", step{Verified: &agency.Verified{}}},
		{"landing", step{LandingBegun: &agency.LandingBegun{}}},
	} {
		if err := a.advance(c, s.key, s.step); err != nil {
			return landed, err
		}
	}
	end, err := flow.Call(c, land.Activity, a.key("land"), land.Spec{Run: in.Run, Contract: a.contract.ID, Tree: out.Tree})
	switch {
	case err != nil:
		return landed, err
	case end.Landed == nil:
		return landed, a.giveUp(c, end.Reason)
	}
	landed.Commit = end.Landed.Commit // its tree stays the work's: that is what was judged
	return landed, a.advance(c, "landed", step{HasLanded: &agency.HasLanded{}})
}

// mark gathers the evidence and makes the tree.
func (s *Steps) mark(ctx context.Context, _ agency.StepKey, in marking) (out marked, err error) {
	var e agency.FeatureEvidence
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		e, err = evidence(q, in.Run)
		return err
	})
	if err != nil {
		return out, err
	}
	out.Tree, err = s.backlog.MarkDone(ctx, in.Run, string(in.Contract), in.At, in.Feature, e)
	switch agency.KindOf(err) {
	case agency.KindInvalid, agency.KindNotFound, agency.KindDenied, agency.KindConflict:
		if err == nil {
			return out, nil
		}
		out.Reason = fmt.Sprintf("feature %s is not marked as done: %v", in.Feature, err)
		_, err = s.write(ctx, func(tx *store.Tx) error {
			ev := agency.NewEvent(in.Run, agency.SeverityWarning, firstLine(out.Reason), agency.Log{Text: out.Reason})
			ev.ContractID = in.Contract
			_, err := event.Append(tx, ev)
			return err
		})
	}
	return out, err
}

// most bounds what of a long plan's proofs stands in the backlog.
const most = 50

// evidence is what proves the contracts of a run that have landed.
func evidence(q store.Querier, run agency.RunID) (agency.FeatureEvidence, error) {
	e := agency.FeatureEvidence{Run: run}
	contracts, err := registry.Contracts(q, run)
	if err != nil {
		return e, err
	}
	verdicts, err := verify.Verdicts(q, run)
	if err != nil {
		return e, err
	}
	last := map[agency.ContractID]agency.Verdict{}
	for _, v := range verdicts {
		if v.Pass {
			last[v.ContractID] = v
		}
	}
	for _, c := range contracts {
		v, ok := last[c.ID]
		if !ok || c.Status != agency.StatusComplete {
			continue
		}
		for _, p := range v.Proofs {
			e.Criteria = append(e.Criteria, fmt.Sprintf("%s/%s: %s", c.ID, p.ID, p.Proof))
		}
		e.Receipts = append(e.Receipts, v.Receipts...)
	}
	e.Criteria, e.Receipts = e.Criteria[:min(len(e.Criteria), most)], e.Receipts[:min(len(e.Receipts), most)]
	return e, nil
}
