package config

import "strconv"

// guard is a setting by which a user keeps a hand on runs. Where the user's own
// file holds the hand there, a repository's file may not take it off without
// trust.
type guard struct {
	key  string
	safe string // the value that holds the hand there
	now  string
}

func (c Config) guards() []guard {
	v, o, p, i := c.Visibility, c.Overseer, c.ProducerCritic, c.Improve
	on := func(key string, now bool) guard { return guard{key, "true", strconv.FormatBool(now)} }
	off := func(key string, now bool) guard { return guard{key, "false", strconv.FormatBool(now)} }
	return []guard{
		{"land", "branch", string(c.Land)},
		on("visibility.strict_mode", v.StrictMode),
		on("visibility.inspection_gates.plan", v.InspectionGates.Plan),
		on("visibility.inspection_gates.t2_lead", v.InspectionGates.T2Lead),
		on("visibility.inspection_gates.t2_synthesis", v.InspectionGates.T2Synthesis),
		on("visibility.inspection_gates.t3_plan", v.InspectionGates.T3Plan),
		on("visibility.inspection_gates.t5_verdict", v.InspectionGates.T5Verdict),
		on("overseer.enabled", o.Enabled),
		on("overseer.halt_on_critical", o.HaltOnCritical),
		on("overseer.patterns.danger_detection", o.Patterns.DangerDetection),
		on("producer_critic.require_lint_pass", p.RequireLintPass),
		on("producer_critic.require_tests_pass", p.RequireTestsPass),
		on("producer_critic.require_perfect", p.RequirePerfect),
		off("producer_critic.allow_major_issues_on_approval", p.AllowMajorIssuesOnApproval),
		on("quality.block_on_low_score", c.Quality.BlockOnLowScore),
		off("improve.enabled", i.Enabled),
		off("improve.allow_tool_creation", i.AllowToolCreation),
		off("improve.allow_tool_modification", i.AllowToolModification),
		off("improve.auto_approve_low_risk", i.AutoApproveLowRisk),
		on("improve.require_human_approval", i.RequireHumanApproval),
	}
}

// guarded are the values of the guards that some file sets, by key.
func (s *state) guarded() map[string]string {
	out := map[string]string{}
	for _, g := range s.config.guards() {
		if _, set := s.origins[g.key]; set {
			out[g.key] = g.now
		}
	}
	return out
}

func (w *widener) guards(want, have map[string]string) {
	for _, g := range (Config{}).guards() {
		if have[g.key] == g.safe && want[g.key] != g.safe {
			w.add(g.key, g.safe, want[g.key], bindOf(want[g.key]))
		}
	}
}
