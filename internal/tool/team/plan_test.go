package team

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"

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
		if err != nil || len(p.Contracts) != 1 || p.RetryBudgetMultiplier != max(1, want) {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
		if form := strings.Join(p.form, "; "); (form == "") != (want > 0) || want == 0 && !strings.Contains(form, "retry_budget_multiplier") {
			t.Errorf("%s: its form: %q", text, form)
		}
	}
}

// What is wrong with the form of a plan of workstreams stands beside what could be read of
// it, so that its author is told of both at once.
func TestWorkstreamsAreReadAsFarAsTheyCanBe(t *testing.T) {
	var p tierPlanArgs
	err := json.Unmarshal([]byte(`{"complexity":"low","size":1,"parallelism":{"groups":{"A":["a","b"]},"sequence":["A"]},"workstreams":[
		{"id":"a","name":"A","tier_path":["t4"],"parallel_group":"A","depends_on":["b"]},
		{"id":"b","name":"B","tier_path":"t4","parallel_group":"A"}, {"name":"C"}]}`), &p)
	if err != nil || len(p.Workstreams) != 2 || p.Workstreams[0].TierPath[0] != agency.TierImplementer || len(p.Sequence) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	for i, want := range []string{`plan: unknown argument "size"`, `workstream 1: unknown argument "depends_on"`, "workstream 2: ", `workstream 3: argument "id" is missing`} {
		if len(p.form) != 4 || !strings.HasPrefix(p.form[i], want) {
			t.Fatalf("%q, want %q", p.form, want)
		}
	}
	if err := json.Unmarshal([]byte(`[]`), &p); err != nil || len(p.form) == 0 {
		t.Errorf("what is no plan at all: %+v, %v", p, err)
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

// TestDesignedSubcontract takes the contract that the design shows as it stands there, and
// with its dependencies beside its inputs, by each of the ways to write a contract.
func TestDesignedSubcontract(t *testing.T) {
	sample, err := os.ReadFile("testdata/subcontract.json")
	if err != nil {
		t.Fatal(err)
	}
	beside := strings.Replace(string(sample), `"parent_id": null`, `"dependencies": ["SC-000"]`, 1)
	for _, text := range []string{string(sample), beside, strings.Replace(beside, `"inputs"`, `"depends_on": ["SC-000"], "inputs"`, 1)} {
		res, _ := createSubcontract().Run(t.Context(), &tool.Env{}, json.RawMessage(text))
		draft, ok := res.Effect.(tool.Draft)
		if !ok {
			t.Fatalf("create_subcontract: %s", res.Text)
		}
		var p planArgs
		if err := json.Unmarshal([]byte(`{"contracts":[`+drafted+`,`+text+`]}`), &p); err != nil {
			t.Fatalf("submit_plan: %v", err)
		}
		if diff := cmp.Diff(p.Contracts[1], draft.Contract); diff != "" {
			t.Error(diff)
		}
		if c := draft.Contract; c.ID != "SC-001" || !slices.Equal(c.DependsOn, []agency.ContractID{"SC-000"}) || len(DraftFaults(c)) > 0 {
			t.Errorf("%s depends on %v; faults %v", c.ID, c.DependsOn, DraftFaults(c))
		}
		p.Contracts[0].ID = "SC-000"
		if faults := agency.ValidatePlan(p.Contracts, agency.PlanRules{RequireCriteria: true}); len(faults) > 0 {
			t.Error(faults)
		}
	}
}

// TestWhatATestContractTests refuses one of a test engineer that names neither what it
// tests nor the coverage that it brings.
func TestWhatATestContractTests(t *testing.T) {
	for more, want := range map[string]bool{
		``:                                      true,
		`,"type":"test"`:                        true,
		`,"relevant_files":["a.go"]`:            false,
		`,"quality_thresholds":{"coverage":80}`: false,
		`,"expected_outputs":{"tests_passing":["TestA"]}`: false,
	} {
		c, err := ReadDraft(json.RawMessage(strings.TrimSuffix(strings.Replace(drafted, "scaffolder", "tester", 1), "}") + more + "}"))
		if err != nil {
			t.Fatal(err)
		}
		faults := DraftFaults(c)
		got := len(faults) == 1 && strings.Contains(faults[0].What, "names what it tests")
		if got != want || !want && len(faults) > 0 {
			t.Errorf("%s: %v", more, faults)
		}
	}
}

// TestNumbersOfADraft refuses numbers that mean something else than they say: a share
// where a percentage is wanted would be met by one line in a hundred.
func TestNumbersOfADraft(t *testing.T) {
	for more, want := range map[string]string{
		`"quality_thresholds":{"coverage":0.9}`:   "quality threshold coverage is 0.9, less than 1 percent: write 90 for 90 percent",
		`"quality_thresholds":{"coverage":0.855}`: "write 85.5 for 85.5 percent",
		`"quality_thresholds":{"coverage":1}`:     "",
		`"quality_thresholds":{"coverage":0}`:     "not a percentage above 0",
		`"quality_thresholds":{"coverage":-3}`:    "not a percentage above 0",
		`"estimated_lines":-5`:                    "estimated_lines is -5, want 0 or more",
		`"estimated_lines":0`:                     "",
	} {
		c, err := ReadDraft(json.RawMessage(strings.TrimSuffix(drafted, "}") + "," + more + "}"))
		if err != nil {
			t.Fatal(err)
		}
		faults := DraftFaults(c)
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].What, want)) {
			t.Errorf("%s: %v", more, faults)
		}
	}
}
