package symbols

import (
	"regexp"
	"slices"
	"strings"

	"agency/internal/code"
)

// Tests put another clock in the place of the real one, as everybody does. Code
// that asks whether they did, or that compares the clock alone with a constant
// which they then set, does right under them only.

// Clock is how State names a clock that is compared with constants alone, and a
// clock that is set.
const Clock = "the clock"

var (
	// clockReads are paths of the time that it is; clockSets of what sets it.
	clockReads = regexp.MustCompile(`^(?:Date\.now\(\)|Date\(\)|new Date(?:\.(?:get|to|valueOf)\w*\(\))?|performance\.(?:now\(\)|timeOrigin)|time\.(?:time|time_ns|monotonic|perf_counter)\(\)|` +
		`time\.(?:localtime|gmtime)\(\)(?:\.\w+)?|(?:datetime\.)?(?:datetime|date)\.(?:now|today|utcnow)\(\)(?:\.\w+(?:\(\))?)?)$`)
	clockSets = regexp.MustCompile(`(?:^|\.)(?:useFakeTimers|setSystemTime|freeze_time|time_machine\.travel|timers\.(?:enable|setTime))\(\)$|` +
		`^(?:globalThis\.|global\.)?Date(?:\.now)?$|(?:^|\.)(?:time|datetime|date)(?:\.(?:time|time_ns|now|today|utcnow|datetime|date))?$`)
	// ofClocks are functions that such mocks replace, and what of a function tells
	// who made it.
	ofClocks    = `(?:globalThis\.|global\.)?(?:Date(?:\.now)?|(?:set|clear)(?:Timeout|Interval|Immediate)|performance\.now|queueMicrotask|process\.(?:nextTick|hrtime))`
	clockItself = regexp.MustCompile(`^` + ofClocks + `$|^(?:time\.(?:time|sleep|monotonic)|datetime\.datetime(?:\.now)?)$`)
	asksOfMock  = regexp.MustCompile(`^` + ofClocks + `\.(?:clock|isFake|isMockFunction|_isMockFunction|mock|toString|toSource|name|length)$|` +
		`^(?:time\.(?:time|sleep|monotonic)|datetime\.datetime(?:\.now)?)\.__\w+__$`)
	// other clocks run on under a mock.
	otherClock = regexp.MustCompile(`^(?:performance\.|process\.(?:hrtime|uptime)|node:perf_hooks\.|node:os\.uptime|time\.(?:monotonic|perf_counter|process_time))`)
	wallClock  = regexp.MustCompile(`^(?:new )?Date\b|^time\.time|^(?:datetime\.)?(?:datetime|date)\.`)
)

// comparisons are the operators that give true or false.
var comparisons = []string{"<", ">", "<=", ">=", "==", "===", "!=", "!=="}

func compares(n code.Node) bool {
	return n.Is("comparison_operator") || n.Is("binary_expression") && slices.Contains(comparisons, n.Field("operator").Text())
}

// clock finds what code does by its clock.
type clock struct{ *Reader }

// look marks code that asks whether its clock is the real one.
func (r clock) look(n code.Node) {
	if r.Options.Test {
		return
	}
	if r.Stands(n) {
		for _, p := range r.Paths(n) {
			if asksOfMock.MatchString(p) {
				r.Mark(n, LooksForMocks, p)
			}
		}
	}
	switch {
	case compares(n):
		wall, other := false, false
		for c := range n.All() {
			if !r.Stands(c) {
				continue
			}
			for _, p := range r.Paths(c) {
				wall, other = wall || wallClock.MatchString(p), other || otherClock.MatchString(p)
			}
		}
		if wall && other {
			r.Mark(n, LooksForMocks, "one clock against another")
		}
	case n.Is("call", "call_expression"):
		for _, f := range r.Paths(n.Field("function")) {
			if !slices.Contains([]string{
				"String", "Function.prototype.toString.call", "node:util.inspect", "Object.keys", "Object.getOwnPropertyNames", "Object.getOwnPropertyDescriptor",
				"Object.getOwnPropertyDescriptors", "Object.getOwnPropertySymbols", "Reflect.ownKeys", "Object.hasOwn", "repr", "str", "type", "isinstance", "callable", "hasattr", "dir", "vars",
			}, f) {
				continue
			}
			for _, a := range n.Field("arguments").Parts() {
				if slices.ContainsFunc(r.Paths(a), clockItself.MatchString) && a.Start() == n.Field("arguments").Parts()[0].Start() {
					r.Mark(n, LooksForMocks, f)
				}
			}
		}
	}
}

// clockState notes a clock that is compared with constants alone, and one that
// is set.
func (s *stateReader) clockState(n code.Node, p string) {
	if clockReads.MatchString(p) && (clock{s.Reader}).againstConstants(n) {
		s.Reads = append(s.Reads, Place{Clock, n.Line()})
	}
	if n.Is("call", "call_expression") && strings.HasSuffix(p, "()") && clockSets.MatchString(p) {
		s.Sets = append(s.Sets, Place{Clock, n.Line()})
	}
}

// clockReplaced notes the same of what tests put in something's place.
func (s *stateReader) clockReplaced() {
	for _, p := range s.puts {
		if clockSets.MatchString(p.name) {
			s.Sets = append(s.Sets, Place{Clock, p.at.Line()})
		}
	}
	for _, p := range s.Replaces {
		if clockSets.MatchString(p.Name) {
			s.Sets = append(s.Sets, Place{Clock, p.Line})
		}
	}
}

// againstConstants tells of a time that is a condition by itself, or compared
// with nothing but constants.
func (r clock) againstConstants(n code.Node) bool {
	within := n
	for a := range n.Around() {
		switch {
		case compares(a):
			return r.onlyClock(a)
		case a.Is("binary_expression") && slices.Contains([]string{"&&", "||", "??"}, a.Field("operator").Text()), a.Is("boolean_operator"):
			return r.onlyClock(within)
		case a.Is("if_statement", "while_statement", "conditional_expression"):
			c := a.Field("condition")
			if a.Is("conditional_expression") && len(a.Parts()) == 3 {
				c = a.Parts()[1]
			}
			return c.OK() && n.Start() >= c.Start() && n.End() <= c.End() && r.onlyClock(within)
		case a.Is("ternary_expression"):
			c := a.Field("condition")
			return n.Start() >= c.Start() && n.End() <= c.End() && r.onlyClock(within)
		case a.Is("expression_statement", "return_statement", "variable_declarator", "assignment", "assignment_expression", "statement_block", "block"), a.Is(functionKinds...):
			return false
		}
		within = a
	}
	return false
}

// onlyClock tells of an expression that has nothing in it but the time and
// constants.
func (r clock) onlyClock(n code.Node) bool {
	for c := range n.All() {
		if !c.Is("identifier") || c.Parent().Is("attribute") && c.Parent().Field("attribute").Start() == c.Start() {
			continue
		}
		switch c.Text() {
		case "Date", "Number", "Math", "BigInt", "performance", "time", "datetime", "date", "int", "float":
			continue
		}
		known := false
		if len(r.bound[c.Text()]) < 2 { // what is given more than once keeps something
			for _, p := range r.Paths(c) {
				known = known || clockReads.MatchString(p) || clockReads.MatchString(p+"()") || slices.Contains([]string{"datetime.datetime", "datetime.date", "time.time"}, p)
			}
		}
		if b := r.bound[c.Text()]; len(b) == 1 {
			known = known || b[0].Path == "" && b[0].Tail == "" && IsConstant(b[0].Expr)
		}
		if !known {
			return false
		}
	}
	return true
}
