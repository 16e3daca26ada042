package effects

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/store"
)

// What acts on others' machines holds the merge gate against --yes, unless a
// person declared it for each contract that brings it.
func TestWhatActsElsewhereHoldsTheGate(t *testing.T) {
	const ci, hook = ".github/workflows/ci.yml", ".husky/pre-commit"
	both := map[agency.ContractID][]string{"a": {ci}, "b": {"src/**", hook}}
	for name, tt := range map[string]struct {
		acts    []string
		given   map[agency.ContractID][]string // by a plan from a person
		planned map[agency.ContractID][]string // shown at a plan gate
		by      string                         // who approved that
		held    []string
		want    string // in the body
	}{
		"nothing acts":          {},
		"nobody declared":       {acts: []string{ci}, held: []string{ci}, want: ci + ": acts (by contract a)"},
		"given by a person":     {acts: []string{ci}, given: both, want: ci + ": acts (by contract a, declared in its writes)"},
		"a person saw the plan": {acts: []string{ci}, planned: both, by: "ada", want: "declared in its writes"},
		"--yes took the plan":   {acts: []string{ci}, planned: both, by: agency.ByYes, held: []string{ci}},
		"another's declaration": {acts: []string{ci}, given: map[agency.ContractID][]string{"b": {ci}}, held: []string{ci}},
		"one of two":            {acts: []string{ci, hook}, given: map[agency.ContractID][]string{"b": {hook}}, held: []string{ci}},
		"both bring it":         {acts: []string{".npmrc"}, given: map[agency.ContractID][]string{"a": {".npmrc"}}, held: []string{".npmrc"}, want: "by contract a, b"},
		"both declared it":      {acts: []string{".npmrc"}, given: map[agency.ContractID][]string{"a": {".npmrc"}, "b": {".npmrc"}}},
		"a commit by hand":      {acts: []string{"other"}, given: both, held: []string{"other"}, want: "of no contract"},
		"a glob of sources":     {acts: []string{"src/.envrc"}, given: both, held: []string{"src/.envrc"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			added := func(paths ...string) (out []git.Change) {
				for _, p := range paths {
					out = append(out, git.Change{Path: p, Status: 'A'})
				}
				return out
			}
			err := s.db.Write(context.Background(), func(tx *store.Tx) error {
				for _, id := range []agency.ContractID{"a", "b"} {
					// What agents declare, or widened since, is no declaration of a person.
					if err := registry.CreateContract(tx, agency.Contract{ID: id, RunID: run, AssignedRole: "scaffolder", Writes: []string{ci, hook, ".npmrc", "src/.envrc"}}); err != nil {
						return err
					}
					if _, err := event.Append(tx, agency.NewEvent(run, agency.SeverityInfo, "", agency.Merged{Contract: id, Commit: "c-" + agency.OID(id)})); err != nil {
						return err
					}
				}
				if _, err := tx.Exec(`UPDATE contracts SET status = 'complete', doc = json_set(doc, '$.status', 'complete')`); err != nil || tt.planned == nil {
					return err
				}
				if err := registry.OpenGate(tx, agency.Gate{ID: "plan-1", RunID: run, Kind: agency.GatePlan, Writes: tt.planned}); err != nil {
					return err
				}
				_, err := registry.Decide(tx, "plan-1", agency.Decision{Verb: agency.Approve, By: tt.by})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			has := shop{landed: []git.CommitChanges{{Commit: "c-b", Changes: added(hook, ".npmrc", "src/.envrc")}, {Commit: "c-a", Changes: added(ci, ".npmrc")}}}
			for _, p := range tt.acts {
				has.acts = append(has.acts, agency.Act{Path: p, Does: "acts"})
			}
			spec := mainGate
			spec.Contract, spec.Given = "", tt.given
			if _, err := s.steps(has).openMergeGate(context.Background(), "", spec); err != nil {
				t.Fatal(err)
			}
			var g agency.Gate
			if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { g, err = registry.Gate(q, spec.Gate); return err }); err != nil {
				t.Fatal(err)
			}
			var held []string
			for _, w := range g.Weakened {
				if w.Kind == agency.WeakActs {
					held = append(held, w.Name)
				}
			}
			if !slices.Equal(held, tt.held) || g.NoYes != (len(tt.held) > 0) || len(g.Acts) != len(tt.acts) {
				t.Errorf("holds %q, no yes %t, names %v", held, g.NoYes, g.Acts)
			}
			if !strings.Contains(g.Body, tt.want) || strings.Contains(g.Body, "Acts on others' machines") != (len(tt.acts) > 0) || strings.Contains(g.Body, "Checks were weakened") {
				t.Errorf("the gate says\n%s", g.Body)
			}
		})
	}
}
