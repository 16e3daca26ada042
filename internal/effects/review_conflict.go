package effects

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/verdicts"
)

// ReviewToRecord is a review for its record.
type ReviewToRecord struct {
	Run    agency.RunID  `json:"run"`
	Review agency.Review `json:"review"`
}

// RecordedReview is what the record says of a review; Against is set where another
// reviewer has judged the same files otherwise.
type RecordedReview struct {
	Against *ReviewConflict `json:"against,omitempty"`
}

// ReviewConflict is a conflict between a review and an earlier one.
type ReviewConflict struct {
	Conflict int64         `json:"conflict"`
	Other    agency.Review `json:"other"`
	// Gate is where a person has let the work land in spite of Other.
	Gate agency.GateID `json:"gate,omitempty"`
}

// ReviewConflictGate is a conflict of reviews with the gate that decides it.
type ReviewConflictGate struct {
	Run      agency.RunID  `json:"run"`
	Conflict int64         `json:"conflict"`
	Gate     agency.GateID `json:"gate"`
}

// Two reviewers who judge the same files differently are a conflict on the
// board. Where nothing but the reviews decides, a person does, with both in
// view; otherwise the work goes on, until a later review agrees.
var (
	RecordReview           = flow.Activity[ReviewToRecord, RecordedReview]{Name: "mode.review"}
	EscalateReviewConflict = flow.Activity[ReviewConflictGate, flow.None]{Name: "mode.reviews_escalated"}
	ResolveReviewConflict  = flow.Activity[ReviewConflictGate, flow.None]{Name: "mode.reviews_settled"}
)

// recordReview records a review, and on the board that another reviewer judged the
// same files otherwise, or that those who did now agree.
func (s *Activities) recordReview(ctx context.Context, key agency.StepKey, in ReviewToRecord) (out RecordedReview, err error) {
	var moot []board.Conflict
	_, err = s.write(ctx, func(tx *store.Tx) error {
		out, moot = RecordedReview{}, nil
		if err := registry.AddReview(tx, in.Run, key, in.Review); err != nil {
			return err
		}
		all, err := registry.Reviews(tx, in.Run)
		if err != nil {
			return err
		}
		if out.Against, err = recordReviewConflict(tx, key, in, all); err != nil {
			return err
		}
		open, err := board.Unresolved(tx, in.Run)
		for _, c := range open {
			if c.Kind == board.ReviewDisagreement && slices.Contains(c.Agents, in.Review.Reviewer) && agree(c.Agents, all) {
				moot = append(moot, c)
			}
		}
		return err
	})
	for _, c := range moot {
		if err == nil {
			err = s.resolveByAgreement(ctx, key, in, c)
		}
	}
	return out, err
}

func approves(r agency.Review) bool { return r.Verdict == agency.ReviewApprove }

// recordReviewConflict records that another reviewer has judged the files of a review
// otherwise.
func recordReviewConflict(tx *store.Tx, key agency.StepKey, in ReviewToRecord, all []agency.Review) (*ReviewConflict, error) {
	i := slices.IndexFunc(all, func(o agency.Review) bool {
		return o.Tree == in.Review.Tree && o.Reviewer != in.Review.Reviewer && approves(o) != approves(in.Review)
	})
	if i < 0 {
		return nil, nil
	}
	c, err := board.RecordConflict(tx, in.Run, board.Conflict{
		Kind: board.ReviewDisagreement, Resource: string(in.Review.ContractID),
		Agents: []agency.AgentID{all[i].Reviewer, in.Review.Reviewer}, Evidence: []agency.MessageID{agency.MessageID(key)},
	})
	if err != nil {
		return nil, err
	}
	out := &ReviewConflict{Conflict: c.ID, Other: all[i]}
	if approves(in.Review) {
		out.Gate, err = gateThatLetLand(tx, in.Run, all[i].ContractID)
	}
	return out, err
}

