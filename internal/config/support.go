package config

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
)

// inEffect is the one list of keys whose feature is in this version; all
// others are accepted, checked and marked in `config show`. A "*" stands for
// any one part; a mapping's name stands for all that is in it.
func inEffect() []string {
	keys := []string{
		"version",
		"mode",
		"triggers", "escalate",
		"on_error",
		"contracts.require_acceptance_criteria",
		"contracts.max_files",
		"contracts.max_lines",
		"contracts.auto_decompose",
		"contracts.max_verification_steps",
		"context.max_tokens",
		"context.include_tests",
		"context.include_similar", "context.vector_search", "context.embeddings_model", "context.language_servers",
		"retry_budget",
		"rollback",
		"branch_prefix",
		"budget",
		"land",
		"providers",
		"prices",
		"windows", "sees",
		"models",
		"routing",
		"commands",
		"producer_critic", "quality",
		"max_parallel_agents",
		"shared_writes", "batch_above_seconds",
		"visibility.max_waiting_gates",
		"agents.*.runtime",
		"sandbox",
		"mcp",
		"resources", "profiles",
		"notify", "notify_quiet_hours", "hooks",
		"visibility.gate_timeout_minutes",
		"visibility.strict_mode", "visibility.log_level",
		"store",
		"board.max_queue_size",
		"board.retention_hours",
		"board.cleanup_interval_seconds", "board.response_minutes",
		"overseer.enabled", "overseer.check_interval_seconds", "overseer.nudge_cooldown_seconds", "overseer.max_nudges_per_agent",
		"overseer.halt_on_critical", "overseer.max_tokens", "overseer.token_warning_threshold", "overseer.timeout_seconds",
		"overseer.snapshot_history_size", "overseer.loop_detection_window", "overseer.stagnation_token_threshold",
		"overseer.failure_increase_threshold", "overseer.patterns", "overseer.warn_threshold", "overseer.force_stop_threshold",
		"overseer.model", "agents.overseer.max_tokens", "agents.overseer.max_tokens_per_session", "agents.overseer.timeout_seconds", "agents.overseer.max_turns",
	}
	keys = append(keys, "tiers")
	for _, gate := range []string{"plan", "t1_plan", "t2_lead", "t2_synthesis", "t3_plan", "t5_verdict"} {
		keys = append(keys, "visibility.inspection_gates."+gate)
	}
	for _, role := range slices.Concat(rolesOf(agency.ModeMultiAgent), rolesOf(agency.ModeTiered)) {
		for _, key := range []string{"model", "talent", "talents", "max_tokens", "max_tokens_per_session", "timeout_seconds", "max_turns"} {
			keys = append(keys, "agents."+string(role)+"."+key)
		}
	}
	return keys
}

// InEffect tells whether a dotted key does something in this version.
func InEffect(key string) bool {
	parts := strings.Split(key, ".")
	return slices.ContainsFunc(inEffect(), func(pattern string) bool {
		want := strings.Split(pattern, ".")
		if len(want) > len(parts) {
			return false
		}
		for i, w := range want {
			if w != "*" && w != parts[i] {
				return false
			}
		}
		return true
	})
}

// idle are the keys that a file or flag sets and that do nothing in this version, or
// beside what else is set; a list is told once.
func (s *state) idle() (out []Warning) {
	keys, told := sortedKeys(s.origins), map[string]bool{}
	for _, a := range s.config.absent() { // a run is refused for these, which says more
		told[a.key] = true
	}
	for i, at := range keys {
		whole := i+1 == len(keys) || !strings.HasPrefix(keys[i+1], at+".") && !strings.HasPrefix(keys[i+1], at+"[") // holds no others
		key, _, _ := strings.Cut(at, "[")
		if !whole || told[key] {
			continue
		}
		why := s.config.whyIdle(key)
		if why == "" {
			continue
		}
		told[key] = true
		out = append(out, Warning{Text: key + " has no effect " + why, Origin: s.origins[at]})
	}
	return out
}

// whyIdle says in which version, or beside which switch, a key does nothing.
func (c Config) whyIdle(key string) string {
	o := c.Overseer
	switch {
	case !InEffect(key):
		return "in this version"
	case strings.HasPrefix(key, "overseer.") && key != "overseer.enabled" && !o.Enabled:
		return "while overseer.enabled is false"
	case key == "overseer.failure_increase_threshold" && !o.Patterns.LoopDetection:
		return "while overseer.patterns.loop_detection is false"
	case key == "overseer.stagnation_token_threshold" && !o.Patterns.StagnationDetection:
		return "while overseer.patterns.stagnation_detection is false"
	case strings.HasPrefix(key, "routing.") && key != "routing.strategy" && c.Routing.Strategy == agency.RouteFixed:
		return "while routing.strategy is " + string(agency.RouteFixed)
	case strings.HasPrefix(key, "quality.") && key != "quality.enabled" && !c.Quality.Enabled:
		return "while quality.enabled is false"
	case key == "context.embeddings_model" && !c.Context.VectorSearch:
		return "while context.vector_search is false"
	case key == "overseer.nudge_cooldown_seconds" && o.MaxNudgesPerAgent == 0:
		return "while overseer.max_nudges_per_agent is 0"
	}
	return ""
}

// absent is a value whose feature is not in this version and that a run could
// not pass over in silence.
type absent struct{ key, what string }

func (c Config) absent() []absent {
	var out []absent
	add := func(bad bool, key, what string) {
		if bad {
			out = append(out, absent{key, what})
		}
	}
	add(!c.Mode.Built(), "mode", "mode "+string(c.Mode))
	add(c.Land == agency.LandPullRequest, "land", "land: pull_request")
	add(c.Sandbox.Network != "none", "sandbox.network", "sandbox.network: "+c.Sandbox.Network)
	add(c.Store.URL != "", "store.url", "store.url")
	for _, role := range sortedKeys(c.Agents) {
		r := c.Agents[role].Runtime
		add(!slices.Contains(Runtimes(), r), "agents."+role+".runtime", "runtime "+r)
	}
	return out
}

// NotYet names what the mode full brings with it, as it is configured, and what
// is not in this version: a run does without, and says so.
func (c Config) NotYet() []string {
	if c.Mode != agency.ModeFull {
		return nil
	}
	var out []string
	add := func(wanted bool, key, what string) {
		if wanted && !InEffect(key) {
			out = append(out, what+" ("+key+")")
		}
	}
	add(c.Improve.Enabled, "improve.enabled", "the self-improvement loop")
	add(len(c.Notify) > 0, "notify", "announcements")
	return out
}

// Supported names every setting whose feature is not in this version and that
// a run could not honour; its error is KindInvalid. Commands that only look
// do not ask.
func (l *Loaded) Supported() error {
	c := &collector{}
	ch := &checker{state: l.state, texts: l.texts, faults: c}
	for _, a := range l.Config.absent() {
		ch.fault("%s is not in this version", []any{a.what}, a.key)
	}
	return c.err()
}

// mark is what `config show` says about a key beside its origin.
func (l *Loaded) mark(key string, absents []absent) string {
	for _, a := range absents {
		if a.key == key || strings.HasPrefix(key, a.key+".") {
			return "not in this version"
		}
	}
	if !InEffect(key) {
		return "no effect yet"
	}
	return ""
}

func (o Origin) String() string {
	switch o.Layer {
	case LayerUser, LayerTeam, LayerRepo:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case LayerFlag:
		return o.File
	case LayerCatalogue:
		return "catalogue of " + o.File
	default:
		return string(o.Layer)
	}
}
