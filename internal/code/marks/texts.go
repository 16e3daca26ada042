package marks

import (
	"regexp"
	"strings"

	"agency/internal/code"
)

// texts marks what texts name: members that nothing else has, and names that are
// put together so that nobody finds them.
func (r *reader) texts(n code.Node) {
	if r.o.Test {
		return
	}
	switch n.Kind() {
	case "string", "template_string":
		if n.Parent().Is("expression_statement", "concatenated_string", "import_statement") || isPart(n.Parent()) {
			return
		}
	case "concatenated_string", "binary_operator", "binary_expression", "call", "call_expression":
		if isPart(n.Parent()) {
			return
		}
	default:
		return
	}
	text, ok := r.textOf(n, 0)
	if !ok || len(text) > 4000 {
		return
	}
	if result.MatchString(text) {
		r.mark(n, "prints like a test run", "")
	}
	if strings.Contains(text, "native code") {
		r.mark(n, mocked, "native code")
	}
	put := !n.Is("string", "template_string") || strings.Contains(n.Text(), `\x`) || strings.Contains(n.Text(), `\u`)
	members := pythonMembers
	if r.script {
		members = scriptMembers
	}
	for _, w := range word.FindAllString(text, -1) {
		if members[w] != "" {
			r.mark(n, members[w], w)
			return
		}
	}
	if put && secret.MatchString(text) {
		r.mark(n, builds, text)
	}
}

// isPart tells of a sum of texts, which is read as a whole.
func isPart(n code.Node) bool {
	return n.Is("binary_operator", "binary_expression") && n.Field("operator").Text() == "+"
}

var (
	// result is a line by which runners tell of a test.
	result = regexp.MustCompile(`(?m)^\s*(?:not )?ok \d+ - |^\s*# Subtest: |^TAP version \d|^\s*1\.\.\d+$|^\d+ passed in |^Ran \d+ tests? in `)
	word   = regexp.MustCompile(`[A-Za-z_$][\w$]*`)
	// secret are names that nobody puts together of parts who may use them.
	secret = regexp.MustCompile(`^(?:(?:node:)?assert(?:/strict)?|node:test|unittest(?:\.\w+)*|_?pytest(?:\.\w+)*|(?:sys\.)?modules|_?exit|abort|argv|(?:sys|builtins|inspect|importlib)(?:\.\w+)*|stack|main|mainModule|parent|cache|_load|_extensions|env|environ|exitCode|strictEqual|deepStrictEqual|assert\w*|TestCase|__eq__|valueOf|prototype|process|constructor)$`)
)
