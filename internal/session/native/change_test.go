package native

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/git/gittest"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// tester is a stage whose contract tests what another landed, with tests that
// have names.
func tester(t *testing.T, deps []agency.ContractID, say ...any) (*stage, session.Spec) {
	t.Helper()
	k := newKit(t, budget.Limits{}, say...)
	k.setup.Commands.Test = "sh ./tap.sh"
	gittest.WriteFiles(t, k.repo.Dir, "tap.sh", `echo TAP version 13
echo ok 1 TestOK
test -f two.txt || { echo 1..1; exit 0; }
echo not ok 2 TestTwo
echo 1..2
exit 1
`)
	k.repo.Commit("code")
	k.write(func(tx *store.Tx) error {
		for _, c := range []agency.Contract{{ID: "impl", AssignedRole: agency.RoleScaffolder}, {ID: "tests", AssignedRole: agency.RoleTestEngineer, DependsOn: deps}} {
			c.RunID, c.Title, c.Description, c.RetryBudget = testRun, "t", "d", 3
			c.AcceptanceCriteria = []agency.Criterion{{ID: "goal", Text: "tested"}}
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	k.setup.Parent = budget.ContractNode("tests")
	return k, session.Spec{Run: testRun, Contract: "tests", Attempt: 1, Part: 1, Role: agency.RoleTestEngineer, Agent: "tester"}
}

// Only a test that the harness has seen fail just now asks for a change.
func TestImplementationChangeNeedsARedTest(t *testing.T) {
	ask := func(test string) any {
		return calls("request_implementation_change", `{"bug_description":"Two is 3","failing_test":"`+test+`"}`)
	}
	k, s := tester(t, []agency.ContractID{"impl"},
		ask("TestOK"), ask("TestTwo"), calls("write_file", `{"path":"two.txt","content":"red"}`),
		ask("TestTwo"), complete)
	out := k.must(s)
	if out.For != session.ForInbox || out.Change == nil || out.Change.Test != "TestTwo" || out.Change.Receipt == "" || out.Awaits != "change/tests/1/4/1" || out.Tree == "" ||
		len(out.Change.Files) != 1 || out.Change.Files[0] != "two.txt" {
		for i := 1; i < len(k.model.msgs); i++ {
			t.Logf("%d: %.500s", i, k.result(i))
		}
		t.Fatalf("%+v", out)
	}
	if got := k.result(1); !strings.Contains(got, `no red receipt: the tests were run now and "TestOK" has passed`) {
		t.Errorf("a green test: %q", got)
	}
	if got := k.result(2); !strings.Contains(got, `no red receipt: the tests were run now and "TestTwo" is not among them`) {
		t.Errorf("no test: %q", got)
	}
	k.read(func(q *store.Snapshot) error {
		m, err := board.Get(q, testRun, out.Awaits)
		if m.Type != agency.MessageRevisionRequested || m.Body != "Two is 3" || m.ContractID != "tests" {
			t.Errorf("the message is %+v", m)
		}
		return err
	})
	s = k.answers(s, out, "changed")
	s.Answer.Moved = true
	if out := k.must(s); out.Kind != session.Claimed {
		t.Errorf("%+v", out)
	}
}

func TestImplementationChangeIsRefused(t *testing.T) {
	k, s := tester(t, nil, calls("request_implementation_change", `{"bug_description":"b","failing_test":"TestOK"}`), complete)
	k.must(s)
	if got := k.result(1); !strings.Contains(got, "error: no implementation: your contract depends on none") {
		t.Errorf("without dependencies: %q", got)
	}
	k, s = tester(t, []agency.ContractID{"impl"}, calls("request_implementation_change", `{"bug_description":"b","failing_test":"TestOK"}`), complete)
	k.hires("tester", agency.RoleTestEngineer)
	for _, id := range []agency.MessageID{"change/tests/1/1/1", "change/tests/1/2/1"} {
		k.send(agency.Message{ID: id, From: "tester", ToRole: agency.RoleProjectManager, ContractID: "tests", Type: agency.MessageRevisionRequested, Body: "b"})
	}
	k.must(s)
	if got := k.result(1); !strings.Contains(got, "error: too many changes: this contract has asked for all 2") {
		t.Errorf("a third: %q", got)
	}
}
