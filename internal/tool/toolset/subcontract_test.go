package toolset

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"

	"github.com/google/go-cmp/cmp"
)

// crew has a contract of each kind.
type crew []tool.TeamContract

func sampleCrew() crew {
	criteria := []agency.Criterion{{ID: "c1", Text: "Add adds"}, {ID: "c2", Text: "it is\nfast"}}
	return crew{
		{
			Contract: agency.Contract{ID: "add", Title: "Mend Add", Status: agency.StatusComplete, Attempts: 1, RetryBudget: 3, AcceptanceCriteria: criteria},
			Agent:    "scaffolder-add",
			Proofs: []agency.Proof{
				{Criterion: criteria[0], Proof: agency.ProofVerified, Note: "by TestAdd"},
				{Criterion: criteria[1], Proof: agency.ProofAsserted},
			},
		},
		{
			Contract: agency.Contract{
				ID: "double", Title: "Mend Double", Status: agency.StatusInReview, Stage: agency.StageVerifying, Attempts: 2, RetryBudget: 3,
				DependsOn: []agency.ContractID{"add"}, AcceptanceCriteria: criteria, Error: "p.TestX fails",
			},
			Agent: "scaffolder-double",
			Verdict: &agency.Verdict{Attempt: 1, Reasons: []string{"p.TestX fails"}, Proofs: []agency.Proof{
				{Criterion: criteria[0], Proof: agency.ProofOpen, Note: "its check fails"},
			}},
			Receipts: []agency.Receipt{{Kind: agency.CheckTest, Command: "go test ./...", Stage: "claim", ExitCode: 1, Parsed: true, Passed: 3, Failed: 1}},
			Reviews:  []agency.Review{{Verdict: agency.ReviewChanges}},
		},
		{Contract: agency.Contract{ID: "later", Title: "Later"}, Noted: true},
		{Contract: agency.Contract{ID: "holed", Status: agency.StatusComplete}, Proofs: []agency.Proof{{Criterion: criteria[0], Proof: agency.ProofOpen}}},
	}
}

func (c crew) Contracts(context.Context) ([]tool.TeamContract, error) { return c, nil }

func (c crew) Contract(_ context.Context, id agency.ContractID) (tool.TeamContract, error) {
	if i := slices.IndexFunc(c, func(o tool.TeamContract) bool { return o.ID == id }); i >= 0 {
		return c[i], nil
	}
	return tool.TeamContract{}, agency.Errorf(agency.KindNotFound, "there is no contract %q", id)
}

