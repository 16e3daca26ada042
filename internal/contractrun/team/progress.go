package team

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/verify"
)

// progress is a plan and what has come of it by now.
type progress struct {
	in       Input
	Shared   *contractrun.Shared
	All      []agency.Contract // of the plan
	deferred []deferredChecks
	failures []failure
	causes   map[agency.ContractID]agency.Failure // of all that ever failed
	stopped  agency.Failure                       // why all of it was stopped
	// Unplanned is why the plan that goes with what was started never came.
	Unplanned string
	NoPlan    agency.Failure // of the same
}

// failure is a contract that failed for good, and that nothing replaces.
type failure struct {
	id   agency.ContractID
	line string
	// blocked are those that depend on it.
	blocked []agency.ContractID
	cause   agency.Failure
}

// knows takes more contracts into the plan.
func (t *progress) knows(more []agency.Contract) {
	t.All = append(t.All, more...)
	t.Shared.Plan = t.All
}

func (t *progress) options() schedule.Options {
	return schedule.Options{
		Run: t.in.Run, Of: t.Shared.Lead.Parent, Limits: schedule.Limits{Parallel: t.in.Parallel, Shared: t.in.SharedWrites}, MaxWaiting: t.in.MaxWaitingGates,
	}
}

// Wholly tells whether all of a plan was carried out.
func (t *progress) Wholly() bool { return len(t.failures) == 0 && t.Unplanned == "" }

// Failed tells whether a contract failed for good, or never started because of one that did,
// and nothing replaces it.
func (t *progress) Failed(id agency.ContractID) bool {
	return slices.ContainsFunc(t.failures, func(f failure) bool { return f.id == id || slices.Contains(f.blocked, id) })
}

// Planless says, before what became of contracts that were started one by one,
// that the plan for the rest never came.
func (t *progress) Planless() string {
	if t.Unplanned == "" {
		return ""
	}
	return "no plan came for the rest; "
}

// FailureLines are what failed for good, a line each.
func (t *progress) FailureLines() []string {
	lines := make([]string, len(t.failures))
	for i, f := range t.failures {
		lines[i] = f.line
	}
	if t.Unplanned != "" {
		lines = append(lines, "the plan for the rest: "+t.Unplanned)
	}
	return lines
}

// WhatFailed is the reason of a plan of which a part failed for good.
func (t *progress) WhatFailed() string {
	lines := strings.Join(t.FailureLines(), "; ")
	if len(t.failures) == 0 {
		return lines
	}
	return fmt.Sprintf("%d of %s failed: %s", len(t.failures), agency.Things(len(t.All), "contract", "contracts"), lines)
}

// Cause is why it came to nothing, or not to all of it: what stopped it, else what failed
// first of what nothing replaces; why no plan came, where nothing did. The zero failure:
// nothing failed.
func (t *progress) Cause() agency.Failure {
	if t.stopped.Kind != "" {
		return t.stopped
	}
	for _, f := range t.failures {
		if f.cause.Kind != "" { // what never started failed by another one
			return f.cause
		}
	}
	return t.NoPlan
}

// FellThrough tells whether a plan came to nothing: it failed for good, what
// replaced it too, and nothing of it landed. A review lands nothing.
func (t *progress) FellThrough(out schedule.Outcome) bool {
	if t.Wholly() {
		return false
	}
	for _, p := range t.All {
		if slices.Contains(out.Landed, p.ID) && p.AssignedRole != agency.RoleReviewer && p.Type != agency.TypeDesign || p.ID == agency.MainContract {
			return false
		}
	}
	return true
}

// deferredChecks is a contract that landed with checks that are to be made
// again: they run all tests, and could not pass while others mended theirs.
type deferredChecks struct {
	contract agency.ContractID
	criteria []agency.Criterion
}

func (t *progress) deferChecks(id agency.ContractID, criteria []agency.Criterion) {
	if len(criteria) > 0 {
		t.deferred = append(t.deferred, deferredChecks{id, criteria})
	}
}

// CheckDeferred makes the checks again that could not pass before all had landed.
func (t *progress) CheckDeferred(c flow.Ctx) error {
	if len(t.deferred) == 0 {
		return nil
	}
	head, err := flow.Call(c, land.HeadActivity, "owed/head", t.Shared.Level())
	if err != nil {
		return err
	}
	for _, o := range t.deferred {
		v, err := flow.Call(c, verify.TreeActivity, contractrun.Path("owed", o.contract), verify.Spec{
			Run: t.in.Run, Contract: o.contract, Type: agency.TypeVerify, Base: t.in.Base, Claim: head.Head, Criteria: o.criteria, Commands: t.in.Commands,
		})
		if err != nil {
			return err
		}
		if !v.Pass {
			why := strings.Join(v.Reasons, "; ")
			t.failures = append(t.failures, failure{
				id: o.contract, line: fmt.Sprintf("%s: integrated, but when all were: %s", o.contract, why),
				cause: agency.Failure{Kind: agency.FailedChecks, Cause: "it was integrated, but when all were " + why, Contract: o.contract, Team: true},
			})
		}
	}
	return nil
}
