package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/store"
)

// judgedBy records verdicts as verification does.
func (s *stage) judgedBy(verdicts ...agency.Verdict) {
	s.t.Helper()
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		for i, v := range verdicts {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO verdicts (run_id, step, contract_id, verdict, at) VALUES (?, ?, ?, ?, 0)`, string(run), fmt.Sprint(v.ContractID, i), string(v.ContractID), string(b)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// checked records a receipt as a check does.
func (s *stage) checked(r agency.Receipt) {
	s.t.Helper()
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		blob, err := json.Marshal(map[string]any{"tests": r.Tests, "output": r.Output})
		if err != nil {
			return err
		}
		h, err := tx.PutBlob(blob)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO receipts (id, run_id, n, contract_id, agent_id, stage, kind, command, tree, env, exit_code, cause, duration, passed, failed, skipped,
			parsed, reusable, copy_of, detail, at) VALUES (?, ?, (SELECT count(*) FROM receipts), ?, '', ?, ?, ?, ?, '', ?, '', 1, ?, ?, 0, ?, 1, '', ?, 0)`,
			string(r.ID), string(run), string(r.ContractID), r.Stage, string(r.Kind), r.Command, string(r.Tree), r.ExitCode, r.Passed, r.Failed, r.Parsed, string(h))
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) openedGate(spec MergeGate) (g agency.Gate) {
	s.t.Helper()
	if _, err := s.steps(shop{}).openMergeGate(context.Background(), "", spec); err != nil {
		s.t.Fatal(err)
	}
	err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { g, err = registry.Gate(q, spec.Gate); return err })
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

var mainGate = MergeGate{Run: run, Gate: "run-1.merge-1", Contract: "main", Target: "trunk", Land: agency.LandMerge, Tree: "t1"}

// Work that nothing tested is never merged by --yes, unless the user has said
// that there are no tests.
func TestUntestedWorkIsAWeakenedCheck(t *testing.T) {
	none, without := agency.Verdict{NoneRan: true}, agency.Verdict{NoTests: true}
	for name, tt := range map[string]struct {
		verdict  agency.Verdict
		said     bool
		want     string
		summary  string
		approved bool // at a gate of its own
	}{
		"tested":                        {agency.Verdict{}, false, "", "ready to merge into trunk", false},
		"weak proof is one":             {agency.Verdict{WeakProof: true}, false, "", "ready to merge into trunk", false},
		"no test ran":                   {none, false, "the test command gives no result of a test", "ready, but nothing tested it", false},
		"no test ran, none expected":    {none, true, "the test command gives no result of a test", "ready, but nothing tested it", false},
		"no test command":               {without, false, "no test command is known", "ready, but nothing tested it", false},
		"no test command, as it is set": {without, true, "", "ready to merge into trunk", false},
		"said by verification": {
			agency.Verdict{NoneRan: true, Weakened: []agency.Weakening{{Kind: agency.WeakUntested, Name: "npm test"}, {Kind: agency.WeakExpectation, Name: "TestA"}}},
			false, "nothing tested the work: npm test", "ready, but nothing tested it, and 1 check was weakened", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			v := tt.verdict
			v.ContractID, v.Pass, v.Tree, v.Receipts = "main", true, "t1", []agency.ReceiptID{"r1"}
			s.judgedBy(v)
			s.checked(agency.Receipt{ID: "r1", ContractID: "main", Kind: agency.CheckTest, Command: "npm test", Stage: "claim", Tree: "t1", Output: "corepack: cannot download itself\n"})
			spec := mainGate
			spec.Untested = tt.said
			g := s.openedGate(spec)
			if g.NoYes != (tt.want != "") || g.Summary != tt.summary || !strings.Contains(g.Body, tt.want) {
				t.Errorf("no yes %t, %q:\n%s", g.NoYes, g.Summary, g.Body)
			}
			if v.NoneRan && !strings.Contains(g.Body, "corepack: cannot download itself") {
				t.Errorf("the command's own words are missing:\n%s", g.Body)
			}
		})
	}
}

// What tests one contract tests those that it stands on.
func TestATeamIsUntestedWhereNothingOfItWasTested(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b  bool // none ran
		noYes bool
	}{"one of two": {true, false, false}, "both": {true, true, true}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			err := s.db.Write(context.Background(), func(tx *store.Tx) error {
				for _, id := range []agency.ContractID{"a", "b"} {
					if err := registry.CreateContract(tx, agency.Contract{ID: id, RunID: run, AssignedRole: "scaffolder", Status: agency.StatusComplete}); err != nil {
						return err
					}
				}
				_, err := tx.Exec(`UPDATE contracts SET status = 'complete', doc = json_set(doc, '$.status', 'complete')`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			s.judgedBy(agency.Verdict{ContractID: "a", Pass: true, NoneRan: tt.a}, agency.Verdict{ContractID: "b", Pass: true, NoneRan: tt.b})
			spec := mainGate
			spec.Contract = ""
			if g := s.openedGate(spec); g.NoYes != tt.noYes {
				t.Errorf("%+v", g)
			}
		})
	}
}

