package config

import (
	"cmp"
	"slices"
	"strconv"
)

// guard is a setting by which a user keeps a hand on runs. Where the user's own
// file holds the hand there, a repository's text may not take it off without
// trust.
type guard struct {
	key   string
	now   string
	loose func(have, want string) bool // whether want holds less than have
}

// held is a guard by a word: those that hold the hand there, firmest first.
func held(key, now string, firm ...string) guard {
	return guard{key, now, func(have, want string) bool {
		from, to := slices.Index(firm, have), slices.Index(firm, want)
		return from >= 0 && (to < 0 || to > from)
	}}
}

// floor is a guard by a number, which may not be lower.
func floor(key string, now int) guard {
	return guard{key, strconv.Itoa(now), func(have, want string) bool {
		from, _ := strconv.Atoi(have)
		to, _ := strconv.Atoi(want)
		return to < from
	}}
}

func (c Config) guards() []guard {
	v, o, p, q, i := c.Visibility, c.Overseer, c.ProducerCritic, c.Quality, c.Improve
	on := func(key string, now bool) guard { return held(key, strconv.FormatBool(now), "true") }
	off := func(key string, now bool) guard { return held(key, strconv.FormatBool(now), "false") }
	return []guard{
		held("land", string(c.Land), "branch"),
		held("escalate", c.Escalate, EscalateNever, EscalateAsk),
		on("visibility.strict_mode", v.StrictMode),
		on("visibility.inspection_gates.plan", v.InspectionGates.Plan),
		on("visibility.inspection_gates.t1_plan", v.InspectionGates.T1Plan),
		on("visibility.inspection_gates.t2_lead", v.InspectionGates.T2Lead),
		on("visibility.inspection_gates.t2_synthesis", v.InspectionGates.T2Synthesis),
		on("visibility.inspection_gates.t3_plan", v.InspectionGates.T3Plan),
		on("visibility.inspection_gates.t5_verdict", v.InspectionGates.T5Verdict),
		on("overseer.enabled", o.Enabled),
		on("overseer.halt_on_critical", o.HaltOnCritical),
		on("overseer.patterns.loop_detection", o.Patterns.LoopDetection),
		on("overseer.patterns.stagnation_detection", o.Patterns.StagnationDetection),
		on("overseer.patterns.danger_detection", o.Patterns.DangerDetection),
		held("overseer.force_stop_threshold", o.ForceStopThreshold, "low", "medium", "high"),
		on("producer_critic.require_lint_pass", p.RequireLintPass),
		on("producer_critic.require_tests_pass", p.RequireTestsPass),
		on("producer_critic.require_perfect", p.RequirePerfect),
		off("producer_critic.allow_major_issues_on_approval", p.AllowMajorIssuesOnApproval),
		on("contracts.require_acceptance_criteria", c.Contracts.RequireAcceptanceCriteria),
		off("context.vector_search", c.Context.VectorSearch),
		on("quality.enabled", q.Enabled),
		on("quality.block_on_low_score", q.BlockOnLowScore),
		floor("quality.min_overall_score", q.MinOverallScore),
		floor("quality.min_correctness_score", q.MinCorrectnessScore),
		floor("quality.min_security_score", q.MinSecurityScore),
		on("quality.analyzers.security", q.Analyzers.Security),
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
		if was, set := have[g.key]; set && g.loose(was, want[g.key]) {
			w.add(g.key, was, cmp.Or(want[g.key], `""`), bindOf(want[g.key]))
		}
	}
}
