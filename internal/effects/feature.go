package effects

import (
	"context"
	"fmt"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/verdicts"
)

// FeatureToMark asks for a tree in which the run's feature is done.
type FeatureToMark struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Feature  agency.FeatureID  `json:"feature"`
	At       agency.OID        `json:"at"`
}

// MarkedTree is the tree with the feature marked as done, or why none was made.
type MarkedTree struct {
	Tree   agency.OID `json:"tree,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// MarkFeature makes a tree in which the run's feature is done.
var MarkFeature = flow.Activity[FeatureToMark, MarkedTree]{Name: "mode.mark_feature"}

// markFeature gathers the evidence and makes the tree.
func (s *Activities) markFeature(ctx context.Context, _ agency.StepKey, in FeatureToMark) (out MarkedTree, err error) {
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
			ev := agency.NewEvent(in.Run, agency.SeverityWarning, text.FirstLine(out.Reason, 100), agency.Log{Text: out.Reason})
			ev.ContractID = in.Contract
			_, err := event.Append(tx, ev)
			return err
		})
	}
	return out, err
}

// mostProofs bounds what of a long plan's proofs stands in the backlog.
const mostProofs = 50

// evidence is what proves the contracts of a run that have landed.
func evidence(q store.Querier, run agency.RunID) (agency.FeatureEvidence, error) {
	e := agency.FeatureEvidence{Run: run}
	contracts, err := registry.Contracts(q, run)
	if err != nil {
		return e, err
	}
	verdicts, err := verdicts.All(q, run)
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
	e.Criteria, e.Receipts = e.Criteria[:min(len(e.Criteria), mostProofs)], e.Receipts[:min(len(e.Receipts), mostProofs)]
	return e, nil
}
