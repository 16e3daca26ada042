package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

func TestRouted(t *testing.T) {
	const two = "models: {reasoning-heavy: [local/big], capable: [local/mid], fast-cheap: [local/small]}\n"
	team := []agency.RoleID{"generalist", "scaffolder", "test_engineer", "cleanup"}
	for _, tt := range []struct {
		name, file string
		roles      []agency.RoleID
		models     []string // that the run may ask
	}{
		{"one agent has its own", "mode: single\n" + two, nil, []string{"local/mid"}},
		{"a team", "mode: multi_agent\n" + two, team, []string{"local/mid", "local/big", "local/small"}},
		{"a contract", "mode: contract\n" + two, []agency.RoleID{"generalist"}, []string{"local/mid", "local/big", "local/small"}},
		{"tiers", "mode: tiered\n" + two, []agency.RoleID{"t4_implementer"}, []string{"local/big", "local/mid", "local/small"}},
		{"tiers of one model each", "mode: tiered\nrouting: {strategy: fixed}\n" + two, nil, []string{"local/big", "local/mid", "local/small"}},
		{"one model routes to what there is", "mode: multi_agent\nmodels: {capable: [local/mid]}\n", nil, []string{"local/mid"}},
		{"fixed", "mode: contract\nrouting: {strategy: fixed}\n" + two, nil, []string{"local/mid"}},
		{
			"a model that a person named stands", "mode: multi_agent\nagents: {scaffolder: {model: capable}, generalist: {model: local/own}}\n" + two,
			[]agency.RoleID{"test_engineer", "cleanup"},
			[]string{"local/own", "local/mid", "local/big", "local/small"},
		},
		{"all named", "mode: contract\nagents: {generalist: {model: capable}}\n" + two, nil, []string{"local/mid"}},
		{"roles that a person named", "mode: multi_agent\nrouting: {roles: [cleanup]}\n" + two, []agency.RoleID{"cleanup"}, []string{"local/mid", "local/small", "local/big"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, repoInput(tt.file)).Config
			if diff := cmp.Diff(tt.roles, c.Routed()); diff != "" {
				t.Error(diff)
			}
			refs, err := c.RunModels()
			if err != nil {
				t.Fatal(err)
			}
			var models []string
			for _, r := range refs {
				models = append(models, r.String())
			}
			if diff := cmp.Diff(tt.models, models); diff != "" {
				t.Error(diff)
			}
			rules := c.RoutingRules()
			if (rules.Roles == nil) != (tt.roles == nil) || tt.roles != nil && rules.Bounds != agency.DefaultBounds() {
				t.Errorf("rules %+v", rules)
			}
		})
	}
}

func TestTalentFor(t *testing.T) {
	c := load(t, repoInput("agents: {t5_verifier: {talents: {web: frontend-developer}, talent: ''}, t4_implementer: {talent: senior-developer}}\n")).Config
	for _, tt := range []struct {
		role         agency.RoleID
		domain, want string
	}{
		{"t5_verifier", "Web", "frontend-developer"},
		{"t5_verifier", "the web client", "frontend-developer"},
		{"t5_verifier", "webhooks", ""},
		{"t5_verifier", "", ""},
		{"t5_verifier", "Public API", "api-tester"}, // what a file does not name stays
		{"t4_implementer", "docs", "technical-writer"},
		{"t4_implementer", "ai docs", "technical-writer"}, // the longest word
		{"t4_implementer", "parser", "senior-developer"},
		{"t3_lead", "backend", "senior-developer"},
		{"t2_architect", "Data", "data-engineer"},
		{"generalist", "backend", ""},
	} {
		if got := c.TalentFor(tt.role, tt.domain); got != tt.want {
			t.Errorf("%s for %q: %q, want %q", tt.role, tt.domain, got, tt.want)
		}
	}
}
