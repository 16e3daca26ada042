package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/verify"
)

// A check that runs all tests cannot pass while others still mend what is
// theirs. It then counts for no more than the agent's word, and is made again
// when all have landed: what it shows then is a failure of its contract.

// besideOthers tells whether other contracts of the plan are open: what is red
// may be theirs to mend.
func (a *attempts) besideOthers(c flow.Ctx) bool {
	return a.crew != nil && slices.ContainsFunc(a.crew.plan, func(p agency.Contract) bool {
		return p.ID != a.contract.ID && p.AssignedRole != reviewer && !slices.Contains(a.crew.ended, p.ID)
	}) && flow.Version(c, "beside", 1) >= 1
}

// stand makes sure that a member of a team works on what others have landed:
// from the start, and again after a landing that did not go with it, or when
// what it needs has landed since.
func (a *attempts) stand(c flow.Ctx) error {
	if a.slot == nil {
		return nil
	}
	stands := a.n > 1 || a.how.stands
	if stands && !a.behind && (!a.landedSince() || flow.Version(c, "stands-anew", 1) < 1) {
		return nil
	}
	a.behind = false
	a.heardAll()
	head, err := flow.Call(c, land.HeadActivity, a.key("head"), land.BranchSpec{Run: a.in.Run})
	a.base, a.beside = head.Head, a.besideOthers(c)
	return err
}

// owing is a contract that landed with checks that are to be made again.
type owing struct {
	contract agency.ContractID
	criteria []agency.Criterion
}

// owed are the criteria of a verdict whose checks are to be made again.
func owed(v agency.Verdict) (out []agency.Criterion) {
	for _, p := range v.Proofs {
		if len(p.Others) > 0 {
			out = append(out, p.Criterion)
		}
	}
	return out
}

func (t *team) owes(id agency.ContractID, criteria []agency.Criterion) {
	if len(criteria) > 0 {
		t.owed = append(t.owed, owing{id, criteria})
	}
}

// checkOwed makes the checks again that could not pass before all had landed.
func (t *team) checkOwed(c flow.Ctx) error {
	if len(t.owed) == 0 {
		return nil
	}
	head, err := flow.Call(c, land.HeadActivity, "owed/head", land.BranchSpec{Run: t.in.Run})
	if err != nil {
		return err
	}
	for _, o := range t.owed {
		v, err := flow.Call(c, verify.TreeActivity, path("owed", o.contract), verify.Spec{
			Run: t.in.Run, Contract: o.contract, Type: agency.TypeVerify, Base: t.in.Base, Claim: head.Head, Criteria: o.criteria, Commands: t.in.Commands,
		})
		if err != nil {
			return err
		}
		if !v.Pass {
			t.failures = append(t.failures, failure{o.contract, fmt.Sprintf("%s: landed, but when all had landed: %s", o.contract, strings.Join(v.Reasons, "; "))})
		}
	}
	return nil
}
