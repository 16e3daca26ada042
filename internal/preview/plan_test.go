package preview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/config"
)

func load(t *testing.T, name, text string) (*config.Loaded, error) {
	t.Helper()
	return config.Load(config.Input{TeamFile: config.Source{Path: name, Data: []byte(text)}})
}

// read is the plan of a file for a team.
func read(t *testing.T, name, text string) (*agency.Plan, error) {
	t.Helper()
	l, err := load(t, name, text)
	if err != nil {
		return nil, err
	}
	c := l.Config
	if l.Origin("mode").Layer == config.LayerDefault {
		c.Mode = agency.ModeMultiAgent
	}
	return readPlan(l.Team, c)
}

const yaml = `# two contracts
goal: Mend both
mode: multi_agent
max_parallel_agents: 2
contracts:
  - id: add
    title: Mend Add
    description: |
      Add subtracts.
      It must add.
    assigned_role: scaffolder
    acceptance_criteria: [Add adds, {id: t, text: tested, check: {test: TestAdd}}]
    writes: [calc.go]
  - id: tests
    title: Test it
    description: Tests.
    assigned_role: tester
    acceptance_criteria: [tested]
    depends_on: [add]
    priority: 3
retry_budget_multiplier: 2
`

func TestReadPlan(t *testing.T) {
	p, err := read(t, "team.yaml", yaml)
	if err != nil {
		t.Fatal(err)
	}
	want := &agency.Plan{GoalAnchor: "Mend both", RetryBudgetMultiplier: 2, Contracts: []agency.Contract{
		{
			ID: "add", Title: "Mend Add", Description: "Add subtracts.\nIt must add.\n", AssignedRole: "scaffolder", Complexity: agency.Medium, Writes: []string{"calc.go"},
			AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "Add adds"}, {ID: "t", Text: "tested", Check: &agency.Check{Test: "TestAdd"}}},
		},
		{
			ID: "tests", Title: "Test it", Description: "Tests.", AssignedRole: "test_engineer", Complexity: agency.Medium,
			AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "tested"}}, DependsOn: []agency.ContractID{"add"}, Priority: 3,
		},
	}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	raw, err := json.Marshal(p) // what an export prints
	if err != nil {
		t.Fatal(err)
	}
	again, err := read(t, "plan.json", string(raw))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("exported and read again (-want +got):\n%s", diff)
	}
	if p, err := read(t, "team.yaml", "goal: x\nmode: multi_agent\ncontracts: {max_files: 3}\n"); p != nil || err != nil {
		t.Errorf("settings only: %v, %v", p, err)
	}
}

