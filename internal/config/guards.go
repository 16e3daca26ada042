package config

import "strconv"

// guard is a setting by which a user keeps a hand on runs. Where the user's own
// file holds the hand there, a repository's file may not take it off without
// trust.
type guard struct {
	key  string
	safe string // the value that holds the hand there
	of   func(Config) string
}

func guards() []guard {
	flag := func(get func(Config) bool) func(Config) string {
		return func(c Config) string { return strconv.FormatBool(get(c)) }
	}
	on := func(key string, get func(Config) bool) guard { return guard{key, "true", flag(get)} }
	off := func(key string, get func(Config) bool) guard { return guard{key, "false", flag(get)} }
	return []guard{
		{"land", "branch", func(c Config) string { return string(c.Land) }},
		on("visibility.strict_mode", func(c Config) bool { return c.Visibility.StrictMode }),
		on("visibility.inspection_gates.plan", func(c Config) bool { return c.Visibility.InspectionGates.Plan }),
		on("visibility.inspection_gates.t2_lead", func(c Config) bool { return c.Visibility.InspectionGates.T2Lead }),
		on("visibility.inspection_gates.t2_synthesis", func(c Config) bool { return c.Visibility.InspectionGates.T2Synthesis }),
		on("visibility.inspection_gates.t3_plan", func(c Config) bool { return c.Visibility.InspectionGates.T3Plan }),
		on("visibility.inspection_gates.t5_verdict", func(c Config) bool { return c.Visibility.InspectionGates.T5Verdict }),
		on("overseer.enabled", func(c Config) bool { return c.Overseer.Enabled }),
		on("overseer.halt_on_critical", func(c Config) bool { return c.Overseer.HaltOnCritical }),
		on("overseer.patterns.danger_detection", func(c Config) bool { return c.Overseer.Patterns.DangerDetection }),
		on("producer_critic.require_lint_pass", func(c Config) bool { return c.ProducerCritic.RequireLintPass }),
		on("producer_critic.require_tests_pass", func(c Config) bool { return c.ProducerCritic.RequireTestsPass }),
		on("producer_critic.require_perfect", func(c Config) bool { return c.ProducerCritic.RequirePerfect }),
		off("producer_critic.allow_major_issues_on_approval", func(c Config) bool { return c.ProducerCritic.AllowMajorIssuesOnApproval }),
		on("quality.block_on_low_score", func(c Config) bool { return c.Quality.BlockOnLowScore }),
		off("improve.enabled", func(c Config) bool { return c.Improve.Enabled }),
		off("improve.allow_tool_creation", func(c Config) bool { return c.Improve.AllowToolCreation }),
		off("improve.allow_tool_modification", func(c Config) bool { return c.Improve.AllowToolModification }),
		off("improve.auto_approve_low_risk", func(c Config) bool { return c.Improve.AutoApproveLowRisk }),
		on("improve.require_human_approval", func(c Config) bool { return c.Improve.RequireHumanApproval }),
	}
}

// guarded are the values of the guards that some file sets, by key.
func (s *state) guarded() map[string]string {
	out := map[string]string{}
	for _, g := range guards() {
		if _, set := s.origins[g.key]; set {
			out[g.key] = g.of(s.config)
		}
	}
	return out
}

func (w *widener) guards(want, have map[string]string) {
	for _, g := range guards() {
		if have[g.key] == g.safe && want[g.key] != g.safe {
			w.add(g.key, g.safe, want[g.key], bindOf(want[g.key]))
		}
	}
}