// gateThatLetLand is the gate at which a person let a contract land whatever its critic
// said; empty: there was none.
func gateThatLetLand(q store.Querier, run agency.RunID, contract agency.ContractID) (at agency.GateID, err error) {
	gates, err := registry.Gates(q, run)
	for _, g := range gates {
		if g.Review && g.ContractID == contract && !g.Open() && g.Decision.Verb == agency.Approve {
			at = g.ID
		}
	}
	return at, err
}

// agree tells whether the last verdicts of reviewers are the same.
func agree(reviewers []agency.AgentID, all []agency.Review) bool {
	last := map[agency.AgentID]bool{}
	for _, r := range all {
		last[r.Reviewer] = approves(r)
	}
	for _, r := range reviewers {
		good, ok := last[r]
		if !ok || good != last[reviewers[0]] {
			return false
		}
	}
	return true
}

// resolveByAgreement resolves a conflict by the review after which nobody disagrees. An
// approval counts where the work that it is of is verified.
func (s *Activities) resolveByAgreement(ctx context.Context, key agency.StepKey, in ReviewToRecord, c board.Conflict) error {
	err := board.Resolve(ctx, s.db, s.fence, in.Run, c.ID, board.Resolution{
		By: string(in.Review.Reviewer), How: "a later review agrees: " + in.Review.Line(),
		Proof: board.Proof{Kind: board.ProofReview, Ref: string(key)},
		Check: func(ctx context.Context, c board.Conflict, _ board.Proof) error {
			if !approves(in.Review) {
				return nil
			}
			return s.db.Read(ctx, func(q *store.Snapshot) error { return verifiedTree(q, in.Run, in.Review.Tree) })
		},
	})
	switch agency.KindOf(err) {
	case agency.KindInvalid, agency.KindConflict: // not verified, or decided meanwhile: it stays as it is
		return nil
	}
	return err
}

// verifiedTree refuses a tree that nothing has verified.
func verifiedTree(q *store.Snapshot, run agency.RunID, tree agency.OID) error {
	verdicts, err := verdicts.All(q, run)
	if err != nil || slices.ContainsFunc(verdicts, func(v agency.Verdict) bool { return v.Pass && v.Tree == tree }) {
		return err
	}
	receipts, err := check.Receipts(q, run)
	if err != nil {
		return err
	}
	landing := slices.DeleteFunc(receipts, func(r agency.Receipt) bool { return r.Tree != tree || r.Stage != string(check.StageLanding) })
	if len(landing) == 0 || slices.ContainsFunc(landing, func(r agency.Receipt) bool { return r.ExitCode != 0 }) {
		return agency.Errorf(agency.KindInvalid, "no verification of tree %s has passed", tree)
	}
	return nil
}

// escalateReviewConflict shows a conflict of reviews as with a person, unless it is decided.
func escalateReviewConflict(tx *store.Tx, _ agency.StepKey, in ReviewConflictGate) error {
	err := board.Escalate(tx, in.Run, in.Conflict, in.Gate)
	if agency.KindOf(err) == agency.KindConflict {
		return nil
	}
	return err
}

// resolveReviewConflict resolves a conflict of reviews by a gate's answer; the first
// resolution stays.
func (s *Activities) resolveReviewConflict(ctx context.Context, _ agency.StepKey, in ReviewConflictGate) (flow.None, error) {
	g, err := store.Get(ctx, s.db, registry.Gate, in.Gate)
	if err != nil {
		return flow.None{}, err
	}
	err = board.Resolve(ctx, s.db, s.fence, in.Run, in.Conflict, board.Resolution{
		By: cmp.Or(g.Decision.By, agency.FromHuman), How: "a person decided: " + strings.TrimSuffix(string(g.Decision.Verb)+": "+g.Decision.Note, ": "),
		Proof: board.Proof{Kind: board.ProofGate, Ref: string(g.ID)},
		Check: func(context.Context, board.Conflict, board.Proof) error {
			if g.Open() {
				return agency.Errorf(agency.KindInvalid, "gate %s is open", g.ID)
			}
			return nil
		},
	})
	if agency.KindOf(err) == agency.KindConflict {
		err = nil
	}
	return flow.None{}, err
}
