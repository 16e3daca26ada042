package agency

import (
	"cmp"
	"fmt"
)

// Rollback says from which files the attempt after a failed one begins.
type Rollback string

// The rules.
const (
	RollbackKeep Rollback = "keep" // as the last attempt left them
	RollbackBest Rollback = "best" // of the claim that verified best
	RollbackBase Rollback = "base" // what the contract's work began from
)

// Tried is a claim of a contract, and how good it was.
type Tried struct {
	Attempt    int
	Tree, Base OID
	Pass       bool
	Met, Red   int     // criteria, and what was found wrong
	Score      float64 // of its review
}

// TriedBy is what a verdict makes of a claim.
func TriedBy(v Verdict, base OID) Tried {
	t := Tried{Attempt: v.Attempt, Tree: v.Tree, Base: base, Pass: v.Pass, Red: len(v.Regressions)}
	for _, p := range v.Proofs {
		if p.Proof != ProofOpen {
			t.Met++
		}
	}
	if !v.Pass {
		t.Red += len(v.Reasons)
	}
	return t
}

func (t Tried) better(o Tried) int {
	pass := func(t Tried) int {
		if t.Pass {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(pass(t), pass(o)), cmp.Compare(t.Met, o.Met), cmp.Compare(o.Red, t.Red), cmp.Compare(t.Score, o.Score))
}

// TakenBack is where an attempt begins that does not go on from the files as the one
// before left them, and why.
type TakenBack struct {
	To   OID    `json:"to"` // a commit or tree
	What string `json:"what"`
	Why  string `json:"why"`
	// Left names the checkpoint that holds what was left; empty: it could not be
	// recorded.
	Left string `json:"left,omitempty"`
}

// AfterFailure decides from where the next attempt begins: by the run's rule, or as
// asked by the critic or overseer who says that the way was wrong; asked is empty
// where nobody does. Left are the files as they stand, base what the work began from,
// tried the claims so far. Nil: it goes on from the files as they stand. What was not
// verified is worth nothing, and a claim on another base is not compared: its files lack
// what landed since.
func AfterFailure(rule, asked Rollback, left, base OID, tried []Tried) *TakenBack {
	why := "the setting rollback is " + string(rule)
	if asked != "" {
		why = "the way was found to be wrong"
	}
	if rule != RollbackBase && asked != RollbackBase && (rule == RollbackBest || asked == RollbackBest) {
		var best, stands Tried
		for _, t := range tried {
			if t.Base != base {
				continue
			}
			if t.Tree == left {
				stands = t
			}
			if t.better(best) >= 0 {
				best = t
			}
		}
		if best.Tree != "" && best.Tree != left && best.better(stands) > 0 { // else none is worth anything
			return &TakenBack{To: best.Tree, What: fmt.Sprintf("the claim of attempt %d, which verified best", best.Attempt), Why: why}
		}
		if asked == "" || stands.Met > 0 {
			return nil
		}
	} else if rule != RollbackBase && asked == "" {
		return nil
	}
	return &TakenBack{To: base, What: "what the work began from", Why: why}
}
