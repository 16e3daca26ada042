package native

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// member is a stage whose contract is one of a team, and its session.
func member(t *testing.T, say ...any) (*stage, session.Spec) {
	t.Helper()
	k := newKit(t, budget.Limits{}, say...)
	k.write(func(tx *store.Tx) error {
		return registry.CreateContract(tx, agency.Contract{
			ID: "api", RunID: testRun, AssignedRole: agency.RoleScaffolder, Title: "t", Description: "d", RetryBudget: 3,
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "done"}},
		})
	})
	k.setup.Parent = budget.ContractNode("api")
	return k, session.Spec{Run: testRun, Contract: "api", Attempt: 1, Part: 1, Role: agency.RoleScaffolder, Agent: "scaffolder-api", Onto: k.repo.Rev("HEAD")}
}

func handOff(role string) any {
	return calls("request_handoff", `{"role":"`+role+`","reason":"TESTS ARE MISSING"}`)
}

// Whenever the process dies, the manager is asked once, with the files as they
// are, and the answer is shown once.
func TestHandoffSurvivesDeath(t *testing.T) {
	for n := 1; ; n += pace() {
		k, s := member(t, calls("write_file", `{"path":"two.txt","content":"2"}`), handOff("test_engineer"), complete)
		k.office()
		out, points := k.survive(s, n)
		where := fmt.Sprint(points)
		k.between = nil
		h := out.Handoff
		if out.For != session.ForInbox || h == nil || h.Role != agency.RoleTestEngineer || h.Reason != "TESTS ARE MISSING" || out.Tree == "" ||
			strings.Join(h.Files, " ") != "two.txt" || out.Awaits != "handoff/api/1/2/1" {
			t.Fatalf("%s: %+v, %+v", where, out, h)
		}
		k.read(func(q *store.Snapshot) error {
			m, err := board.Get(q, testRun, out.Awaits)
			if m.ToRole != agency.RoleProjectManager || m.Type != agency.MessageRequestInput || m.Body != "TESTS ARE MISSING" || m.RespondWithin != session.AnswerWithin(agency.RoleProjectManager) ||
				m.ContractID != "api" || !strings.Contains(string(m.Payload), `"to_role":"test_engineer"`) {
				t.Errorf("%s: the request is %+v", where, m)
			}
			return err
		})
		if out := k.must(k.answers(s, out, "IT HAS LANDED")); out.Kind != session.Claimed {
			t.Fatalf("%s: %+v", where, out)
		}
		if last := k.model.msgs[len(k.model.msgs)-1]; appears(last, "IT HAS LANDED") != 1 {
			t.Errorf("%s: the answer is shown %d times", where, appears(last, "IT HAS LANDED"))
		}
		checkRequests(t, k.model)
		if len(points) == 0 {
			break
		}
	}
}

// What goes nowhere is refused; a reviewer's request is a message that
// nobody waits for.
func TestHandoffIsRefused(t *testing.T) {
	pass := func(*stage) {}
	for name, tt := range map[string]struct {
		role, want string
		set        func(*stage)
	}{
		"to itself":   {"scaffolder", "error: you are a scaffolder yourself", pass},
		"to a critic": {"reviewer", `error: no work can be handed to a role "reviewer"`, pass},
		"once too often": {"cleanup", "error: too many handoffs: this contract has asked for all 2", func(k *stage) {
			k.hires("scaffolder-api", agency.RoleScaffolder)
			for _, id := range []agency.MessageID{"handoff/api/1/1/1", "handoff/api/1/2/1"} {
				k.send(agency.Message{ID: id, From: "scaffolder-api", ToRole: agency.RoleProjectManager, ContractID: "api", Type: agency.MessageRequestInput, Body: "b"})
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k, s := member(t, handOff(tt.role), complete)
			tt.set(k)
			if out := k.must(s); out.Kind != session.Claimed || !strings.Contains(k.result(1), tt.want) {
				t.Errorf("%+v, %s", out, k.result(1))
			}
		})
	}
	k, s := member(t, handOff("cleanup"), complete)
	k.office()
	s.Onto = ""
	if out := k.must(s); out.Kind != session.Claimed || !strings.HasPrefix(k.result(1), "sent as scaffolder-api/api/1/1/1. Nobody who could read it is at work now; it waits.") {
		t.Errorf("%+v, %s", out, k.result(1))
	}
}

// handed leaves a package for a contract.
func (k *stage) handed(next agency.ContractID) {
	k.t.Helper()
	k.hires("giver", agency.RoleTestEngineer)
	k.hires("scaffolder-api", agency.RoleScaffolder)
	k.write(func(tx *store.Tx) error {
		return board.Handoff(tx, 1, agency.HandoffPackage{
			Run: testRun, From: "giver", To: "scaffolder-api", Contract: "before", Status: agency.StatusInProgress, NextContract: next,
			Instructions: "MIND THE GAP", FilesModified: []string{"two.txt"}, Outputs: json.RawMessage(`{"port":8080}`),
		})
	})
}

// Who takes work over is told of the package once in each conversation, whenever
// the process dies, in the next attempt too.
func TestThePackageIsShownOnce(t *testing.T) {
	for n := 1; ; n += pace() {
		k, s := member(t, calls("read_file", `{"path":"main.txt"}`), complete, complete)
		k.office()
		k.handed("api")
		out, points := k.survive(s, n)
		where := fmt.Sprint(points)
		k.between = nil
		if out.Kind != session.Claimed {
			t.Fatalf("%s: %+v", where, out)
		}
		last := k.model.msgs[len(k.model.msgs)-1]
		if n := appears(last, "MIND THE GAP"); n != 1 || appears(last, "## Handoff of contract `before` from `giver`") != 1 {
			t.Errorf("%s: shown %d times: %v", where, n, last)
		}
		if d := k.delivery(agency.HandoffID("api", 1)); len(d) != 1 || d[0].Status != agency.MailProcessed || d[0].Agent != "scaffolder-api" {
			t.Errorf("%s: %+v", where, d)
		}
		s.Attempt, s.Feedback = 2, &session.Feedback{Attempt: 1, Reason: "red"}
		k.must(s)
		if first := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1][0]); strings.Count(first, "MIND THE GAP") != 1 || !strings.Contains(first, "- two.txt") {
			t.Errorf("%s: the next attempt begins with %s", where, first)
		}
		if len(points) == 0 {
			break
		}
	}
}
