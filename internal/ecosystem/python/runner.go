package python

import (
	"embed"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

func runners() []ecosystem.Runner {
	pytest := ecosystem.Runner{
		Name: "pytest",
		Runs: func(w []string) bool {
			if base := path.Base(w[0]); base == "pytest" || base == "py.test" {
				return !ecosystem.HasWord(w, "--collect-only", "--co", "--fixtures", "--markers", "--version", "-h", "--help")
			}
			return runsModule(w, "pytest", "py.test") && !ecosystem.HasWord(w, "--collect-only", "--co", "--version", "-h", "--help")
		},
		Names: func(test string) bool { return strings.Contains(test, ".py::") },
		Select: func(c ecosystem.Call, s ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
			return pythonCall{Call: c}.selectPytest(s, repo)
		},
		Affected: func(c ecosystem.Call, a ecosystem.Affected, _ ecosystem.Repo) ([]ecosystem.Edit, func(string) bool, bool) {
			edits, ok := a.Ignoring(c, pythonCall{Call: c}.named(), "--ignore=")
			return edits, nil, ok
		},
	}
	unittest := ecosystem.Runner{
		Name: "unittest",
		Runs: func(w []string) bool {
			return runsModule(w, "unittest") && !ecosystem.HasWord(w[moduleIndex(w):], "-h", "--help")
		},
		Names: testreport.IsDotted,
		Select: func(c ecosystem.Call, s ecosystem.Selection, _ ecosystem.Repo) ([]ecosystem.Edit, bool) {
			return pythonCall{Call: c}.selectUnittest(s)
		},
		Affected: func(c ecosystem.Call, a ecosystem.Affected, _ ecosystem.Repo) ([]ecosystem.Edit, func(string) bool, bool) {
			return pythonCall{Call: c}.matching(a)
		},
	}
	for _, r := range []*ecosystem.Runner{&pytest, &unittest} {
		r.Ask = func(c ecosystem.Call, q ecosystem.Query) (ecosystem.Asked, bool) {
			return pythonCall{c, r.Name == "unittest"}.ask(q)
		}
		r.Reports = "*"
		r.Read = func(r ecosystem.Report) (complete, ok bool) {
			return testreport.ReadReporter(r.Doc, r.At, r.Tests, failedModule), true
		}
		r.Coverage = func(m ecosystem.Measured) {
			m.Each(".lcov", 1, func(doc io.Reader) { m.Profile.ReadLCOV(doc, m.At) })
		}
		r.Sources, r.Language, r.Together = []string{".py"}, ecosystem.Python, true
		r.Config = func(c ecosystem.Call, repo ecosystem.Repo) string {
			return c.Configs(repo, "pytest.ini", ".pytest.ini", "tox.ini", "pytest.toml") + pytestTables(c.Configs(repo, "pyproject.toml", "setup.cfg"))
		}
	}
	return []ecosystem.Runner{pytest, unittest}
}

// failedToLoad is how unittest names a module that could not be imported.
var failedToLoad = regexp.MustCompile(`^unittest\.loader\.(?:_FailedTest|ModuleImportFailure)\.`)

// failedFixture is how unittest names what stands around a class or module.
var failedFixture = regexp.MustCompile(`^(?:setUp|tearDown)(?:Class|Module) \((.+)\)$`)

// failedModule is the module or class that failed as a whole, of unittest's name.
func failedModule(id string) (name string, ok bool) {
	if rest := failedToLoad.ReplaceAllString(id, ""); rest != id {
		return rest, true
	}
	if m := failedFixture.FindStringSubmatch(id); m != nil {
		return m[1], true
	}
	return "", false
}

func launchers() ecosystem.Launchers {
	return ecosystem.Launchers{Launches: func(w []string) int {
		switch path.Base(w[0]) {
		case "uv", "poetry", "pipenv", "pdm", "rye", "hatch":
			if len(w) > 1 && w[1] == "run" {
				return 2
			}
		}
		return 0
	}}
}

// pythonCall is a call of a runner of Python.
type pythonCall struct {
	ecosystem.Call
	unittest bool
}

// named is the index of the word that names the runner: of a module its own.
func (c pythonCall) named() int { return c.At + moduleIndex(c.Words[c.At:]) }

func (c pythonCall) selectPytest(sel ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	if sel.Exact {
		first := c.After(c.named(), " "+ecosystem.QuoteAll(sel.Names))
		return append([]ecosystem.Edit{first}, c.Dropped(c.PathWords(c.named(), repo))...), true
	}
	if len(sel.Names) > 0 && ecosystem.HasWord(c.Words[c.named()+1:], "-k") {
		return nil, false
	}
	var edits []ecosystem.Edit
	text := ""
	if len(sel.Paths) > 0 {
		edits, text = c.Dropped(c.PathWords(c.named(), repo)), " "+ecosystem.QuoteAll(sel.Paths)
	}
	var terms []string
	for _, n := range sel.Names {
		if n, _, _ = strings.Cut(n, "["); !keyword.MatchString(n) {
			return nil, false
		}
		terms = append(terms, strings.ReplaceAll(n, "::", " and "))
	}
	if len(terms) > 0 {
		text += " -k " + ecosystem.Quote(strings.Join(terms, " or "))
	}
	return append([]ecosystem.Edit{c.After(c.named(), text)}, edits...), true
}

// keyword is a name that pytest's -k takes.
var keyword = regexp.MustCompile(`^\w+(::\w+)*$`)

// selectUnittest selects by the full name of tests, whatever the call finds:
// files and folders are the modules that they are below where discovery starts.
func (c pythonCall) selectUnittest(sel ecosystem.Selection) ([]ecosystem.Edit, bool) {
	text := ""
	for _, n := range sel.Names {
		if sel.Exact && c.discovers() == "" { // FILE or MODULE words: they stay, for -k only narrows
			text += " -k " + ecosystem.Quote(n)
			continue
		}
		text += " -k " + ecosystem.Quote(strings.ReplaceAll(n, "::", "."))
	}
	for _, p := range sel.Paths {
		rel := strings.Trim(strings.TrimPrefix(path.Clean(p)+"/", c.discovers()+"/"), "/")
		module := strings.ReplaceAll(strings.TrimSuffix(rel, ".py"), "/", ".")
		if module == "" || module == "." {
			continue
		}
		if len(sel.Names) > 0 { // one must hold of both
			return nil, false
		}
		text += " -k " + ecosystem.Quote(module+".*")
	}
	return []ecosystem.Edit{c.AtEnd(text)}, true
}

// discovers is the folder below which unittest names modules; "" is that of the
// call.
func (c pythonCall) discovers() string {
	w := c.Words[c.named():]
	start := ""
	for i, a := range w {
		for _, o := range []string{"-s", "--start-directory", "-t", "--top-level-directory"} {
			value, ok := strings.CutPrefix(a, o+"=")
			if a == o && i+1 < len(w) {
				value, ok = w[i+1], true
			}
			if ok && (start == "" || strings.Contains(o, "-t")) {
				start = path.Clean(value)
			}
		}
	}
	if start == "" && len(w) > 2 && w[1] == "discover" && !strings.HasPrefix(w[2], "-") {
		start = path.Clean(w[2])
	}
	if start == "." {
		return ""
	}
	return start
}

// matching has unittest pick modules by the last parts of their names, wherever
// the names begin.
func (c pythonCall) matching(a ecosystem.Affected) ([]ecosystem.Edit, func(string) bool, bool) {
	if ecosystem.HasWord(c.Words[c.named():], "-k") {
		return nil, nil, false
	}
	var stems []string
	text := ""
	for _, f := range a.Hit {
		s := strings.TrimSuffix(path.Base(f), ".py")
		if s == "__init__" {
			s = path.Base(path.Dir(f))
		}
		if slices.Contains(stems, s) {
			continue
		}
		stems = append(stems, s)
		text += " -k " + ecosystem.Quote(s+".*") + " -k " + ecosystem.Quote("*."+s+".*")
	}
	left := func(test string) bool {
		parts := strings.FieldsFunc(strings.TrimSuffix(test, testreport.PackageFailed), func(r rune) bool { return r == '.' || r == '/' })
		return !slices.ContainsFunc(stems, func(s string) bool { return slices.Contains(parts, s) })
	}
	return []ecosystem.Edit{c.AtEnd(text)}, left, len(text) > 0
}

// pytestTables are the tables of a file of TOML or INI that pytest reads.
func pytestTables(text string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			in = strings.Contains(line, "pytest")
		}
		if in {
			b.WriteString(line)
		}
	}
	return b.String()
}

