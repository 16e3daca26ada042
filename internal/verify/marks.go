package verify

import (
	"regexp"
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

// found is how often a source shows a mark.
func (m mark) found(text string) (n int) {
	for _, at := range m.form.FindAllStringIndex(text, -1) {
		if m.unless == nil || !m.unless.MatchString(text[at[0]:at[1]]) {
			n++
		}
	}
	return n
}

// anywhere are marks of every language.
var anywhere = sync.OnceValue(func() []mark {
	return []mark{
		{form: regexp.MustCompile(`/proc/(?:self|thread-self|\d|[%$\{])|['"]/proc/?['"]`), word: "looks at its own process", tests: true},
		{form: regexp.MustCompile(`\bAGENCY_(?:REPORT|COVERAGE)\b|\bagency_(?:pytest|unittest|report)\b`), word: "knows who verifies it", tests: true},
	}
})

// marks are those of one language. They are made when they are asked for, as all
// tables of forms are: a program that starts has no use for them.
var marks = sync.OnceValue(func() map[language][]mark {
	return map[language][]mark{
		python: {
			{form: regexp.MustCompile(`\bPYTEST_\w+|PYTEST_XDIST`), word: "reads pytest's environment"},
			{form: regexp.MustCompile(`sys\.modules`), word: "looks at the loaded modules"},
			{form: regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(?:_?pytest|unittest|nose2?)\b`), word: "imports the test runner"},
			{form: regexp.MustCompile(`\bos\._exit\b|\bos\.abort\b|\bos\.kill(?:pg)?\b|\bos\.exec\w+`), word: "ends the process", tests: true},
			{form: regexp.MustCompile(`(?m)^(?:sys\.exit|exit|quit|raise\s+SystemExit)\b`), word: "exits when it is imported", tests: true},
			{form: regexp.MustCompile(`\batexit\b`), word: "acts at the process's end", tests: true},
			{form: regexp.MustCompile(`\bdef\s+pytest_\w+|\bhookimpl\b|\bpytest_plugins\b`), word: "hooks into pytest", tests: true},
			{form: regexp.MustCompile(`\b_pytest\b|\bunittest\.TestResult\.\w+\s*=|\bTestCase\.\w+\s*=[^=]|\bsetattr\(\s*(?:\w+\.)*(?:TestCase|TestResult|builtins)\b|\bbuiltins\.\w+\s*=[^=]`), word: "reaches into the test runner", tests: true},
			{form: regexp.MustCompile(`(?m)^\s*def\s+(?:assert\w*|fail\w*|run|__call__|debug)\(\s*self\b`), word: "redefines an assertion", only: true},
			{form: regexp.MustCompile(`(?m)^\s*(?:if|while)\s+(?:False|0|None)\s*:`), word: "holds code that never runs", only: true},
			{
				form: regexp.MustCompile(`(?m)^\s*except\b[^\n]*:\s*(?:\n\s*)?(?:pass|return|\.\.\.|continue)\b|\bsuppress\(\s*(?:AssertionError|Exception|BaseException)`), word: "swallows failures", only: true,
				unless: regexp.MustCompile(`except\s+\(?\s*(?:\w*(?:Import|Key|Index|File|OS|Value|Type|Attribute|Timeout|Connection|Permission|Unicode|Lookup|NotImplemented|StopIteration|Keyboard)\w*)`),
			},
			{form: regexp.MustCompile(`\bgetattr\(\s*(?:os|sys|builtins)\b|__import__\(|\bos\.__dict__|\bexec\(|\bcompile\([^)]*['"]exec['"]`), word: "reaches what it does not name"},
			{form: regexp.MustCompile(`\bsys\.(?:settrace|setprofile|addaudithook|meta_path|path_hooks|excepthook)\b|\bgc\.get_(?:objects|referrers)\b|\binspect\.(?:stack|currentframe)\b|\bsys\._getframe\b`), word: "looks at its callers"},
			{form: regexp.MustCompile(`\bsys\.argv\b.*\bpytest\b|\bpytest\b.*\bsys\.argv\b`), word: "looks who runs it"},
			{form: regexp.MustCompile(`\bctypes\b`), word: "calls outside of Python"},
			{form: regexp.MustCompile(`\bdef\s+__(?:eq|ne|lt|le|gt|ge|contains|bool|instancecheck)__\([^)]*\)[^:\n]*:\s*(?:"""[^"]*"""\s*)?return\s+(?:True|False|1|isinstance\([^)\n]*\)|not self == \w+)\s*(?:\n|$)`), word: "equals what it is compared with", tests: true},
		},
		javascript: {
			{form: regexp.MustCompile(`\bNODE_TEST_CONTEXT\b|\bJEST_WORKER_ID\b|\bVITEST(?:_\w+)?\b|\bMOCHA_\w+\b|import\.meta\.vitest`), word: "reads the test runner's environment"},
			{form: regexp.MustCompile(`NODE_ENV\b[^\n]{0,20}['"]test['"]|['"]test['"][^\n]{0,20}NODE_ENV\b`), word: "asks whether it is tested"},
			{form: regexp.MustCompile(`\bprocess\.(?:exit|reallyExit|abort|kill)\b`), word: "ends the process", tests: true},
			{form: regexp.MustCompile(`\bprocess\.exitCode\b|\bprocess\.(?:on|once)\(\s*['"](?:exit|beforeExit)['"]`), word: "decides the exit code", tests: true, program: true},
			{form: regexp.MustCompile(`(?:require\(|from\s+|import\(?\s*)['"](?:node:test|vitest|mocha|@jest/globals|chai|(?:node:)?assert(?:/strict)?)['"]`), word: "imports the test runner"},
			{form: regexp.MustCompile(`\bglobalThis\.(?:expect|it|test|describe)\b|\btypeof\s+(?:jest|describe|it|expect)\b|\bexpect\.extend\b|\bassert\.\w+\s*=[^=]`), word: "reaches into the test runner", tests: true},
			{form: regexp.MustCompile(`\bModule\._(?:load|resolveFilename|extensions)\b|\brequire\.cache\b|\brequire\.main\b`), word: "looks at the loaded modules"},
			{form: regexp.MustCompile(`\bprocess\.argv\b`), word: "looks at the command line", program: true},
			{form: regexp.MustCompile(`\b(?:const|let|var)\s+(?:expect|assert)\s*=[^\n;]*|\bfunction\s+(?:expect|assert)\s*\(`), word: "redefines an assertion", only: true, unless: regexp.MustCompile(`\brequire\(|\bimport\(|\b(?:chai|assert|jest|vi|sinon|strict)\b\s*[.;]|\bchai\b`)},
			{form: regexp.MustCompile(`\b(?:jest|vi)\.(?:mock|doMock|unstable_mockModule)\(\s*['"](?:(?:node:)?assert[^'"]*|(?:node:)?test|@jest/globals|vitest|chai|expect)['"]`), word: "mocks the test runner", tests: true},
			{form: regexp.MustCompile(`\bif\s*\(\s*(?:false|0)\s*\)|\bwhile\s*\(\s*(?:false|0)\s*\)`), word: "holds code that never runs", only: true},
			{form: regexp.MustCompile(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\w*\)\s*=>\s*\{\s*\}\s*\)`), word: "swallows failures", only: true},
			{form: regexp.MustCompile(`\bprocess\s*\[|\bglobalThis\s*\[|\bReflect\.get\(\s*process\b`), word: "reaches what it does not name", tests: true},
			{form: regexp.MustCompile(`\b(?:valueOf|toJSON)\b\s*(?::\s*\([^)]*\)\s*=>\s*|\([^)]*\)\s*\{\s*return\s+)(?:true\b|-?\d|['"])|\bSymbol\.(?:toPrimitive|hasInstance)\b|\basymmetricMatch\b`), word: "equals what it is compared with", tests: true},
			{form: regexp.MustCompile(`new\s+Error\([^)]*\)\.stack|\bcaptureStackTrace\b`), word: "looks at its callers"},
		},
		java: kotlinMarks(),
	}
})
