package team

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
)

const drafted = `{"id":"fix","title":"Fix it","description":"All of it.","assigned_role":"scaffolder","acceptance_criteria":["it works"]}`

// A plan's multiplier is 1 or 2, and anything else is refused by its name.
func TestPlansMultiplier(t *testing.T) {
	for text, want := range map[string]int{
		`{"contracts":[` + drafted + `]}`:                               1,
		`{"contracts":[` + drafted + `],"retry_budget_multiplier":1}`:   1,
		`{"contracts":[` + drafted + `],"retry_budget_multiplier":2}`:   2,
		`{"contracts":[` + drafted + `],"retry_budget_multiplier":0}`:   0,
		`{"contracts":[` + drafted + `],"retry_budget_multiplier":3}`:   0,
		`{"contracts":[` + drafted + `],"retry_budget_multiplier":-1}`:  0,
		`{"contracts":[` + drafted + `],"retry_budget_multiplier":1.5}`: 0,
	} {
		var p planArgs
		err := json.Unmarshal([]byte(text), &p)
		switch {
		case want == 0 && (err == nil || !strings.Contains(err.Error(), "retry_budget_multiplier")):
			t.Errorf("%s: %v", text, err)
		case want > 0 && (err != nil || p.RetryBudgetMultiplier != want):
			t.Errorf("%s: %d, %v", text, p.RetryBudgetMultiplier, err)
		}
	}
}

// What a plan is written as is what submit_plan takes, and gives the same plan.
func TestPlanRoundTrip(t *testing.T) {
	full := agency.Contract{
		ID: "b", Type: agency.TypeTest, ParentID: "a", FeatureID: "f", AssignedRole: "test_engineer", Talent: "sceptic", Title: "Test it",
		Description: "In two\nlines.", Constraints: []string{"no new file"}, RelevantFiles: []string{"a.go"}, APIDefinitions: []string{"func A()"},
		Writes: []string{"a_test.go", "b.go#Symbol"}, DependsOn: []agency.ContractID{"a"}, ExecutionMode: agency.ExecutionSequential,
		Inputs: agency.Inputs{"k": agency.TextInput("v")}, TestRequirements: []string{"TestA"}, QualityThresholds: map[string]float64{"coverage": 70.5}, Priority: -2, StyleGuide: "tabs",
		ExpectedOutputs: agency.Outputs{FilesCreated: []string{"a_test.go"}, FilesModified: []string{"b.go"}, TestsPassing: []string{"TestA"}},
		Complexity:      agency.Large, EstimatedLines: 40,
		AcceptanceCriteria: []agency.Criterion{{ID: "t", Text: "tested", Check: &agency.Check{Test: "TestA"}}, {ID: "c", Text: "lints", Check: &agency.Check{Command: "true"}}},
	}
	plain := agency.Contract{
		ID: "a", AssignedRole: "scaffolder", Title: "Do it", Description: "It is done.", Complexity: agency.Medium,
		AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "done"}},
	}
	full = agency.Promised(full) // as whoever reads it makes it
	want := agency.Plan{GoalAnchor: "the goal", RetryBudgetMultiplier: 2, Contracts: []agency.Contract{plain, full}}
	run := want
	run.Contracts = []agency.Contract{plain, full}
	for i := range run.Contracts { // what became of it is left out
		c := &run.Contracts[i]
		c.RunID, c.GoalAnchor, c.RetryBudget, c.Attempts, c.Status, c.TokensUsed, c.CostUSD = "run-1", "the goal", 6, 2, agency.StatusComplete, 7, 0.1
		c.ActualOutputs, c.AssignedAgentID, c.Error, c.Iterations = agency.Measure("c1", agency.Files{Created: []string{"x"}}, nil), "scaffolder-a", "e", 3
	}
	raw, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	var read planArgs
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if diff := cmp.Diff(want, read.Plan); diff != "" {
		t.Errorf("as submit_plan reads it (-want +got):\n%s", diff)
	}
	var kept agency.Plan
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("as a run keeps it (-want +got):\n%s", diff)
	}
}

// Every field that a model is shown of a contract is one that a plan may have.
func TestDraftShapeIsWhole(t *testing.T) {
	all, _ := DraftFields()
	fields := reflect.TypeFor[draftArgs]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !slices.Contains(all, name) {
			t.Errorf("submit_plan refuses the field %s", name)
		}
	}
	if len(all) != fields.NumField() {
		t.Errorf("%d fields are taken, %d are shown", len(all), fields.NumField())
	}
}