// collect has pytest run what it can load: one file that it cannot would hide
// the tests of all others, on both sides.
const collect = " --continue-on-collection-errors"

// ask has a call load a reporter of ours, or pytest write its own where it takes no
// plugin.
func (c pythonCall) ask(q ecosystem.Query) (ecosystem.Asked, bool) {
	if c.Script != "" {
		return ecosystem.Asked{}, false
	}
	asked := ecosystem.Asked{Files: reporterFiles(q.Lib), Lines: q.Measure.Of(c.Dir, ".py")}
	asked.Files[q.Base+".lines"] = []byte(strings.Join(asked.Lines, "\n"))
	env := "AGENCY_REPORT=" + ecosystem.Quote(q.Base) + " " + c.measured(q.Measure, q.Base)
	module := c.named()
	switch {
	case c.unittest:
		own := ecosystem.Edit{From: c.Args[module-1].From, To: c.Args[module].To, Text: ecosystem.Quote(filepath.Join(q.Lib, "agency_unittest.py"))}
		asked.Edits = []ecosystem.Edit{c.Before(env), own}
	case module > c.At && ecosystem.HasWord(c.Words[c.At:module], "-I", "-E", "-IE", "-EI"): // takes no PYTHONPATH
		asked.Edits = []ecosystem.Edit{c.After(module, " --junitxml="+ecosystem.Quote(q.Base+".xml")+collect)}
	default:
		env += "PYTHONPATH=" + ecosystem.Quote(q.Lib) + `"${PYTHONPATH:+:$PYTHONPATH}" `
		asked.Edits = []ecosystem.Edit{c.Before(env), c.After(module, " -p "+pytestPlugin(q.Lib)+collect)}
	}
	return asked, true
}

