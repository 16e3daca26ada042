package verify

import (
	"context"
	"reflect"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/store"
	"agency/internal/suite"
	"agency/internal/verdicts"
)

// What the contract before this one proved stays proved of the work that goes on
// with it. Held against what this work began from, its tests prove nothing: they
// passed there already. Held against what the run began from they do, as long as
// they pass, in the form in which they were the proof.

// earlier is a proof that the run has given before.
type earlier struct {
	contract agency.ContractID
	tree     agency.OID // on which it was given
	proof    agency.Proof
}

// priorProofs looks at what the contract before proved.
type priorProofs struct {
	*job
	f *facts
}

// carry gathers what is proved already of the claim's criteria, and holds on the
// claim, too.
func (j priorProofs) carry(ctx context.Context) error {
	f := j.f
	if j.task.After == "" || !f.claimSuite.Ran {
		return nil
	}
	all, err := j.all(ctx)
	if err != nil {
		return err
	}
	f.before = map[string]earlier{}
	for _, e := range all {
		holds, err := j.holds(ctx, e)
		if err != nil {
			return err
		}
		if holds {
			f.before[e.proof.ID] = e
		}
	}
	return nil
}

// all are the proofs by tests that the last verdict on the contract before
// gave of the same criteria.
func (j priorProofs) all(ctx context.Context) (out []earlier, err error) {
	err = j.v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		given, err := verdicts.All(s, j.task.Run)
		for _, v := range given {
			if !v.Pass || v.ContractID != j.task.After {
				continue
			}
			out = nil
			for _, p := range v.Proofs {
				same := func(c agency.Criterion) bool {
					return c.ID == p.ID && c.Text == p.Text && (c.Check == nil || reflect.DeepEqual(c.Check, p.Check))
				}
				if p.Proof == agency.ProofVerified && len(p.Tests) > 0 && slices.ContainsFunc(j.task.Criteria, same) {
					out = append(out, earlier{v.ContractID, v.Tree, p})
				}
			}
		}
		return err
	})
	return out, err
}

// holds tells whether the tests of an earlier proof pass on the claim, and in the
// form that they had then.
func (j priorProofs) holds(ctx context.Context, e earlier) (_ bool, err error) {
	f := j.f
	fails := func(t string) bool {
		s, ran := f.claimSuite.Tests[t]
		return slices.Contains(f.retried.flaky, t) || s != agency.TestPassed && (ran || !f.scope.partial)
	}
	if slices.ContainsFunc(e.proof.Tests, fails) {
		return false, nil
	}
	since := *j.job
	since.task.base = e.tree
	since.change = newChange(since.task, j.trees, j.v.o.Syntax)
	g := &facts{task: since.task, testFacts: testFacts{claimSuite: f.claimSuite}}
	if g.changes, err = j.run.Changes(ctx, e.tree, j.task.claim); err != nil {
		return false, err
	}
	since.files.plan(ctx, planChecks(j.task))
	if err := since.readSources(ctx, g); err != nil {
		return false, err
	}
	g.sides = since.splitter.split(ctx, g.changes)
	tree := j.task.claim
	switch {
	case g.sides.changesTests():
		tree, err = since.splitter.oldTests(ctx, g.sides)
	case allPass(f.claimSuite, e.proof.Tests):
		return true, nil
	}
	if err != nil {
		return false, err
	}
	got, err := since.trial(ctx, g.apart(since.task.Commands), check.StageOldTests, tree, e.proof.Tests)
	return err == nil && allPass(got, e.proof.Tests), err
}

func allPass(s suite.Results, tests []string) bool {
	return !slices.ContainsFunc(tests, func(t string) bool { return s.Tests[t] != agency.TestPassed })
}

// carryProofs gives the criteria that nothing of this change proves the proof that
// they have already.
func (f facts) carryProofs(proofs []agency.Proof) {
	for i, p := range proofs {
		if e, ok := f.before[p.ID]; ok && p.Proof == agency.ProofAsserted {
			proofs[i].Proof, proofs[i].Tests, proofs[i].Check = agency.ProofVerified, e.proof.Tests, e.proof.Check
			proofs[i].Receipt = f.claimSuite.Receipt.ID
			proofs[i].Note = e.proof.Note + "; proved by " + string(e.contract) + ", and passes still"
		}
	}
}
