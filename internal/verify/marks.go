package verify

import (
	"regexp"
	"strings"
	"sync"
)

// mark is one way by which code can know of its tests, in a language.
type mark struct {
	form  *regexp.Regexp
	word  string
	tests bool // also looked for in test files
	only  bool // looked for in test files only
	// program: a file that is started by itself may.
	program bool
	// unless tells a match that is none.
	unless *regexp.Regexp
}

// found are the places where a source shows a mark.
func (m mark) found(text string) (out []telling) {
	for _, at := range m.form.FindAllStringIndex(text, -1) {
		if m.unless == nil || !m.unless.MatchString(text[at[0]:at[1]]) {
			from := strings.LastIndexByte(text[:at[0]], '\n') + 1
			line, _, _ := strings.Cut(text[from:], "\n")
			out = append(out, telling{word: m.word, line: 1 + strings.Count(text[:at[0]], "\n"), code: strings.TrimSpace(line)})
		}
	}
	return out
}

// anywhere are marks of every language.
var anywhere = sync.OnceValue(func() []mark {
	return []mark{
		{form: regexp.MustCompile(`/proc/(?:self|thread-self|\d|[%$\{])|['"]/?proc/?['"]`), word: "looks at its own process", tests: true},
		{form: regexp.MustCompile(`\bAGENCY_(?:REPORT|COVERAGE)\b|\bagency_(?:pytest|unittest|report)\b`), word: "knows who verifies it", tests: true},
	}
})

// wordForms are those of one language, of what its text shows; Python and
// JavaScript are read as trees beside (package code/marks). They are made when they are asked for, as all
// tables of forms are: a program that starts has no use for them.
var wordForms = sync.OnceValue(func() map[language][]mark {
	return map[language][]mark{
		python: {
			{form: regexp.MustCompile(`\bdef\s+pytest_\w+|\bhookimpl\b|\bpytest_plugins\b`), word: "hooks into pytest", tests: true},
			{form: regexp.MustCompile(`(?m)^\s*(?:if|while)\s+(?:False|0|None)\s*:`), word: "holds code that never runs", only: true},
			{
				form: regexp.MustCompile(`(?m)^\s*except\b[^\n]*:\s*(?:\n\s*)?(?:pass|return|\.\.\.|continue)\b|\bsuppress\(\s*(?:AssertionError|Exception|BaseException)`), word: "swallows failures", only: true,
				unless: regexp.MustCompile(`except\s+\(?\s*(?:\w*(?:Import|Key|Index|File|OS|Value|Type|Attribute|Timeout|Connection|Permission|Unicode|Lookup|NotImplemented|StopIteration|Keyboard)\w*)`),
			},
		},
		javascript: {
			{form: regexp.MustCompile(`\bimport\.meta\.vitest\b`), word: "reads the test runner's environment"},
			{form: regexp.MustCompile(`\bglobalThis\.(?:expect|it|test|describe)\b|\btypeof\s+(?:jest|describe|it|expect)\b|\bexpect\.extend\b`), word: "reaches into the test runner", tests: true},
			{form: regexp.MustCompile(`NODE_ENV\b[^\n]{0,20}['"]test['"]|['"]test['"][^\n]{0,20}NODE_ENV\b`), word: "asks whether it is tested"},
			{form: regexp.MustCompile(`\b(?:const|let|var)\s+(?:expect|assert)\s*=[^\n;]*|\bfunction\s+(?:expect|assert)\s*\(`), word: "redefines an assertion", only: true, unless: regexp.MustCompile(`\brequire\(|\bimport\(|\b(?:chai|assert|jest|vi|sinon|strict)\b\s*[.;]|\bchai\b`)},
			{form: regexp.MustCompile(`\b(?:jest|vi)\.(?:mock|doMock|unstable_mockModule)\(\s*['"](?:(?:node:)?assert[^'"]*|(?:node:)?test|@jest/globals|vitest|chai|expect)['"]`), word: "mocks the test runner", tests: true},
			{form: regexp.MustCompile(`\bif\s*\(\s*(?:false|0)\s*\)|\bwhile\s*\(\s*(?:false|0)\s*\)`), word: "holds code that never runs", only: true},
			{form: regexp.MustCompile(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\w*\)\s*=>\s*\{\s*\}\s*\)`), word: "swallows failures", only: true},
		},
		java: kotlinMarks(),
	}
})