// The gate says what is red, since when, and what no test holds.
func TestMergeGateShowsWhatAPersonDecidesBy(t *testing.T) {
	s := newStage(t)
	s.checked(agency.Receipt{ID: "r2", ContractID: "main", Kind: agency.CheckLint, Command: "go vet ./...", Stage: "claim", Tree: "t1"})
	s.checked(agency.Receipt{
		ID: "r0", Kind: agency.CheckTest, Command: "go test ./...", Stage: "base", Tree: "t0", ExitCode: 1, Parsed: true, Passed: 1, Failed: 1,
		Tests: []agency.TestResult{{Name: "p.TestOld", Status: agency.TestFailed}},
	})
	s.checked(agency.Receipt{
		ID: "r1", ContractID: "main", Kind: agency.CheckTest, Command: "go test ./...", Stage: "claim", Tree: "t1", ExitCode: 1, Parsed: true, Passed: 1, Failed: 1,
		Tests: []agency.TestResult{{Name: "p.TestOld", Status: agency.TestFailed}}, Output: "--- FAIL: TestOld\nFAIL\n",
	})
	s.judgedBy(agency.Verdict{
		ContractID: "main", Pass: true, Tree: "t1", Receipts: []agency.ReceiptID{"r2", "r1"},
		Unproved: &agency.Unproved{Lines: 7, Changed: 41, NotTried: 2, Files: []agency.UnprovedFile{{Path: "parse.go", Lines: 5, Changed: 20}, {Path: "a.go", Lines: 2, Changed: 21}}},
		Expectations: []agency.Expectation{
			{Test: "p.TestSum", Before: agency.TestPassed, Now: "failed"}, {Test: "p.TestDouble", Before: agency.TestFailed, Now: "unbuilt"},
		},
	})
	g := s.openedGate(mainGate)
	for _, want := range []string{
		"Checks of the integrated tree:\n- test `go test ./...`: exit code 1, ",
		"- test `go test ./...`: exit code 1; red before too\n    - failed: p.TestOld (failed before)\n    - | --- FAIL: TestOld\n    - | FAIL\n",
		"\nunproved: 7 of 41 changed lines (no test fails without them): parse.go 5 of 20, a.go 2 of 21; 2 more were not tried\n",
		"\nedited expectations: 2 tests fail in their old form: p.TestSum, p.TestDouble\n",
	} {
		if !strings.Contains(g.Body, want) {
			t.Errorf("the gate does not say %q:\n%s", want, g.Body)
		}
	}
	if len(g.Red) != 1 || len(g.Red[0].Tests) != 1 || !g.Red[0].Tests[0].Before {
		t.Errorf("%+v", g.Red)
	}
	if strings.Contains(g.Body, "\n\n\n") {
		t.Errorf("empty lines on top of each other:\n%s", g.Body)
	}
}

// So do the gates before it, each of its own contract, and the one of a team's
// budget of all that are not done.
func TestGatesShowWhatIsRed(t *testing.T) {
	for name, tt := range map[string]struct {
		gate agency.Gate
		want string
		not  string
	}{
		"weakened":   {agency.Gate{Kind: agency.GateWeakened, ContractID: "a"}, "TestOfA", "TestOfB"},
		"escalation": {agency.Gate{Kind: agency.GateEscalation, ContractID: "b"}, "TestOfB", "TestOfA"},
		"budget":     {agency.Gate{Kind: agency.GateBudget}, "TestOfA", "nothing"},
		"question":   {agency.Gate{Kind: agency.GateQuestion, ContractID: "a"}, "", "TestOfA"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for _, id := range []agency.ContractID{"a", "b"} {
				err := s.db.Write(context.Background(), func(tx *store.Tx) error {
					return registry.CreateContract(tx, agency.Contract{ID: id, RunID: run})
				})
				if err != nil {
					t.Fatal(err)
				}
				s.checked(agency.Receipt{
					ID: agency.ReceiptID("r-" + id), ContractID: id, Kind: agency.CheckTest, Command: "test", Stage: "work", Tree: "t", ExitCode: 1, Parsed: true, Failed: 1,
					Tests: []agency.TestResult{{Name: "TestOf" + strings.ToUpper(string(id)), Status: agency.TestFailed}},
				})
			}
			g := tt.gate
			g.ID, g.RunID, g.Body = "run-1.g", run, "Why."
			if _, err := s.steps(shop{}).openGate(context.Background(), "", g); err != nil {
				t.Fatal(err)
			}
			_ = s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { g, err = registry.Gate(q, g.ID); return err })
			if !strings.HasPrefix(g.Body, "Why.") || !strings.Contains(g.Body, tt.want) || strings.Contains(g.Body, tt.not) {
				t.Error(g.Body)
			}
		})
	}
}

