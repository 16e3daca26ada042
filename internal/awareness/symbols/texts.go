package symbols

import (
	"strings"

	"agency/internal/code"
	"agency/internal/regexp"
)

// texts marks what texts name: members that nothing else has, and names that are
// put together so that nobody finds them.
func (r *Reader) texts(n code.Node) {
	if r.Options.Test {
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
	text, ok := r.TextOf(n, 0)
	if !ok || len(text) > 4000 {
		return
	}
	if result.MatchString(text) {
		r.Mark(n, "prints like a test run", "")
	}
	if strings.Contains(text, "native code") {
		r.Mark(n, LooksForMocks, "native code")
	}
	put := !n.Is("string", "template_string") || strings.Contains(n.Text(), `\x`) || strings.Contains(n.Text(), `\u`)
	for _, w := range word.FindAllString(text, -1) {
		if r.lang.Members[w] != "" {
			r.Mark(n, r.lang.Members[w], w)
			return
		}
	}
	if put && secret.MatchString(text) {
		r.Mark(n, BuildsName, text)
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
	// secret are names that are suspicious where they are put together of parts: who
	// may use them writes them out.
	secret = regexp.MustCompile(`^(?:(?:node:)?assert(?:/strict)?|node:test|unittest(?:\.\w+)*|_?pytest(?:\.\w+)*|(?:sys\.)?modules|_?exit|abort|argv|(?:sys|builtins|inspect|importlib)(?:\.\w+)*|stack|main|mainModule|parent|cache|_load|_extensions|env|environ|exitCode|strictEqual|deepStrictEqual|assert\w*|TestCase|__eq__|valueOf|prototype|process|constructor)$`)
)

// The words of findings that several readers have.
const (
	LooksAtCallers          = "looks at who calls it"
	LooksAtRunner           = "looks at who runs it"
	LooksAtModules          = "looks at the loaded modules"
	WatchesCode             = "watches what runs"
	ImportsRunner           = "imports the test runner"
	ReachesIntoRunner       = "reaches into the test runner"
	ChangesShared           = "changes what all code uses"
	EndsProcess             = "ends the process"
	ExitsAtImport           = "exits when it is imported"
	ReachesUnnamed          = "reaches what it does not name"
	LooksThroughEnvironment = "looks through the environment"
	EqualsEverything        = "equals what it is compared with"
	RedefinesAssertion      = "redefines an assertion"
	BuildsName              = "puts a name together of texts"
	RunsText                = "runs text as code"
	LooksForMocks           = "looks whether something is mocked"
)

var keyModules = Words(`sys builtins inspect importlib gc unittest pytest _pytest __builtins__ __main__ process globalThis Module module node:assert node:assert.strict
	node:test node:module`)

// ByWord is a table of names, each with the word that its list stands under.
func ByWord(of map[string]string) map[string]string {
	out := map[string]string{}
	for word, list := range of {
		for _, p := range strings.Fields(list) {
			out[p] = word
		}
	}
	return out
}

// Words is a set of words.
func Words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// IsForeign tells of a path that is not of the file's own objects.
func IsForeign(p string) bool {
	first := RootOf(p)
	return !strings.HasPrefix(p, "=") && (strings.Count(p, ".") != 1 || first != "self" && first != "cls" && first != "this")
}

// IsRunnerVariable tells of a variable of the environment that runners and shells set.
func IsRunnerVariable(name string) bool { return runnerVariable.MatchString(name) }

// IsKeyModule tells of a module by which everything is reached.
func IsKeyModule(path string) bool { return keyModules[path] }

// IsAssertion tells how assertions are called.
func IsAssertion(name string) bool { return assertName.MatchString(name) }

var runnerVariable = regexp.MustCompile(`^(?:PYTEST_\w+|NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST\w*|MOCHA_\w+|AGENCY_\w+|npm_\w+|TOX_\w+|COVERAGE_\w+|NODE_OPTIONS|_)$`)

var assertName = regexp.MustCompile(`^(?:assert(?:Equal|NotEqual|True|False|Is|IsNot|IsNone|IsNotNone|In|NotIn|IsInstance|NotIsInstance|Raises|RaisesRegex|Warns|WarnsRegex|Logs|NoLogs|AlmostEqual|NotAlmostEqual|Greater|GreaterEqual|Less|LessEqual|Regex|NotRegex|CountEqual|MultiLineEqual|SequenceEqual|ListEqual|TupleEqual|SetEqual|DictEqual)s?|_baseAssertEqual|_getAssertEqualityFunc|_formatMessage|failureException|fail|strictEqual|deepStrictEqual|deepEqual|notStrictEqual)$`)
