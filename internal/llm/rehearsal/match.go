package rehearsal

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agency/internal/llm"
)

// values are what ${{NAME}} stands for.
type values map[string]string

// choose finds the rule for a request: the first that matches. The rules that
// were played at the earlier turns are found in the same way, from the turns'
// own beginnings of the conversation, so that nothing has to be remembered.
func (s *Script) choose(req llm.Request) (int, facts, values) {
	played := make([]int, len(s.rules))
	if s.counts {
		for i, m := range req.Messages {
			if m.Role != llm.Assistant {
				continue
			}
			if r, _ := s.first(readFacts(req, req.Messages[:i]), played); r >= 0 {
				played[r]++
			}
		}
	}
	f := readFacts(req, req.Messages)
	r, v := s.first(f, played)
	return r, f, v
}

func (s *Script) first(f facts, played []int) (int, values) {
	for i := range s.rules {
		r := &s.rules[i]
		if r.times > 0 && played[i] >= r.times || !s.playedBefore(r.when.After.s, played) {
			continue
		}
		if v, ok := r.match(f); ok {
			return i, v
		}
	}
	return -1, builtin(f)
}

func (s *Script) playedBefore(name string, played []int) bool {
	if name == "" {
		return true
	}
	i := slices.IndexFunc(s.rules, func(r rule) bool { return r.name == name })
	return i >= 0 && played[i] > 0
}

// reviewer is the role that is about a contract which others work on: a rule
// that names no role is theirs, unless it gives a review.
const reviewer = "reviewer"

func (r *rule) callsReview() bool {
	return slices.ContainsFunc(r.calls, func(c call) bool { return c.Tool.s == "submit_review" })
}

func (r *rule) match(f facts) (values, bool) {
	w := &r.when
	if len(w.Role) == 0 && f.role == reviewer && !r.callsReview() {
		return nil, false
	}
	if !w.Role.has(f.role) || !w.Agent.has(f.agent) || !w.Contract.has(f.contract) || !w.Model.has(f.model) ||
		!w.Attempt.has(f.attempt) || !w.Turn.has(f.turn) {
		return nil, false
	}
	for _, t := range w.Offers {
		if !f.offers[t] {
			return nil, false
		}
	}
	v := builtin(f)
	if !v.capture(w.Last.Regexp, f.last) || !v.captureResult(w.Result, f.recent) ||
		!v.capture(w.Goal.Regexp, f.title+"\n"+f.goal) || !v.captureResult(w.Seen, f.results) {
		return nil, false
	}
	if w.Image.Regexp != nil && !slices.ContainsFunc(f.images, w.Image.MatchString) {
		return nil, false
	}
	if w.Unseen != nil && (values{}).captureResult(w.Unseen, f.results) {
		return nil, false
	}
	return v, true
}

// builtinNames are known in every rule.
var builtinNames = []string{"role", "agent", "contract", "attempt", "turn", "title", "goal", "model"}

func builtin(f facts) values {
	return values{
		"role": f.role, "agent": f.agent, "contract": f.contract, "attempt": strconv.Itoa(f.attempt), "turn": strconv.Itoa(f.turn),
		"title": f.title, "goal": f.goal, "model": f.model,
	}
}

// capture keeps the groups of a match; an earlier pattern's win. No pattern
// matches everything.
func (v values) capture(re *regexp.Regexp, text string) bool {
	if re == nil {
		return true
	}
	m := re.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		if i == 0 {
			continue
		}
		for _, key := range []string{strconv.Itoa(i), name} {
			if _, taken := v[key]; !taken && key != "" {
				v[key] = m[i]
			}
		}
	}
	return true
}

// captureResult takes the latest result that fits.
func (v values) captureResult(want *seen, results []result) bool {
	if want == nil {
		return true
	}
	for i := len(results) - 1; i >= 0; i-- {
		r := results[i]
		if want.Tool != "" && want.Tool != r.tool || want.IsError != nil && *want.IsError != r.isError {
			continue
		}
		if v.capture(want.Matches.Regexp, r.text) {
			return true
		}
	}
	return false
}

// names are what a rule's ${{NAME}} may be.
func (r *rule) names() []string {
	out := slices.Clone(builtinNames)
	patterns := []*regexp.Regexp{r.when.Last.Regexp, r.when.Goal.Regexp}
	for _, s := range []*seen{r.when.Result, r.when.Seen} {
		if s != nil {
			patterns = append(patterns, s.Matches.Regexp)
		}
	}
	for _, re := range patterns {
		if re == nil {
			continue
		}
		for i, name := range re.SubexpNames() {
			if i > 0 {
				out = append(out, strconv.Itoa(i))
			}
			if name != "" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var slot = regexp.MustCompile(`\$\{\{\s*([A-Za-z0-9_]+)\s*\}\}`)

// expand fills the slots of a text.
func (v values) expand(s string) string {
	if !strings.Contains(s, "${{") {
		return s
	}
	return slot.ReplaceAllStringFunc(s, func(m string) string { return v[slot.FindStringSubmatch(m)[1]] })
}

func unknownName(s string, known []string) (string, bool) {
	for _, m := range slot.FindAllStringSubmatch(s, -1) {
		if !slices.Contains(known, m[1]) {
			return m[1], true
		}
	}
	return "", false
}

// expandAll fills the slots of every string in a value.
func (v values) expandAll(in any) any {
	switch in := in.(type) {
	case string:
		return v.expand(in)
	case []any:
		out := make([]any, len(in))
		for i, one := range in {
			out[i] = v.expandAll(one)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(in))
		for k, one := range in {
			out[k] = v.expandAll(one)
		}
		return out
	}
	return in
}