// Where a team's plan has failed in part, a person decides on what landed: what no test
// holds of it, and nothing of what is not on the run's branch.
func TestAGateOfATeamDoubtsWhatLanded(t *testing.T) {
	s := newStage(t)
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		for id, facts := range map[agency.ContractID][]agency.Fact{
			"landed": {agency.Started{}, agency.ClaimMade{}, agency.Verified{}, agency.LandingBegun{}, agency.HasLanded{}},
			"failed": {agency.Started{}, agency.GaveUp{}},
		} {
			if err := registry.CreateContract(tx, agency.Contract{ID: id, RunID: run}); err != nil {
				return err
			}
			for i, f := range facts {
				if _, err := registry.Advance(tx, run, id, agency.StepKey(fmt.Sprint(id, i)), f); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []agency.ContractID{"landed", "failed"} {
		s.judgedBy(agency.Verdict{
			ContractID: id, Pass: id == "landed", Expectations: []agency.Expectation{{Test: "Test_" + string(id)}},
			Unproved: &agency.Unproved{Lines: 1, Changed: 3, Files: []agency.UnprovedFile{{Path: string(id) + ".go", Lines: 1, Changed: 3}}},
		})
	}
	g := agency.Gate{ID: "run-1.incomplete", RunID: run, Kind: agency.GateEscalation, Body: "Why."}
	if _, err := s.steps(shop{}).openGate(context.Background(), "", g); err != nil {
		t.Fatal(err)
	}
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { g, err = registry.Gate(q, g.ID); return err })
	if !strings.Contains(g.Body, "unproved: 1 of 3 changed lines") || !strings.Contains(g.Body, "landed.go 1 of 3") ||
		!strings.Contains(g.Body, "Test_landed") || strings.Contains(g.Body, "failed") {
		t.Error(g.Body)
	}
}

func TestMergeGateText(t *testing.T) {
	s := newStage(t)
	spec := MergeGate{Run: run, Gate: "run-1.merge-1", Contract: "main", Target: "trunk", Land: agency.LandMerge, Problem: "a.go has local edits"}
	steps := s.steps(shop{off: true})
	if _, err := steps.openMergeGate(context.Background(), "", spec); err != nil {
		t.Fatal(err)
	}
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		g, err := registry.Gate(q, "run-1.merge-1")
		for _, want := range []string{"a.go has local edits", "a.go | 2 +-", "Goal: the goal", "not signed", "sandbox was off", "$0.00"} {
			if !strings.Contains(g.Body, want) {
				t.Errorf("the gate does not say %q:\n%s", want, g.Body)
			}
		}
		if strings.Contains(g.Body, "Criteria:") || strings.Index(g.Body, "Changes on") > strings.Index(g.Body, "Checks of") {
			t.Errorf("an empty list of criteria, or the files below the checks:\n%s", g.Body)
		}
		if !g.NoYes {
			t.Error("--yes would answer a merge gate that names a problem")
		}
		return err
	})
}

// A target that is red by itself is a decision of a person, who sees what fails.
func TestMergeGateNamesARedTarget(t *testing.T) {
	s := newStage(t)
	spec := MergeGate{
		Run: run, Gate: "run-1.merge-2", Contract: "main", Target: "trunk", Land: agency.LandMerge,
		Problem: "trunk has moved on and fails its own checks", Red: []string{"regression: TestA passed before and fails now"},
	}
	steps := s.steps(shop{})
	if _, err := steps.openMergeGate(context.Background(), "", spec); err != nil {
		t.Fatal(err)
	}
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		g, err := registry.Gate(q, "run-1.merge-2")
		want := "fails its own checks:\n- regression: TestA passed before and fails now\n\nThe work adds no failure to these, and passed on the commit that it began from.\n\n" +
			"Nothing was touched. There are four answers:\n- mend `trunk` and approve: the merge is verified and tried again;\n" +
			"- approve as it stands: it is merged into the red `trunk`;\n- approve with `--note branch`"
		if !strings.Contains(g.Body, want) {
			t.Errorf("the gate does not say %q:\n%s", want, g.Body)
		}
		if !g.NoYes || !strings.Contains(g.Approving, "red trunk") {
			t.Errorf("%+v", g)
		}
		return err
	})
}

// Files that the contract does not name are shown, and hinder nothing.
func TestMergeGateNamesLeftovers(t *testing.T) {
	s := newStage(t)
	ctx := context.Background()
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO verdicts (run_id, step, contract_id, verdict, at) VALUES (?, 's', 'main', ?, 0)`, string(run),
			`{"contract_id": "main", "pass": true, "leftovers": [{"path": "sub.go.orig", "why": "a backup"}, {"path": "extra.go"}]}`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := MergeGate{Run: run, Gate: "run-1.merge-1", Contract: "main", Target: "trunk", Land: agency.LandMerge}
	if _, err := s.steps(shop{}).openMergeGate(ctx, "", spec); err != nil {
		t.Fatal(err)
	}
	_ = s.db.Read(ctx, func(q *store.Snapshot) error {
		g, err := registry.Gate(q, "run-1.merge-1")
		if want := "\n\nNew files that the contract does not name:\n- sub.go.orig (a backup)\n- extra.go\n\nCost: "; !strings.Contains(g.Body, want) || g.NoYes {
			t.Errorf("%v, the gate does not say %q:\n%s", g.NoYes, want, g.Body)
		}
		return err
	})
}
