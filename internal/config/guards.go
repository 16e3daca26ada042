package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// harmless are the keys that the text of others may set as it likes: what they lead to
// stays within the sandbox, the budget, the gates and the places that are the user's own.
// A key stands in it, has an order in Widens or asks for trust wherever it differs from
// the user's, as one that is added to Config does until somebody decides.
var harmless = keySet(`
version mode triggers max_parallel_agents retry_budget rollback on_error branch_prefix shared_writes batch_above_seconds
windows.* sees models.*
routing.strategy routing.simple_max_files routing.simple_max_criteria routing.complex_min_files routing.complex_min_criteria routing.roles
commands.test commands.lint commands.typecheck commands.build commands.setup commands.timeout_seconds commands.needs.*
providers.*.thinking_tokens providers.*.max_wait_minutes providers.*.first_byte_seconds providers.*.idle_seconds
agents.*.model agents.*.talent agents.*.talents.* agents.*.max_tokens agents.*.max_tokens_per_session agents.*.timeout_seconds agents.*.max_turns
producer_critic.max_iterations producer_critic.timeout_seconds
tiers.t3_mesh_timeout_minutes tiers.t2_conflict_cycles
overseer.check_interval_seconds overseer.nudge_cooldown_seconds overseer.max_nudges_per_agent overseer.max_tokens
overseer.token_warning_threshold overseer.timeout_seconds overseer.snapshot_history_size overseer.loop_detection_window
overseer.stagnation_token_threshold overseer.failure_increase_threshold overseer.model overseer.warn_threshold
board.max_queue_size board.receive_timeout_seconds board.retention_hours board.cleanup_interval_seconds board.response_minutes
contracts.auto_decompose contracts.max_files contracts.max_lines contracts.max_verification_steps
context.max_tokens context.include_tests context.include_similar context.embeddings_model
quality.analyzers.readability quality.analyzers.maintainability quality.analyzers.performance
visibility.log_level visibility.gate_timeout_minutes visibility.max_waiting_gates
`)

// ordered are the keys that Widens compares by what is more of them.
var ordered = keySet(`
sandbox.mode sandbox.network sandbox.timeout_seconds sandbox.memory_mb sandbox.processes sandbox.output_kb
sandbox.allow_hosts sandbox.setup_hosts sandbox.read sandbox.loopback
providers.*.type providers.*.base_url providers.*.api_key providers.*.api providers.*.script
mcp.*.command mcp.*.url mcp.*.roles mcp.*.scope mcp.*.timeout_seconds
notify[].type notify[].url notify[].secret notify[].to notify[].from notify[].events notify[].insecure
vcs.type store.url budget.usd budget.tokens budget.wall_minutes resources.* prices.*.in prices.*.cached_in prices.*.out
agents.*.runtime context.language_servers
`)

func keySet(words string) map[string]bool {
	set := map[string]bool{}
	for _, key := range strings.Fields(words) {
		set[key] = true
	}
	return set
}

// closed tells whether a key, with * for the names of a mapping and [] for the places of a
// list, asks for trust wherever it differs from the user's.
func closed(schemaKey string) bool {
	return !harmless[schemaKey] && !ordered[schemaKey] && !guardKeys()[schemaKey]
}

// guardKeys are the keys of guards.
var guardKeys = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, g := range (Config{}).guards() {
		set[g.key] = true
	}
	return set
})

// leaves calls visit with each value of a configuration that is no mapping of others: its
// dotted key and that of the schema.
func leaves(v reflect.Value, key, schemaKey string, visit func(key, schemaKey string, v reflect.Value)) {
	switch t := v.Type(); {
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t) {
			leaves(v.Field(f.index), join(key, f.name), join(schemaKey, f.name), visit)
		}
	case t.Kind() == reflect.Map:
		for _, name := range v.MapKeys() {
			leaves(v.MapIndex(name), join(key, name.String()), join(schemaKey, "*"), visit)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", key, i), schemaKey+"[]", visit)
		}
	default:
		visit(key, schemaKey, v)
	}
}

// setting is the value of a closed key: as it is shown, and exactly.
type setting struct{ shown, exact string }

// closedSettings are those of a state. Those that stand in the user's own file alone are refused
// elsewhere, whatever they say.
func (s *state) closedSettings() map[string]setting {
	out := map[string]setting{}
	leaves(reflect.ValueOf(s.config), "", "", func(key, schemaKey string, v reflect.Value) {
		if closed(schemaKey) && !ownAlone(key) {
			shown := plainValue(v)
			out[key] = setting{shown, s.writtenText(key, shown)}
		}
	})
	return out
}

func (w *widener) closed(want, have map[string]setting) {
	for _, key := range sortedKeys(want) {
		if was := have[key]; want[key] != was {
			w.add(key, was.shown, want[key].shown, bindOf(want[key].exact))
		}
	}
}
