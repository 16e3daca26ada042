package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
)

// forging names code that can tell that it is tested, or end the process of its
// own tests: with either a change can look right without being so. Results come
// from a process that the claim's code shares, so that no reading of them can
// be proof against that; what is new of it is shown to a person instead.
func (j *job) forging(ctx context.Context, files []source) ([]agency.Weakening, error) {
	var out []agency.Weakening
	for _, f := range files {
		if f.after == nil {
			continue
		}
		var before, after []string
		switch f.lang {
		case golang:
			p := j.goPackage(f)
			var err error
			if before, after, err = p.marks(ctx); err != nil {
				return nil, err
			}
		default:
			before, after = textMarks(f, f.before), textMarks(f, f.after)
		}
		if fresh := beyond(after, before); len(fresh) > 0 {
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: strings.Join(fresh, ", ")})
		}
	}
	return out, nil
}

// beyond are the words of after that before has fewer times, each once.
func beyond(after, before []string) []string {
	left := map[string]int{}
	for _, w := range before {
		left[w]++
	}
	var out []string
	for _, w := range after {
		if left[w]--; left[w] < 0 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// mark is one way by which code can know of its tests, in a language.
type mark struct {
	form  *regexp.Regexp
	word  string
	tests bool // also looked for in test files
}

var marks = map[language][]mark{
	python: {
		{regexp.MustCompile(`\bPYTEST_\w+|PYTEST_XDIST`), "reads pytest's environment", false},
		{regexp.MustCompile(`sys\.modules`), "looks at the loaded modules", false},
		{regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(?:_?pytest|unittest|nose2?)\b`), "imports the test runner", false},
		{regexp.MustCompile(`\bos\._exit\b|\bos\.abort\b|\bos\.kill(?:pg)?\b|\bos\.exec\w+`), "ends the process", true},
		{regexp.MustCompile(`(?m)^(?:sys\.exit|exit|quit|raise\s+SystemExit)\b`), "exits when it is imported", true},
		{regexp.MustCompile(`\batexit\b`), "acts at the process's end", true},
		{regexp.MustCompile(`\bpytest_(?:configure|unconfigure|sessionfinish|sessionstart|runtest_\w+|collection_\w+|pyfunc_call|report_\w+|terminal_summary|exception_interact)\b`), "hooks into pytest", true},
		{regexp.MustCompile(`\b_pytest\b|\bunittest\.(?:TestResult|case\.TestCase)\.\w+\s*=|\bunittest\.TestCase\.\w+\s*=`), "reaches into the test runner", true},
		{regexp.MustCompile(`\bsys\.(?:settrace|setprofile|addaudithook|meta_path|path_hooks|excepthook)\b|\bgc\.get_(?:objects|referrers)\b|\binspect\.(?:stack|currentframe)\b|\bsys\._getframe\b`), "looks at its callers", false},
		{regexp.MustCompile(`\bsys\.argv\b.*\bpytest\b|\bpytest\b.*\bsys\.argv\b`), "looks who runs it", false},
		{regexp.MustCompile(`\bctypes\b`), "calls outside of Python", false},
	},
	javascript: {
		{regexp.MustCompile(`\bNODE_TEST_CONTEXT\b|\bJEST_WORKER_ID\b|\bVITEST(?:_\w+)?\b|\bMOCHA_\w+\b|import\.meta\.vitest`), "reads the test runner's environment", false},
		{regexp.MustCompile(`NODE_ENV\b[^\n]{0,20}['"]test['"]|['"]test['"][^\n]{0,20}NODE_ENV\b`), "asks whether it is tested", false},
		{regexp.MustCompile(`\bprocess\.(?:exit|reallyExit|abort|kill)\b`), "ends the process", true},
		{regexp.MustCompile(`\bprocess\.exitCode\b|\bprocess\.(?:on|once)\(\s*['"](?:exit|beforeExit)['"]`), "decides the exit code", true},
		{regexp.MustCompile(`(?:require\(|from\s+|import\(?\s*)['"](?:node:test|vitest|mocha|@jest/globals|chai|(?:node:)?assert(?:/strict)?)['"]`), "imports the test runner", false},
		{regexp.MustCompile(`\bglobalThis\.(?:expect|it|test|describe)\b|\btypeof\s+(?:jest|describe|it|expect)\b|\bexpect\.extend\b|\bassert\.\w+\s*=[^=]`), "reaches into the test runner", true},
		{regexp.MustCompile(`\bModule\._(?:load|resolveFilename|extensions)\b|\brequire\.cache\b|\brequire\.main\b`), "looks at the loaded modules", false},
		{regexp.MustCompile(`\bprocess\.argv\b`), "looks at the command line", false},
		{regexp.MustCompile(`new\s+Error\([^)]*\)\.stack|\bcaptureStackTrace\b`), "looks at its callers", false},
	},
	rust: {
		{regexp.MustCompile(`\bprocess::(?:exit|abort)\b|\blibc::(?:_?exit|abort|kill)\b`), "ends the process", true},
		{regexp.MustCompile(`\bcfg!\(\s*(?:not\(\s*)?test\b|\bcfg\(\s*not\(\s*test\b`), "asks whether it is tested", false},
		{regexp.MustCompile(`#\[(?:ctor|dtor)\b|\.init_array|#\[(?:link_section|no_mangle)`), "runs before main", true},
		{regexp.MustCompile(`\bRUST_TEST_\w+|\bpanic::set_hook\b`), "reaches into the test runner", true},
		{regexp.MustCompile(`\benv::args(?:_os)?\b|\bcurrent_exe\b`), "looks at the command line", false},
	},
	java: {
		{regexp.MustCompile(`\bSystem\.exit\b|\bexitProcess\b|\.halt\s*\(`), "ends the process", true},
		{regexp.MustCompile(`\borg\.(?:junit|testng|mockito|assertj|hamcrest)\b|\bsurefire\b|\bjava\.class\.path\b`), "knows the test runner", false},
		{regexp.MustCompile(`\bgetStackTrace\b|\bStackWalker\b`), "looks at its callers", false},
		{regexp.MustCompile(`\baddShutdownHook\b|\bsetSecurityManager\b`), "acts at the process's end", true},
	},
}

// shadows are names by which a file takes the place of a test runner, or is
// loaded before everything else.
var shadows = map[string]string{
	"sitecustomize.py": "loaded before everything else", "usercustomize.py": "loaded before everything else",
	"pytest.py": "takes the place of the test runner", "unittest.py": "takes the place of the test runner",
	"_pytest.py": "takes the place of the test runner", "nose.py": "takes the place of the test runner",
}

// shadowFolders are folders that take the place of a test runner where they
// hold an __init__.py.
var shadowFolders = []string{"pytest", "_pytest", "unittest", "pluggy"}

// textMarks are the ways that a file of another language than Go has.
func textMarks(f source, src []byte) []string {
	if src == nil {
		return nil
	}
	var out []string
	base, dir := path.Base(f.path), path.Base(path.Dir(f.path))
	if why := shadows[base]; why != "" {
		out = append(out, why)
	}
	if f.lang == python && base == "__init__.py" && slices.Contains(shadowFolders, dir) {
		out = append(out, "takes the place of the test runner")
	}
	text := uncommented(f.lang, string(src))
	for _, m := range marks[f.lang] {
		if f.test && !m.tests {
			continue
		}
		for range m.form.FindAllStringIndex(text, -1) {
			out = append(out, m.word)
		}
	}
	return out
}

// uncommented drops whole lines of comment: what is said about a runner is no
// use of it. Strings stay, for they are how an environment is read.
func uncommented(lang language, src string) string {
	mark := "//"
	if lang == python {
		mark = "#"
	}
	var b strings.Builder
	for line := range strings.Lines(src) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, mark) || strings.HasPrefix(t, "* ") || strings.HasPrefix(t, "/*") && strings.HasSuffix(t, "*/") {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
