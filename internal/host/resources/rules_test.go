package resources

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/llm/anthropic"
	"agency/internal/llm/catalog"
	"agency/internal/mode"
	"agency/internal/roster"
)

// A plan cannot take the id of a contract that the run makes itself: the second
// of that id would end the run.
func TestReservedIDs(t *testing.T) {
	rules := rulesOf(config.Config{Mode: agency.ModeMultiAgent}, []agency.Contract{{ID: "old"}}, agency.PlanContract, agency.RoleProjectManager)
	for _, id := range append(mode.Reserved(), "old") {
		faults := agency.ValidatePlan([]agency.Contract{{ID: id, AssignedRole: "scaffolder"}}, rules)
		if len(faults) != 1 || !strings.Contains(faults[0].What, "is taken") {
			t.Errorf("a contract %s has the faults %v", id, faults)
		}
	}
	for _, id := range []agency.ContractID{"main-2", "rework-12", "features.json-3"} {
		if faults := agency.ValidatePlan([]agency.Contract{{ID: id, AssignedRole: "scaffolder"}}, rules); len(faults) != 1 || !strings.Contains(faults[0].What, "the run's own") {
			t.Errorf("a contract %s has the faults %v", id, faults)
		}
	}
	if faults := agency.ValidatePlan([]agency.Contract{{ID: "reporting", AssignedRole: "scaffolder"}}, rules); len(faults) != 0 {
		t.Errorf("an id of its own has the faults %v", faults)
	}
}

// A new plan may build on the one before it, but on nothing that can not land.
func TestPlansBuildOnWhatIsThere(t *testing.T) {
	known := []agency.Contract{
		{ID: "plan", AssignedRole: "project_manager", Status: agency.StatusComplete},
		{ID: "done", AssignedRole: "scaffolder", Status: agency.StatusComplete},
		{ID: "busy", AssignedRole: "scaffolder", Status: agency.StatusInProgress},
		{ID: "lost", AssignedRole: "scaffolder", Status: agency.StatusFailed},
		{ID: "stuck", AssignedRole: "scaffolder", Status: agency.StatusBlocked},
	}
	rules := rulesOf(config.Config{Mode: agency.ModeMultiAgent}, known, agency.PlanContract, agency.RoleProjectManager)
	for id, want := range map[agency.ContractID]string{"done": "", "busy": "", "lost": "is failed", "stuck": "is blocked", "plan": "not in the plan"} {
		faults := agency.ValidatePlan([]agency.Contract{{ID: "new", AssignedRole: "scaffolder", DependsOn: []agency.ContractID{id}}}, rules)
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].What, want)) {
			t.Errorf("after %s: %v", id, faults)
		}
	}
}

// What a session may take and answer follows its models where nobody says so.
func TestLimitsFollowTheModels(t *testing.T) {
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Defaults()
	ref := func(s string) config.ModelRef {
		r, err := config.ParseModel(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	large, small := ref("anthropic/claude-opus-5"), ref("anthropic/claude-haiku-4-5")
	for _, tc := range []struct {
		set  int64
		refs []config.ModelRef
		want int64
	}{{0, []config.ModelRef{large}, 200_000}, {0, []config.ModelRef{large, small}, 100_000}, {5, []config.ModelRef{large}, 5}, {0, []config.ModelRef{ref("local/any")}, 100_000}} {
		if got := sessionTokens(known, c, config.Agent{MaxTokensPerSession: tc.set}, tc.refs); got != tc.want {
			t.Errorf("%d, %v: %d tokens, want %d", tc.set, tc.refs, got, tc.want)
		}
	}
	m := &Models{known: known}
	for _, tc := range []struct {
		ref    config.ModelRef
		tokens int
		want   anthropic.Thinking
		output int64
	}{
		{large, 0, anthropic.Thinking{Adaptive: true}, 64_000},
		{large, 4000, anthropic.Thinking{Adaptive: true}, 64_000},
		{large, -1, anthropic.Thinking{}, 64_000},
		{small, 0, anthropic.Thinking{Budget: 16_000}, 64_000},
		{small, 4000, anthropic.Thinking{Budget: 4000}, 64_000},
		{small, -1, anthropic.Thinking{}, 64_000},
		{ref("anthropic/claude-opus-4-1"), 0, anthropic.Thinking{Budget: 16_000}, 32_000},
		{ref("anthropic/of-somebody"), 0, anthropic.Thinking{}, 8192},
		{ref("anthropic/of-somebody"), 2000, anthropic.Thinking{Budget: 2000}, 8192},
	} {
		is := m.catalogued(c, tc.ref)
		if got := thinking(is, tc.tokens); got != tc.want {
			t.Errorf("%v with %d: %+v, want %+v", tc.ref, tc.tokens, got, tc.want)
		}
		if got := shortest(0, is.MaxOutput); got != tc.output {
			t.Errorf("%v: answers of %d tokens, want %d", tc.ref, got, tc.output)
		}
	}
	if got := shortest(64_000, 8192); got != 8192 {
		t.Errorf("beside a model of 8192 tokens an answer has %d", got)
	}
}

// The limits that a run has by default are those of the roles (docs/design.md, Modes).
func TestDefaultLimitsAreTheRoles(t *testing.T) {
	agents := config.Defaults().Agents
	for _, role := range roster.Roles() {
		a := agents[string(role.ID)]
		got := limitsOf(role.Limits, a)
		if got.Tokens = sessionTokens(&catalog.Catalog{}, config.Defaults(), a, []config.ModelRef{{Provider: "p", Name: "unknown"}}); got != role.Limits {
			t.Errorf("%s has the limits %+v by default, want %+v", role.ID, got, role.Limits)
		}
	}
}
