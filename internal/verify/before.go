package verify

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/store"
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

// provedBefore gathers what is proved already of the claim's criteria, and holds
// on the claim, too.
func (j *job) provedBefore(ctx context.Context, f *facts) error {
	if j.task.After == "" || !f.claimSuite.ran {
		return nil
	}
	all, err := j.earlier(ctx)
	if err != nil {
		return err
	}
	f.before = map[string]earlier{}
	for _, e := range all {
		holds, err := j.holds(ctx, f, e)
		if err != nil {
			return err
		}
		if holds {
			f.before[e.proof.ID] = e
		}
	}
	return nil
}

// earlier are the proofs by tests that the last verdict on the contract before
// gave of the same criteria.
func (j *job) earlier(ctx context.Context) (out []earlier, err error) {
	err = j.v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		verdicts, err := Verdicts(s, j.task.Run)
		for _, v := range verdicts {
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
func (j *job) holds(ctx context.Context, f *facts, e earlier) (_ bool, err error) {
	fails := func(t string) bool {
		s, ran := f.claimSuite.tests[t]
		return slices.Contains(f.retried.flaky, t) || s != agency.TestPassed && (ran || !f.scope.partial)
	}
	if slices.ContainsFunc(e.proof.Tests, fails) {
		return false, nil
	}
	since := *j
	since.task.base, since.lookup = e.tree, lookup{}
	defer func() { j.took = since.took }()
	g := &facts{task: since.task, claimSuite: f.claimSuite}
	if g.changes, err = j.run.Changes(ctx, e.tree, j.task.claim); err != nil {
		return false, err
	}
	if err := errors.Join(since.plannedScripts(ctx), since.readSources(ctx, g)); err != nil {
		return false, err
	}
	if g.sides, err = since.part(ctx, g); err != nil {
		return false, err
	}
	tree := j.task.claim
	switch {
	case g.sides.changesTests():
		tree, err = since.oldTests(ctx, g.sides)
	case allPass(f.claimSuite, e.proof.Tests):
		return true, nil
	}
	if err != nil {
		return false, err
	}
	got, err := since.trial(ctx, g, check.StageOldTests, tree, e.proof.Tests)
	f.madeWithout = append(f.madeWithout, g.madeWithout...)
	return err == nil && allPass(got, e.proof.Tests), err
}

func allPass(s suite, tests []string) bool {
	return !slices.ContainsFunc(tests, func(t string) bool { return s.tests[t] != agency.TestPassed })
}

// carry gives the criteria that nothing of this change proves the proof that they
// have already.
func (f facts) carry(proofs []agency.Proof) {
	for i, p := range proofs {
		if e, ok := f.before[p.ID]; ok && p.Proof == agency.ProofAsserted {
			proofs[i].Proof, proofs[i].Tests, proofs[i].Check = agency.ProofVerified, e.proof.Tests, e.proof.Check
			proofs[i].Receipt = f.claimSuite.receipt.ID
			proofs[i].Note = e.proof.Note + "; proved by " + string(e.contract) + ", and passes still"
		}
	}
}
