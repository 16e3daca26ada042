package rehearsal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"agency/internal/llm"
)

// rule is a checked rule.
type rule struct {
	name      string
	when      whenFile
	text      string
	reasoning string
	calls     []call
	latency   time.Duration
	usage     *usage
	stop      llm.StopReason
	times     int // 0: any number
	fault     *Fault
	quirks    []string
}

// quirks are what a compatible server leaves out or does its own way; they
// show only over HTTP.
var quirkNames = []string{
	"no_id", "no_usage", "no_cache_usage", "no_finish", "no_done", "no_stream", "no_index", "no_call_id",
	"index_zero", "null_content", "whole_args", "object_args", "comments",
	"redacted_thinking",
}

var stops = []llm.StopReason{
	llm.StopEndTurn, llm.StopToolUse, llm.StopLength, llm.StopRefusal, llm.StopPause, llm.StopContext,
}

func (f *scriptFile) compile(root ast.Node) (*Script, error) {
	if f.Version != 1 {
		return nil, wrong(valueOf(root, "version"), "version: want 1")
	}
	if len(f.Rules) == 0 {
		return nil, wrong(valueOf(root, "rules"), "rules: a script needs at least one")
	}
	s := &Script{name: f.Name, seed: f.Seed}
	if s.name == "" {
		s.name = "unnamed"
	}
	names := map[string]bool{}
	for i, p := range f.Rules {
		r, err := p.compile(i, time.Duration(f.Latency))
		if err != nil {
			return nil, err
		}
		if names[r.name] {
			return nil, wrong(p.rule.Name.node, "two rules are named %q", r.name)
		}
		names[r.name] = true
		s.counts = s.counts || r.times > 0 || r.when.After.s != ""
		s.rules = append(s.rules, r)
	}
	for _, r := range s.rules {
		if a := r.when.After; a.s != "" && !names[a.s] {
			return nil, wrong(a.node, "no rule is named %q", a.s)
		}
	}
	return s, nil
}

// valueOf finds a key's value for an error's place, else the mapping itself.
func valueOf(n ast.Node, key string) ast.Node {
	if m, ok := n.(*ast.MappingNode); ok {
		for _, v := range m.Values {
			if v.Key.String() == key {
				return v.Value
			}
		}
	}
	return n
}

func (p *placed) compile(i int, latency time.Duration) (rule, error) {
	f := &p.rule
	r := rule{
		name: f.Name.s, when: f.When, text: f.Text.s, reasoning: f.Reasoning.s, calls: f.Calls,
		latency: latency, usage: f.Usage, stop: llm.StopReason(f.Stop.s), times: f.Times,
	}
	if r.name == "" {
		r.name = fmt.Sprintf("rule %d", i+1)
	}
	if f.Latency != nil {
		r.latency = time.Duration(*f.Latency)
	}
	if f.Once {
		r.times = 1
	}
	if r.stop != "" && !slices.Contains(stops, r.stop) {
		return r, wrong(f.Stop.node, "stop: unknown reason %q: want one of %v", f.Stop.s, stops)
	}
	for _, q := range f.Quirks {
		if !slices.Contains(quirkNames, q.s) {
			return r, wrong(q.node, "unknown quirk %q: want of %s", q.s, strings.Join(quirkNames, ", "))
		}
		r.quirks = append(r.quirks, q.s)
	}
	if f.Fault != nil {
		fault, err := f.Fault.compile()
		if err != nil {
			return r, err
		}
		r.fault = fault
	}
	return r, p.check(&r)
}

// check looks at what a rule says: that it says something, and that every
// ${{NAME}} is known.
func (p *placed) check(r *rule) error {
	f := &p.rule
	if r.times < 0 {
		return wrong(p.node, "times: want a number from 1")
	}
	if f.Text.s == "" && len(f.Calls) == 0 && f.Fault == nil && f.Stop.s == "" {
		return wrong(p.node, "the rule says nothing: want text, calls, stop or fault")
	}
	known := r.names()
	if bad, ok := unknownName(f.Text.s, known); ok {
		return wrong(f.Text.node, "${{%s}} is not captured: known are %s", bad, strings.Join(known, ", "))
	}
	for _, c := range f.Calls {
		if c.Tool.s == "" {
			return wrong(c.node, "a call needs a tool")
		}
		if c.Raw != "" && c.Args != nil {
			return wrong(c.node, "a call has either args or raw")
		}
		if bad, ok := unknownIn(c.Args, known); ok {
			return wrong(c.node, "${{%s}} is not captured: known are %s", bad, strings.Join(known, ", "))
		}
	}
	return nil
}

// unknownIn walks a value in the order of its keys.
func unknownIn(v any, known []string) (string, bool) {
	switch v := v.(type) {
	case string:
		return unknownName(v, known)
	case []any:
		for _, one := range v {
			if bad, ok := unknownIn(one, known); ok {
				return bad, true
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if bad, ok := unknownIn(v[k], known); ok {
				return bad, true
			}
		}
	}
	return "", false
}
