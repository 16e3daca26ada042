package symbols

import (
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/regexp"
)

// Tests put another clock in the place of the real one, as everybody does. Code
// that asks whether they did, or that compares the clock alone with a constant
// which they then set, does right under them only.

// clock is how State names a clock.
const clock = "the clock"

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

// lookAtClock marks code that asks whether its clock is the real one.
func (r *Reader) lookAtClock(n code.Node) {
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
			first := Argument(n, 0)
			if asksWhat[f] && first.OK() && slices.ContainsFunc(r.Paths(first), clockItself.MatchString) {
				r.Mark(n, LooksForMocks, f)
			}
		}
	}
}

// asksWhat are functions that tell what something is.
var asksWhat = Words(`String Function.prototype.toString.call node:util.inspect Object.keys Object.getOwnPropertyNames Object.getOwnPropertyDescriptor
	Object.getOwnPropertyDescriptors Object.getOwnPropertySymbols Reflect.ownKeys Object.hasOwn repr str type isinstance callable hasattr dir vars`)

// clockState notes a clock that is compared with constants alone, and one that
// is set.
func (s *stateReader) clockState(n code.Node, p string) {
	if clockReads.MatchString(p) && s.againstConstants(n) {
		s.Reads = append(s.Reads, Place{OfTime, clock, n.Line()})
	}
	if n.Is("call", "call_expression") && strings.HasSuffix(p, "()") && clockSets.MatchString(p) {
		s.Sets = append(s.Sets, Place{OfTime, clock, n.Line()})
	}
}

// clockReplaced notes the same of what tests put in something's place.
func (s *stateReader) clockReplaced() {
	for _, p := range s.puts {
		if clockSets.MatchString(p.name) {
			s.Sets = append(s.Sets, Place{OfTime, clock, p.at.Line()})
		}
	}
	for _, p := range s.Replaces {
		if clockSets.MatchString(p.Name) {
			s.Sets = append(s.Sets, Place{OfTime, clock, p.Line})
		}
	}
}

// againstConstants tells of a time that is a condition by itself, or compared
// with nothing but constants.
func (r *Reader) againstConstants(n code.Node) bool {
	within := n
	for a := range n.Around() {
		switch {
		case compares(a):
			return r.onlyClock(a)
		case a.Is("binary_expression") && slices.Contains([]string{"&&", "||", "??"}, a.Field("operator").Text()), a.Is("boolean_operator"):
			return r.onlyClock(within)
		case a.Is("if_statement", "while_statement", "conditional_expression", "ternary_expression"):
			return isWithin(n, conditionOf(a)) && r.onlyClock(within)
		case a.Is("expression_statement", "return_statement", "variable_declarator", "assignment", "assignment_expression", "statement_block", "block"), a.Is(functionKinds...):
			return false
		}
		within = a
	}
	return false
}

