package host

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/llm/catalog"
)

func TestChoose(t *testing.T) {
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Defaults()
	c.Mode = agency.ModeMultiAgent
	c.Prices = map[string]config.Price{"local/qwen": {In: 1, Out: 2}}
	for _, tc := range []struct{ whom, name, role, want, fault string }{
		{"", "claude-haiku-4-5", "reviewer", "anthropic/claude-haiku-4-5", ""},
		{"", "qwen", "generalist", "local/qwen", ""},
		{"", "local/whatever", "generalist", "local/whatever", ""}, // a server of the user's own
		{"", "fast-cheap", "generalist", "anthropic/claude-haiku-4-5", ""},
		{"critic", "qwen", "reviewer", "local/qwen", ""},
		{"critic", "qwen", "generalist", "anthropic/claude-sonnet-4-5", ""},
		{"capable", "qwen", "generalist", "local/qwen", ""},
		{"generalist", "reasoning-heavy", "generalist", "anthropic/claude-opus-4-1", ""},
		{"", "claude-haiku-45", "", "", "did you mean claude-haiku-4-5?"},
		{"", "anthropic/claude-hiku-4-5", "", "", "did you mean anthropic/claude-haiku-4-5?"},
		{"", "antropic/x", "", "", "did you mean anthropic?"},
		{"revewer", "qwen", "", "", "did you mean reviewer?"},
		{"", "", "", "", "no model is named"},
	} {
		got, err := Choose(known, c, tc.whom, tc.name)
		if tc.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fault) || agency.KindOf(err) != agency.KindInvalid {
				t.Errorf("%s=%s: %v, want %s", tc.whom, tc.name, err, tc.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s=%s: %v", tc.whom, tc.name, err)
			continue
		}
		refs, err := got.ModelsOf(agency.RoleID(tc.role))
		if err != nil || refs[0].String() != tc.want {
			t.Errorf("%s=%s: %s asks %v, %v, want %s", tc.whom, tc.name, tc.role, refs, err, tc.want)
		}
	}
	if c.Models["capable"][0] != "anthropic/claude-sonnet-4-5" || c.Agents["reviewer"].Model != "capable" {
		t.Error("the configuration before has changed, too")
	}
	if got, err := Choose(known, c, "scaffolder", "qwen"); err != nil || !got.Stands(agency.RoleScaffolder) || got.Stands(agency.RoleTestEngineer) {
		t.Errorf("what a person says of a role does not stand: %v", err)
	}
}
