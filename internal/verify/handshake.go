package verify

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
)

// readers of the environment, by language; the first group that matched is the
// variable's name.
var envReads = sync.OnceValue(func() map[language]*regexp.Regexp {
	return map[language]*regexp.Regexp{
		golang:     regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\(\s*["` + "`" + `]([^"` + "`" + `]+)`),
		python:     regexp.MustCompile(`(?:\benviron(?:\.get\(|\[)|\bgetenv\()\s*['"]([^'"]+)`),
		javascript: regexp.MustCompile(`\bprocess\.env(?:\.(\w+)|\[\s*['"]([^'"]+))`),
		rust:       regexp.MustCompile(`\benv::var(?:_os)?\(\s*"([^"]+)`),
		java:       regexp.MustCompile(`\bSystem\.get(?:env|Property)\(\s*"([^"]+)`),
	}
})

// topLevel are variables of a module that others can set, by language.
var topLevel = sync.OnceValue(func() map[language]*regexp.Regexp {
	return map[language]*regexp.Regexp{
		python:     regexp.MustCompile(`(?m)^([A-Za-z_]\w*)\s*(?::[^=\n]+)?=[^=]`),
		javascript: regexp.MustCompile(`(?m)^(?:export\s+)?(?:let|var)\s+(\w+)|^(?:module\.)?exports\.(\w+)\s*=\s*(?:true|false|null|undefined|-?\d|['"])`),
		java:       regexp.MustCompile(`(?m)^\s*(?:public\s+|protected\s+)?static\s+(?:volatile\s+)?[\w<>\[\]]+\s+(\w+)\s*[=;]`),
		rust:       regexp.MustCompile(`(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?static\s+(?:mut\s+)?(\w+)`),
	}
})

// handshakes names what the change's product newly reads and the run's own tests
// set: environment and state by which it can do right under them alone. What the
// criteria speak of is no secret.
func handshakes(files []source, criteria []agency.Criterion) (out []agency.Weakening) {
	said := ""
	for _, c := range criteria {
		said += c.Text + "\n"
	}
	var tests []string
	for _, f := range files {
		if f.after != nil && matterOf(f.path) != ofProduct {
			tests = append(tests, string(f.after))
		}
	}
	for _, f := range files {
		if f.after == nil || f.test || matterOf(f.path) != ofProduct {
			continue
		}
		env := shared(namesIn(envReads()[f.lang], f.after), namesIn(envReads()[f.lang], f.before), tests, said, mentions)
		if ofSettings.MatchString(said) { // a setting is to be read, whatever it is called
			env = slices.DeleteFunc(env, func(n string) bool { return !ofRunner.MatchString(n) })
		}
		names := slices.Concat(env, channels(f, tests, said),
			shared(variables(f.lang, f.after), variables(f.lang, f.before), tests, said, setsText))
		for _, n := range names {
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: "reads " + n + ", which the tests of this run set"})
		}
	}
	return out
}

// channel is a way by which a test can hand something to code beside its
// arguments: what the code reads of it, by its first group, and what a test then
// does; where that has a group, too, it must be the same.
type channel struct {
	lang  language
	reads *regexp.Regexp
	sets  *regexp.Regexp
}

var channelsOf = sync.OnceValue(func() []channel {
	re := regexp.MustCompile
	return []channel{
		{golang, re(`\b(runtime\.GOMAXPROCS|debug\.SetGCPercent)\(`), re(`\b(runtime\.GOMAXPROCS|debug\.SetGCPercent)\(`)},
		{golang, re(`os\.TempDir\(\)[^\n]*?"([^"]+)"`), re(`"([^"]+)"`)},
		{golang, re(`\b(time\.Local)\b`), re(`\btime\.Local\s*=`)},
		{python, re(`gettempdir\(\)[^\n]*?['"]([^'"]+)`), re(`['"]([^'"]+)['"]`)},
		{python, re(`\b(\w+)\s*=\s*(?:contextvars\.)?ContextVar\(`), re(`\b(\w+)\.set\(`)},
		{javascript, re(`tmpdir\(\)[^\n]*?['"` + "`" + `]([^'"` + "`" + `]+)`), re(`['"` + "`" + `]([^'"` + "`" + `]+)['"` + "`" + `]`)},
		{javascript, re(`Symbol\.for\(\s*['"]([^'"]+)`), re(`Symbol\.for\(\s*['"]([^'"]+)`)},
		{javascript, re(`process\.(?:on|once|emit|addListener|prependListener)\(\s*['"]([^'"]+)`), re(`process\.(?:emit|on|once|addListener)\(\s*['"]([^'"]+)`)},
		{javascript, re(`(getTimezoneOffset|resolvedOptions)\(`), re(`process\.env\.TZ\s*=|env\[['"]TZ['"]\]\s*=`)},
		{rust, re(`temp_dir\(\)[^\n]*?"([^"]+)"`), re(`"([^"]+)"`)},
		{java, re(`\b(TimeZone|Locale|Charset)\.(?:getDefault|defaultCharset)\(`), re(`\b(TimeZone|Locale|Charset)\.setDefault\(`)},
		{java, re(`java\.io\.tmpdir[^\n]*?,\s*"([^"]+)"`), re(`"([^"]+)"`)},
	}
})

// channels are those that a source newly reads and the tests of the run set.
func channels(f source, tests []string, said string) (out []string) {
	for _, c := range channelsOf() {
		if c.lang == f.lang {
			out = append(out, shared(namesIn(c.reads, f.after), namesIn(c.reads, f.before), tests, said, c.isSet)...)
		}
	}
	return slices.DeleteFunc(out, announced.MatchString)
}

// announced are events by which every process hears of its end and its children.
var announced = regexp.MustCompile(`^(?:SIG[A-Z0-9]+|exit|beforeExit|uncaughtException|unhandledRejection|warning|message|disconnect)$`)

// isSet tells whether a test does its part, of the same name where it has one.
func (c channel) isSet(test, name string) bool {
	return slices.ContainsFunc(c.sets.FindAllStringSubmatch(test, -1), func(m []string) bool { return len(m) == 1 || m[1] == name })
}

// ofSettings is how a criterion speaks of the environment; ofRunner are names of
// variables that tell of who runs the code all the same.
var (
	ofSettings = regexp.MustCompile(`(?i)\benv(?:ironment)?s?\b|\bsettings?\b|\bconfigur`)
	ofRunner   = regexp.MustCompile(`(?i)test|spec|jest|vitest|mocha|pytest|\bci\b|^_|^(?:old)?pwd$|cargo|coverage|node_env|mode$`)
)

// shared are the new names that a test uses and nobody asked for.
func shared(now, before, tests []string, said string, uses func(test, name string) bool) (out []string) {
	for _, n := range now {
		if slices.Contains(before, n) || slices.Contains(out, n) || strings.Contains(said, n) {
			continue
		}
		if slices.ContainsFunc(tests, func(t string) bool { return uses(t, n) }) {
			out = append(out, n)
		}
	}
	return out
}

func mentions(test, name string) bool { return strings.Contains(test, name) }

// setsText tells whether a source gives a variable of another module a value.
func setsText(test, name string) bool {
	if !strings.Contains(test, name) {
		return false
	}
	n := regexp.QuoteMeta(name)
	return regexp.MustCompile(`(?m)(?:^|[^\w:="'])(?:\w+\.)*` + n + `\s*(?:[-+*/|&]?=[^=>]|\+\+|--)|(?:setattr|patch(?:\.object)?|store|replace)\([^\n]*\b` + n + `\b`).MatchString(test)
}

func namesIn(form *regexp.Regexp, src []byte) (out []string) {
	if form == nil {
		return nil
	}
	for _, m := range form.FindAllSubmatchIndex(src, -1) {
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 {
				out = append(out, string(src[m[g]:m[g+1]]))
				break
			}
		}
	}
	return out
}

// variables are those of a module's own that code elsewhere can set.
func variables(lang language, src []byte) []string {
	if lang != golang {
		return namesIn(topLevel()[lang], src)
	}
	file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	var out []string
	for _, d := range file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, s := range gen.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || injected(v) {
				continue
			}
			for _, n := range v.Names {
				if n.Name != "_" {
					out = append(out, n.Name)
				}
			}
		}
	}
	return out
}

// injected tells of a variable that holds a function of another package, such as
// time.Now: tests put another in its place, as everybody does.
func injected(v *ast.ValueSpec) bool {
	return len(v.Values) > 0 && !slices.ContainsFunc(v.Values, func(x ast.Expr) bool { _, ok := x.(*ast.SelectorExpr); return !ok })
}