func led(t *testing.T, c crew, name, args string) tool.Result {
	t.Helper()
	res, err := named([]string{name})[0].Run(t.Context(), &tool.Env{Team: c}, []byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestSubcontractStatus(t *testing.T) {
	for args, want := range map[string][]string{
		`{}`:              {"add: complete, 1 attempt, scaffolder-add  Mend Add\n", "double: in_review (verifying), attempt 2, scaffolder-double", "later: noted, not started  Later"},
		`{"id":"double"}`: {"attempts: 2 of 3", "depends on: add", "last claim: attempt 1, not verified\n- p.TestX fails", "receipt: test `go test ./...` on the claim: exit code 1, passed 3, failed 1, skipped 0", "reviews: 1, the last: request_changes"},
		`{"id":"later"}`:  {"noted, not started"},
	} {
		res := led(t, sampleCrew(), "get_subcontract_status", args)
		for _, w := range want {
			if res.Failed || !strings.Contains(res.Text, w) {
				t.Errorf("%s has no %q:\n%s", args, w, res.Text)
			}
		}
	}
	if res := led(t, nil, "get_subcontract_status", `{}`); res.Failed || !strings.Contains(res.Text, "no contract") {
		t.Errorf("without contracts: %s", res.Text)
	}
	if res := led(t, nil, "get_subcontract_status", `{"id":"../x"}`); !res.Failed {
		t.Errorf("an unknown one: %s", res.Text)
	}
}

// Nothing is complete by anybody's word.
func TestMarkSubcontractComplete(t *testing.T) {
	for id, want := range map[string]string{
		"add":    "contract add is complete: it has landed. What proves it:\n- c1: verified (by TestAdd)  Add adds\n- c2: asserted  it is fast\n",
		"double": "error: contract double is not complete. Missing:\n- it is in_review (verifying), attempt 2, scaffolder-double, not landed: p.TestX fails\n- criterion c1: Add adds: open in the last claim, which has not landed (its check fails)\n- criterion c2: it is fast: nothing shows it yet",
		"later":  "error: contract later is not complete. Missing:\n- nobody works on it: spawn_agent starts it now, submit_plan with the rest",
		"holed":  "error: contract holed is not complete. Missing:\n- nothing proves criterion c1: Add adds",
	} {
		if diff := cmp.Diff(want, led(t, sampleCrew(), "mark_subcontract_complete", `{"id":"`+id+`"}`).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// An update replaces what it names and leaves the rest.
func TestUpdateSubcontract(t *testing.T) {
	old := agency.Contract{
		ID: "a", Title: "old", Description: "as it was", DependsOn: []agency.ContractID{"x"}, Writes: []string{"w"}, Priority: 3,
		AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "old"}}, AssignedRole: "scaffolder", Complexity: agency.Small,
	}
	res := led(t, nil, "update_subcontract", `{"id":"a","title":" new ","depends_on":[],"acceptance_criteria":["one",{"id":"k","text":"two","check":{"file":"f"}}],
		"priority":0,"assigned_role":"tester","estimated_complexity":"high","expected_outputs":{"files_created":["n"]},"inputs":{"k":"v"}}`)
	e, ok := res.Effect.(tool.Amend)
	if !ok || e.Contract != "a" {
		t.Fatalf("%+v", res)
	}
	want := old
	want.Title, want.DependsOn, want.Priority, want.AssignedRole, want.Complexity = "new", nil, 0, "test_engineer", agency.Large
	want.AcceptanceCriteria = []agency.Criterion{
		{ID: "c1", Text: "one"},
		{ID: "k", Text: "two", Check: &agency.Check{File: "f"}},
		{ID: "files_created.1", Text: "n is made", Check: &agency.Check{Created: "n"}, From: "files_created"},
	}
	want.ExpectedOutputs.FilesCreated, want.Inputs = []string{"n"}, agency.Inputs{"k": agency.TextInput("v")}
	if diff := cmp.Diff(want, e.Change(old)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, args := range []string{`{}`, `{"id":"a"}`, `{"id":"a","status":"complete"}`, `{"id":"a","title":3}`} {
		if res := led(t, nil, "update_subcontract", args); !res.Refused || res.Effect != nil {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

func TestAgentsAreNamed(t *testing.T) {
	for _, name := range []string{"wait_for_agents", "collect_results"} {
		for _, args := range []string{`{}`, `{"agent_ids":[]}`, `{"agent_ids":"a"}`, `{"agent_ids":["` + strings.Repeat(`a","`, 600) + `b"]}`} {
			if res := led(t, nil, name, args); !res.Refused {
				t.Errorf("%s %.40s: %+v", name, args, res)
			}
		}
		res := led(t, nil, name, `{"agent_ids":["a"," a","b"]}`)
		var got []agency.AgentID
		switch e := res.Effect.(type) {
		case tool.Await:
			got = e.Agents
		case tool.Collect:
			got = e.Agents
		}
		if diff := cmp.Diff([]agency.AgentID{"a", "b"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if res := led(t, nil, "spawn_agent", `{"role":" critic ","subcontract_id":"x"}`); res.Effect != (tool.Spawn{Role: "reviewer", Contract: "x"}) {
		t.Errorf("%+v", res)
	}
	if res := led(t, nil, "spawn_agent", `{"role":"","subcontract_id":"x"}`); !res.Refused {
		t.Errorf("%+v", res)
	}
}