//go:embed reporters/*.py
var reporters embed.FS

// reporterFiles are what the runners load, by their paths.
func reporterFiles(lib string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"agency_lines.py", "agency_pytest.py", "agency_report.py", "agency_unittest.py"} {
		b, _ := reporters.ReadFile("reporters/" + name) // it is there
		if name == "agency_pytest.py" {
			name = pytestPlugin(lib) + ".py"
		}
		files[filepath.Join(lib, name)] = b
	}
	return files
}

// pytestPlugin is the name by which pytest finds our plugin: one that nobody can
// know before the run, for a file of the repository of that name would come
// first.
func pytestPlugin(lib string) string {
	_, chance, ok := strings.Cut(path.Base(path.Dir(lib)), "-")
	if !ok {
		chance = path.Base(path.Dir(lib))
	}
	return "agency_pytest_" + chance
}

// measured is what the environment of a call says; reporters/agency_lines.py does
// the work, beside no other tool that measures.
func (c pythonCall) measured(m ecosystem.Measure, base string) string {
	ask := "AGENCY_COVERAGE=" + ecosystem.Quote(base+".lcov") + " "
	switch {
	case m.All:
		return ask
	case len(m.Of(c.Dir, ".py")) == 0 || slices.Contains(c.Words, "coverage") || path.Base(c.Words[0]) == "coverage" || ecosystem.HasWord(c.Words, "--cov"):
		return ""
	}
	return ask + "AGENCY_LINES=" + ecosystem.Quote(base+".lines") + " "
}

func isPython(base string) bool {
	rest, ok := strings.CutPrefix(base, "python")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// runsModule tells whether words run a module of Python, also under coverage.
func runsModule(w []string, names ...string) bool {
	base := path.Base(w[0])
	if !isPython(base) && (base != "coverage" || len(w) < 2 || w[1] != "run") {
		return false
	}
	at := moduleIndex(w)
	return at > 0 && slices.Contains(names, w[at])
}

// moduleIndex is the index of the module that Python, or coverage in front of it,
// runs; 0 where it runs none.
func moduleIndex(w []string) int {
	at := moduleAt(w)
	if at == 0 && path.Base(w[0]) == "coverage" {
		at = slices.Index(w, "-m") + 1
	} else if at > 0 && w[at] == "coverage" {
		if i := slices.Index(w[at:], "-m"); i > 0 {
			at += i + 1
		}
	}
	if at >= len(w) {
		return 0
	}
	return at
}

// moduleAt is the index of the module that a call of Python runs, 0 where it
// runs none.
func moduleAt(w []string) int {
	for i := 1; i+1 < len(w) && strings.HasPrefix(w[i], "-"); i++ {
		switch w[i] {
		case "-m":
			return i + 1
		case "-c":
			return 0
		case "-W", "-X":
			i++
		}
	}
	return 0
}