// Settings of a team file count more than the user's own, less than those of
// agency.yaml, and flags count most (docs/design.md, Modes).
func TestSettingsOfATeamFile(t *testing.T) {
	l, err := config.Load(config.Input{
		UserFile: config.Source{Path: "config.yaml", Data: []byte("retry_budget: 1\nmax_parallel_agents: 1\non_error: stop\n")},
		TeamFile: config.Source{Path: "team.yaml", Data: []byte("goal: x\nretry_budget: 2\nmax_parallel_agents: 2\non_error: single\nland: branch\n")},
		RepoFile: config.Source{Path: "agency.yaml", Data: []byte("max_parallel_agents: 3\nland: merge\n")},
		Flags:    []config.Flag{{Key: "land", Value: "branch", Name: "--land"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	if c.RetryBudget != 2 || c.MaxParallelAgents != 3 || c.OnError != "single" || c.Land != agency.LandBranch {
		t.Errorf("attempts %d, parallel %d, on_error %s, land %s", c.RetryBudget, c.MaxParallelAgents, c.OnError, c.Land)
	}
	if o := l.Origin("retry_budget"); o.Layer != config.LayerTeam || o.String() != "team.yaml:2" {
		t.Errorf("retry_budget comes from %s (%s)", o, o.Layer)
	}
}

// Every fault is named with its file, line and column, all at once.
func TestFaults(t *testing.T) {
	contract := func(id, rest string) string {
		return "  - id: " + id + "\n    title: T\n    description: D\n    assigned_role: scaffolder\n    acceptance_criteria: [c]\n" + rest
	}
	for name, tt := range map[string]struct {
		file, text string
		want       []string
	}{
		"a circle": {
			"p.yaml", "contracts:\n" + contract("a", "    depends_on: [b]\n") + contract("b", "    depends_on: [a]\n"),
			[]string{"p.yaml:1:1: the contracts depend on each other in a circle: a -> b -> a"},
		},
		"an unknown role, and more": {
			"p.yaml", "contracts:\n" + strings.Replace(contract("a", ""), "scaffolder", "wizard", 1) + contract("b", "    depends_on: [none]\n"),
			[]string{`p.yaml:2:9: a: role "wizard" holds no contracts; those that do are `, "scaffolder", "p.yaml:7:9: b: depends on none, which is not in the plan"},
		},
		"fields of a field": {
			"p.yaml", "contracts:\n" + contract("a", "    expected_outputs: {files_modifed: [x]}\n    quality_thresholds: {coverage: 90%}\n"),
			[]string{`unknown field "files_modifed" (did you mean files_modified?)`, `"quality_thresholds" is a string, not a number`},
		},
		"a role that holds none": {
			"p.yaml", "contracts:\n" + strings.Replace(contract("a", ""), "scaffolder", "overseer", 1),
			[]string{`a: role "overseer" holds no contracts; those that do are cleanup, generalist, reviewer, scaffolder, test_engineer`},
		},
		"ids alike": {
			"p.yaml", "contracts:\n" + contract("a", "") + contract("A", "") + contract("a", ""),
			[]string{"p.yaml:7:9: A: the id is taken by a", "p.yaml:12:9: a: the id is taken by a"},
		},
		"ids that are no ids": {
			"p.yaml", "contracts:\n" + contract("../x", "") + contract("-x", ""),
			[]string{"p.yaml:2:9: ", "p.yaml:7:9: ", "../x", "-x"},
		},
		"an id of the run": {"p.yaml", "contracts:\n" + contract("plan", ""), []string{"p.yaml:2:9: plan: the id is taken"}},
		"no criteria": {
			"p.yaml", "contracts:\n" + strings.Replace(contract("a", ""), "[c]", "[]", 1), []string{"p.yaml:2:9: a: has no acceptance criteria"},
		},
		"a path outside": {"p.yaml", "contracts:\n" + contract("a", "    writes: [../x, /etc/passwd]\n"), []string{`path "../x" leaves`, `path "/etc/passwd" leaves`}},
		"fields": {
			"p.yaml", "contracts:\n" + contract("a", "    prioritty: 1\n    writes: all\n"),
			[]string{`p.yaml:7:16: unknown key prioritty (did you mean priority?)`, "p.yaml:8:13: "},
		},
		"missing":                 {"p.yaml", "contracts:\n  - id: a\n", []string{"p.yaml:2:9: contract a has no title", "has no description", "has no assigned_role"}},
		"no list":                 {"p.yaml", "contracts: all\n", []string{"p.yaml:1:12: contracts must be a list"}},
		"none":                    {"p.yaml", "contracts: []\n", []string{"p.yaml:1:1: the plan has no contracts"}},
		"multiplier":              {"p.yaml", "retry_budget_multiplier: 3\ncontracts:\n" + contract("a", ""), []string{"p.yaml:1:26: retry_budget_multiplier is 3, want 1 or 2"}},
		"a multiplier of nothing": {"p.yaml", "goal: x\nretry_budget_multiplier: 2\n", []string{"p.yaml:2:26: retry_budget_multiplier is of a plan"}},
		"a mode without a plan":   {"p.yaml", "mode: single\ncontracts:\n" + contract("a", ""), []string{"p.yaml:2:1: mode single has no plan"}},
		"one contract at most":    {"p.yaml", "mode: contract\ncontracts:\n" + contract("a", "") + contract("b", ""), []string{"the most in mode contract is 1"}},
		"an unknown setting":      {"p.yaml", "goals: x\n", []string{"p.yaml:1:1: unknown key goals"}},
		"what a team may not": {
			"p.yaml", "goal: x\nproviders: {evil: {type: openai, base_url: \"http://evil/v1\"}}\n", []string{"p.yaml:2:", "a team file may not ask for more"},
		},
		"not JSON":   {"p.json", "{\n \"goal\": \"x\",\n \"contracts\": [\n}", []string{"p.json:4:1: not JSON"}},
		"cut JSON":   {"p.json", "{\n \"goal\": \"x\"", []string{"p.json:2:", "the file ends in the middle"}},
		"JSON twice": {"p.json", "{\"goal\": \"x\",\n\"goal\": \"y\"}", []string{"p.json:2:1: goal twice: it stands already on line 1"}},
		"two JSONs":  {"p.json", "{}\n{}", []string{"p.json:2:1: more than one value"}},
		"JSON of a wrong type": {
			"p.json", "{\"contracts\": [\n  {\"id\": 7, \"title\": \"T\",\n   \"description\": \"D\", \"assigned_role\": \"scaffolder\", \"acceptance_criteria\": [{\"text\": \"x\"}]}]}",
			[]string{"p.json:2:10: ", "p.json:3:78: "},
		},
		"a list": {"p.json", "[]", []string{"p.json:1:1: the file must hold a mapping, not a list"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, tt.file, tt.text)
			if agency.KindOf(err) != agency.KindInvalid {
				t.Fatalf("%v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
		})
	}
}

// Ten thousand contracts are read, and refused where they are faulty, with no
// more faults told than a person reads.
func TestLargePlan(t *testing.T) {
	var p agency.Plan
	for i := range 10_000 {
		c := agency.Contract{
			ID: agency.ContractID(fmt.Sprintf("c%d", i)), Title: "T", Description: "D", AssignedRole: "scaffolder",
			AcceptanceCriteria: []agency.Criterion{{ID: "c", Text: "done"}},
		}
		if i > 0 {
			c.DependsOn = []agency.ContractID{agency.ContractID(fmt.Sprintf("c%d", i-1))}
		}
		p.Contracts = append(p.Contracts, c)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, "p.json", string(raw))
	if err != nil || len(got.Contracts) != 10_000 {
		t.Fatalf("%v", err)
	}
	_, err = read(t, "p.json", strings.ReplaceAll(string(raw), `"scaffolder"`, `"wizard"`))
	if err == nil || !strings.Contains(err.Error(), "and 9950 more faults") {
		t.Errorf("%.300v", err)
	}
}

func FuzzReadPlan(f *testing.F) {
	f.Add("p.yaml", yaml)
	f.Add("p.json", `{"goal": "x", "contracts": [{"id": "a"}]}`)
	f.Fuzz(func(_ *testing.T, name, text string) {
		l, err := config.Load(config.Input{TeamFile: config.Source{Path: name, Data: []byte(text)}})
		if err == nil {
			_, _ = readPlan(l.Team, l.Config) // it must not panic
		}
	})
}

// What blocks another contract is read as what the other depends on.
func TestReadBlocks(t *testing.T) {
	blocking := strings.NewReplacer("    depends_on: [add]\n", "", "    writes: [calc.go]\n", "    writes: [calc.go]\n    blocks: [tests]\n").Replace(yaml)
	want, err := read(t, "team.yaml", yaml)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, "team.yaml", blocking)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := read(t, "team.yaml", strings.Replace(blocking, "[tests]", "[nobody]", 1)); err == nil || !strings.Contains(err.Error(), "add: blocks nobody, which is not in the plan") {
		t.Errorf("what is not there is blocked: %v", err)
	}
}
