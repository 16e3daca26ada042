package symbols

import (
	"regexp"
	"slices"

	"agency/internal/code"
)

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

// output finds what code does by who reads its output.
type output struct{ *Reader }

// asks tells whether an expression says who reads the output: by itself, or
// by a function of the file that only says so.
func (r output) asks(n code.Node) (string, bool) {
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

// look marks what is computed for who reads the output.
func (r output) look(n code.Node) {
	if r.Options.Test || !n.Is("identifier", "attribute", "member_expression", "call", "call_expression") || !r.Stands(n) || r.Starts(n) {
		return
	}
	what, ok := r.asks(n)
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
func (r output) governs(n code.Node) bool {
	if own := Owner(n); draws.MatchString(n.Text()) || own.OK() && draws.MatchString(own.Text()) {
		return false
	}
	for c := range n.All() {
		if c.Is("call", "call_expression") && slices.ContainsFunc(r.Paths(c.Field("function")), painters.MatchString) {
			return false
		}
	}
	condition := n.Field("condition")
	if n.Is("conditional_expression") && len(n.Parts()) == 3 {
		condition = n.Parts()[1]
	}
	computes := func(v code.Node) bool {
		for c := range v.All() {
			if c.Is("call", "call_expression", "binary_operator") || c.Is("binary_expression") && !IsConstant(c) {
				return true
			}
		}
		return false
	}
	for c := range n.All() {
		if condition.OK() && c.Start() >= condition.Start() && c.End() <= condition.End() {
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