// onlyClock tells of an expression that has nothing in it but the time and
// constants.
func (r *Reader) onlyClock(n code.Node) bool {
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

// A program may ask whether a terminal shows its output, and colour it or draw a
// bar. That it computes something else for who reads it is not honest: a run of
// tests reads it, too.

var (
	// streamAsks tell who reads the output; streamFiles what kind of file a
	// descriptor is, where that is one of the output's.
	streamAsks = regexp.MustCompile(`^(?:process\.(?:stdout|stderr)\.(?:isTTY|columns|rows|getColorDepth\(\)|hasColors\(\)|getWindowSize\(\)|_type|_handle)|` +
		`sys\.(?:__)?(?:stdout|stderr)(?:__)?\.(?:isatty\(\)|fileno\(\)|seekable\(\))|os\.ttyname\(\)|node:tty\.isatty\(\)|os\.isatty\(\))$`)
	streamFiles = regexp.MustCompile(`^(?:node:fs\.fstatSync\(\)|os\.fstat\(\)|os\.lseek\(\))`)
	// widths are what texts are laid out by.
	widths = regexp.MustCompile(`\.(?:columns|rows|getWindowSize\(\))$`)
	// draws is a text by which a terminal is drawn on, as it is written; painters
	// are packages that make such.
	draws    = regexp.MustCompile(`\\(?:x1[bB]|033|u001[bB]|u\{1[bB]\}|e|N\{ESC\w*\})\[|\\r|\x1b\[`)
	painters = regexp.MustCompile(`(?i)^(?:chalk|picocolors|kleur|colorette|ansi[\w-]*|yoctocolors|termcolor|colorama|rich|click|crayons|sty|node:util\.styleText|ora|cli-progress)\b`)
)

// asksReader tells whether an expression says who reads the output: by itself, or
// by a function of the file that only says so.
func (r *Reader) asksReader(n code.Node) (string, bool) {
	for _, p := range r.Paths(n) {
		if streamAsks.MatchString(p) {
			return p, true
		}
		if at := streamFiles.FindString(p); at != "" {
			if call := callWithin(n); call.OK() && len(call.Field("arguments").Parts()) > 0 && slices.Contains([]string{"0", "1", "2"}, call.Field("arguments").Parts()[0].Text()) {
				return at, true
			}
		}
	}
	called := n.Field("function")
	if !n.Is("call", "call_expression") || !called.Is("identifier") {
		return "", false
	}
	for _, f := range r.Functions {
		if f.Name != called.Text() || f.Node.Start() <= n.Start() && n.End() <= f.Node.End() {
			continue
		}
		for _, e := range Results(f) {
			for c := range e.All() {
				if c.Is("attribute", "member_expression", "call", "call_expression") && slices.ContainsFunc(r.Paths(c), streamAsks.MatchString) {
					return called.Text() + "()", true
				}
			}
		}
	}
	return "", false
}

// callWithin is the call that a chain of members begins with.
func callWithin(n code.Node) code.Node {
	for n.OK() && !n.Is("call", "call_expression") {
		if n.Is("attribute", "member_expression") {
			n = n.Field("object")
			continue
		}
		return code.Node{}
	}
	if f := n.Field("function"); f.Is("attribute", "member_expression") {
		if in := callWithin(f.Field("object")); in.OK() {
			return in
		}
	}
	return n
}

// lookAtOutput marks what is computed for who reads the output.
func (r *Reader) lookAtOutput(n code.Node) {
	if r.Options.Test || !n.Is("identifier", "attribute", "member_expression", "call", "call_expression") || !r.Stands(n) || r.Starts(n) {
		return
	}
	what, ok := r.asksReader(n)
	if !ok || widths.MatchString(what) && n.Parent().Is("binary_expression", "binary_operator", "comparison_operator", "boolean_operator") {
		return
	}
	for a := range n.Around() {
		switch {
		case a.Is("ternary_expression", "conditional_expression", "if_statement"):
			if r.governs(a) {
				r.Mark(n, "computes for who reads its output", what)
			}
			return
		case a.Is("binary_operator"), a.Is("binary_expression") && slices.Contains([]string{"-", "*", "/", "%", "**", "^"}, a.Field("operator").Text()):
			if own := Owner(a); !own.OK() || !draws.MatchString(own.Text()) {
				r.Mark(n, "computes for who reads its output", what)
			}
			return
		case a.Is("statement_block", "block", "expression_statement", "return_statement"), a.Is(functionKinds...):
			return
		}
	}
}

// governs tells whether a side of a condition gives or keeps something that is
// computed, and none of it draws.
func (r *Reader) governs(n code.Node) bool {
	if own := Owner(n); draws.MatchString(n.Text()) || own.OK() && draws.MatchString(own.Text()) {
		return false
	}
	for c := range n.All() {
		if c.Is("call", "call_expression") && slices.ContainsFunc(r.Paths(c.Field("function")), painters.MatchString) {
			return false
		}
	}
	condition := conditionOf(n)
	computes := func(v code.Node) bool {
		for c := range v.All() {
			if c.Is("call", "call_expression", "binary_operator") || c.Is("binary_expression") && !IsConstant(c) {
				return true
			}
		}
		return false
	}
	for c := range n.All() {
		if isWithin(c, condition) {
			continue
		}
		switch c.Kind() {
		case "return_statement":
			if slices.ContainsFunc(c.Parts(), computes) {
				return true
			}
		case "assignment":
			if computes(c.Field("right")) {
				return true
			}
		}
	}
	return !n.Is("if_statement") && computes(n) && slices.ContainsFunc(n.Parts(), func(p code.Node) bool {
		return !(p.Start() == condition.Start() && p.End() == condition.End()) && computes(p)
	})
}
