package native

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/store"
)

// landed makes a contract of the run that is complete, with what was measured of
// it. What its agent says of itself is another thing.
func (k *stage) landed(id agency.ContractID, role agency.RoleID, files agency.Files, tests ...string) {
	k.t.Helper()
	did := agency.Measure("c0ffee", files, tests)
	k.write(func(tx *store.Tx) error {
		c := agency.Contract{ID: id, RunID: testRun, AssignedRole: role, Title: "Do " + string(id), Description: "d", RetryBudget: 1}
		if err := registry.CreateContract(tx, c); err != nil {
			return err
		}
		for n, f := range []agency.Fact{
			agency.Started{Agent: "a"},
			agency.ClaimMade{Outputs: agency.Outputs{FilesCreated: []string{"claimed.go"}}},
			agency.Verified{},
			agency.LandingBegun{},
			agency.HasLanded{Results: &did},
		} {
			if _, err := registry.Advance(tx, testRun, id, agency.StepKey(fmt.Sprintf("%s/%d", id, n)), f); err != nil {
				return err
			}
		}
		return nil
	})
}

// What a contract depends on hands its outputs on: they stand in the block of
// whoever works on it, and nobody else's do but for a test engineer.
func TestOutputsOfDependencies(t *testing.T) {
	for role, want := range map[agency.RoleID][]string{
		agency.RoleScaffolder:   {`"outputs of dep"`, `parser.go`, `TestParse`, `c0ffee`},
		agency.RoleTestEngineer: {`"outputs of dep"`, `parser.go`, `"outputs of other"`, `printer.go`},
	} {
		t.Run(string(role), func(t *testing.T) {
			k := newKit(t, budget.Limits{}, complete)
			k.landed("dep", agency.RoleScaffolder, agency.Files{Created: []string{"parser.go"}}, "TestParse")
			k.landed("other", agency.RoleScaffolder, agency.Files{Modified: []string{"printer.go"}})
			k.write(func(tx *store.Tx) error {
				return registry.CreateContract(tx, agency.Contract{
					ID: "next", RunID: testRun, AssignedRole: role, Title: "next", Description: "next", DependsOn: []agency.ContractID{"dep"},
					AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "done"}}, RetryBudget: 1,
				})
			})
			s := spec()
			s.Contract, s.Role, s.Agent = "next", role, agency.AgentID(role)
			k.must(s)
			first := k.model.msgs[0][0].Words()
			block, _, _ := strings.Cut(first, "\n```\n")
			for _, w := range want {
				if !strings.Contains(block, w) {
					t.Errorf("the block has no %s:\n%s", w, block)
				}
			}
			if strings.Contains(first, "claimed.go") {
				t.Error("what an agent says that it made is handed on")
			}
			if role == agency.RoleScaffolder && strings.Contains(first, "printer.go") {
				t.Error("a scaffolder sees the outputs of what it does not depend on")
			}
		})
	}
}

// A contract is staged with what an earlier run made of one like it: what was asked for, what
// was not enough, and how it ended; not with what ended while its own run was at work.
func TestEndedContractsAreStaged(t *testing.T) {
	k := newKit(t, budget.Limits{}, complete)
	k.write(func(tx *store.Tx) error {
		if err := registry.CreateRun(tx, agency.Run{ID: "older", Goal: "change it", Mode: agency.ModeSingle, State: agency.StateRunning}, json.RawMessage(`{}`)); err != nil {
			return err
		}
		for _, of := range []agency.RunID{"older", testRun} {
			c := agency.Contract{ID: "seed", RunID: of, AssignedRole: "generalist", Title: "teach the heron to fish as " + string(of), Description: "herons fish", RetryBudget: 2}
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
			for n, f := range []agency.Fact{
				agency.Started{Agent: "a"}, agency.Returned{Reason: "its tests were RED"}, agency.Started{Agent: "a"}, agency.ClaimMade{}, agency.Verified{}, agency.LandingBegun{}, agency.HasLanded{},
			} {
				if _, err := registry.Advance(tx, of, "seed", agency.StepKey(fmt.Sprintf("seed/%d", n)), f); err != nil {
					return err
				}
			}
			if of == "older" { // the run of the test began after it
				if _, err := tx.Exec(`UPDATE runs SET created_at = ? WHERE id = ?`, tx.Now.Add(time.Nanosecond).UnixNano(), string(testRun)); err != nil {
					return err
				}
				tx.Now = tx.Now.Add(time.Second)
			}
		}
		return registry.CreateContract(tx, agency.Contract{
			ID: "next", RunID: testRun, AssignedRole: "generalist", Title: "teach the heron to dive", Description: "herons dive",
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "dives"}}, RetryBudget: 1,
		})
	})
	k.setup.Context = staging.Limits{MaxTokens: 10_000, Similar: true}
	s := spec()
	s.Contract, s.Staged = "next", true
	k.must(s)
	first := k.model.msgs[0][0].Words()
	for want, n := range map[string]int{"`older/seed` (history; a contract like this one, which has landed)": 1, "its tests were RED": 1, "to fish as test-run": 0} {
		if strings.Count(first, want) != n {
			t.Errorf("%q does not stand %d times in\n%s", want, n, first)
		}
	}
}
