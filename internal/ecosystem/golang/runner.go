package golang

import (
	"io"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

func runners() []ecosystem.Runner {
	return []ecosystem.Runner{{
		Name:   "go test",
		Direct: true,
		Runs: func(words []string) bool {
			_, ok := testCallOf(ecosystem.Call{Words: words})
			return ok
		},
		Ask: func(c ecosystem.Call, q ecosystem.Query) (ecosystem.Asked, bool) {
			g, ok := testCallOf(c)
			return ecosystem.Asked{Edits: g.ask(q)}, ok
		},
		Read: readTests,
		Coverage: func(m ecosystem.Measured) {
			m.Each(".cover", 1, func(doc io.Reader) {
				readProfile(m.Profile, doc, newDeclaredTests(m.Repo, m.Profile.Left).modules)
			})
		},
		Select: func(c ecosystem.Call, s ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
			g, ok := testCallOf(c)
			if !ok || g.selects {
				return nil, false
			}
			if s.Exact {
				return g.narrow(testParts(s.Names)), true
			}
			return g.narrow(packagesOf(s.Paths, repo, c.Dir), strings.Fields(strings.Join(s.Names, " "))), true
		},
		Names: func(string) bool { return false }, // Owner tells
		Owner: owner,
		Shuffle: func(c ecosystem.Call, _ ecosystem.Repo) []ecosystem.Edit {
			if strings.Contains(c.Text, "-shuffle") {
				return nil
			}
			return []ecosystem.Edit{c.After(c.At+1, " -shuffle=on")}
		},
		Build: func(c ecosystem.Call) []ecosystem.Edit {
			if g, ok := testCallOf(c); !ok || g.selects || slices.Contains(c.Words, "-C") { // which has to stand first
				return nil
			}
			return []ecosystem.Edit{c.After(c.At+1, " -run='^$'")} // which links and vets, too
		},
		Sources: []string{".go"},
		Target:  target,
		Spell:   spell,
		Whole:   narrowWhole,
		List: func(c ecosystem.Call, format string) ([]ecosystem.Edit, bool) {
			g, _ := testCallOf(c)
			return g.list(format)
		},
	}}
}

// testCall is one plain `go test` of a line.
type testCall struct {
	ecosystem.Call
	json     bool
	selects  bool  // it has a -run, -skip, -bench or -fuzz of its own
	packages []int // the words that name packages
}

// testCallOf reads a call as `go test ...`. One that lists or only compiles tests, or
// asks for its own form of output, is none.
func testCallOf(call ecosystem.Call) (testCall, bool) {
	c := testCall{Call: call}
	w := c.Words[c.At:]
	if len(w) < 2 || w[0] != "go" || w[1] != "test" {
		return c, false
	}
	for i := 2; i < len(w); i++ {
		name, isFlag := flagName(w[i])
		switch {
		case name == "args":
			return c, true
		case name == "json":
			c.json = true
		case name == "run", name == "skip", name == "bench", name == "fuzz":
			c.selects = true
		case name == "c", name == "list", name == "h", name == "n", name == "o":
			return c, false
		case !isFlag && (i == 2 || !takesValue(w[i-1])):
			c.packages = append(c.packages, c.At+i)
		}
	}
	return c, true
}

// takesValue tells whether the word behind one is its value: -run X.
func takesValue(w string) bool {
	name, isFlag := flagName(w)
	return isFlag && !strings.Contains(w, "=") && valueFlags[name]
}

// valueFlags are the flags of `go test` that take their value as the next word.
var valueFlags = map[string]bool{
	"run": true, "skip": true, "bench": true, "benchtime": true, "count": true, "cpu": true, "timeout": true,
	"parallel": true, "p": true, "shuffle": true, "tags": true, "fuzz": true, "fuzztime": true, "fuzzminimizetime": true,
	"covermode": true, "coverpkg": true, "coverprofile": true, "cpuprofile": true, "memprofile": true, "blockprofile": true,
	"mutexprofile": true, "trace": true, "outputdir": true, "vet": true, "exec": true, "ldflags": true, "gcflags": true,
	"asmflags": true, "mod": true, "modfile": true, "overlay": true, "pkgdir": true, "toolexec": true, "C": true,
	"blockprofilerate": true, "memprofilerate": true, "mutexprofilefraction": true, "gocoverdir": true, "testlogfile": true,
}

// flagName is the name of a flag word without dashes, value and the prefix
// test.; false for a word that is no flag.
func flagName(word string) (string, bool) {
	if !strings.HasPrefix(word, "-") {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return strings.TrimPrefix(name, "test."), true
}

// written is the text of a call from a word on, as it stands.
func (c testCall) written(from, to int) string {
	return c.Text[c.Args[from].From-c.From : c.Args[to].To-c.From]
}

// flags are the words behind test, as they stand.
func (c testCall) flags() []string {
	return strings.Fields(c.Text[c.Args[c.At+1].To-c.From:])
}

// ask has a call tell of each test as it goes, and never of an earlier run.
func (c testCall) ask(q ecosystem.Query) []ecosystem.Edit {
	text := ""
	if !c.json {
		text = " -json"
	}
	text += " -count=1"
	if q.Measure.Wanted() && q.Base != "" {
		text += c.cover(q)
	}
	return []ecosystem.Edit{c.After(c.At+1, text)}
}

// cover asks for the lines of the packages of the files. They have to be compiled
// anyway, for they have changed.
func (c testCall) cover(q ecosystem.Query) string {
	ask := " -coverprofile=" + ecosystem.Quote(q.Base+".cover")
	if q.Measure.All {
		return ask
	}
	for _, w := range c.flags() {
		if name, ok := flagName(w); ok && strings.HasPrefix(name, "cover") {
			return ""
		}
	}
	var pkgs []string
	for _, f := range q.Measure.Of(c.Dir, ".go") {
		pkg := "./" + path.Dir(f)
		if strings.HasSuffix(f, "_test.go") || strings.HasPrefix(f, "../") || !sameModule(c.Dir, path.Join(c.Dir, path.Dir(f)), q.Repo) || slices.Contains(pkgs, pkg) {
			continue
		}
		pkgs = append(pkgs, pkg)
	}
	if len(pkgs) == 0 || len(pkgs) > maxCovered {
		return ""
	}
	return " -coverpkg=" + ecosystem.Quote(strings.Join(pkgs, ",")) + ask
}

// maxCovered bounds the packages that are measured in passing.
const maxCovered = 40

// sameModule tells whether a folder belongs to the module of another above it,
// and to its code.
func sameModule(top, dir string, repo ecosystem.Repo) bool {
	for d := dir; d != top && d != "."; d = path.Dir(d) {
		base := path.Base(d)
		if base == "testdata" || base == "vendor" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") || repo.Text(path.Join(d, "go.mod")) != nil {
			return false
		}
	}
	return true
}

// narrow has a call run these packages and tests only.
func (c testCall) narrow(pkgs, tests []string) []ecosystem.Edit {
	var edits []ecosystem.Edit
	if len(tests) > 0 {
		edits = append(edits, c.After(c.At+1, " -run "+ecosystem.Quote(runPattern(tests))))
	}
	if len(pkgs) == 0 {
		return edits
	}
	names := ecosystem.QuoteAll(pkgs)
	for i, w := range c.packages {
		if i > 0 {
			names = ""
		}
		edits = append(edits, ecosystem.Edit{From: c.Args[w].From, To: c.Args[w].To, Text: names})
	}
	if len(c.packages) == 0 {
		edits = append(edits, c.AtEnd(" "+names))
	}
	return edits
}

// runPattern is the value of -run that matches these tests of Go, written
// without their package, down to the level that all of them name: the
// alternatives of each level of subtests.
func runPattern(tests []string) string {
	var levels [][]string
	for n, t := range tests {
		parts := strings.Split(t, "/")
		if n == 0 {
			levels = make([][]string, len(parts))
		}
		levels = levels[:min(len(levels), len(parts))]
		for i := range levels {
			if p := regexp.QuoteMeta(parts[i]); !slices.Contains(levels[i], p) {
				levels[i] = append(levels[i], p)
			}
		}
	}
	out := make([]string, len(levels))
	for i, alts := range levels {
		out[i] = "^(" + strings.Join(alts, "|") + ")$"
	}
	return strings.Join(out, "/")
}

// testParts are the packages and top-level tests of names in a receipt, each once.
func testParts(tests []string) (pkgs, names []string) {
	for _, t := range tests {
		pkg, name, _ := testreport.SplitGo(t)
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(pkgs, pkg) {
			pkgs = append(pkgs, pkg)
		}
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
	slices.Sort(pkgs)
	slices.Sort(names)
	return pkgs, names
}

// packagesOf are the packages of paths: of a file that of its folder.
func packagesOf(paths []string, repo ecosystem.Repo, dir string) []string {
	var out []string
	for _, p := range paths {
		if repo.HasFolder(path.Join(dir, p)) {
			out = append(out, "./"+p+"/...")
		} else {
			out = append(out, "./"+path.Dir(p))
		}
	}
	return out
}

// owner is the one call that reported a test: the only one, or, surely, that of the
// module whose path the test's package begins with.
func owner(calls []ecosystem.Call, test string, repo ecosystem.Repo) (at int, sure bool) {
	pkg, _, ok := testreport.SplitGo(test)
	if !ok {
		return -1, false
	}
	at, longest, several := -1, -1, false
	for i, c := range calls {
		module := ""
		if m := moduleLine.FindSubmatch(repo.Text(path.Join(c.Dir, "go.mod"))); m != nil {
			module = string(m[1])
		}
		switch {
		case module == "" && len(calls) > 1, module != "" && !strings.HasPrefix(pkg+"/", module+"/"):
		case len(module) == longest:
			several = true
		case len(module) > longest:
			at, longest, several = i, len(module), false
		}
	}
	if at < 0 || several || calls[at].Dir == ecosystem.UnknownDir {
		return -1, false
	}
	return at, longest > 0
}

var (
	safeTarget  = regexp.MustCompile(`^[A-Za-z0-9_./@:+ -]+$`)
	allPackages = regexp.MustCompile(`(^|\s)\./\.\.\.(\s|$)`)
	testWord    = regexp.MustCompile(`^(Test|Example|Fuzz|Benchmark)([^a-z]|$)`)
)

// target narrows a call to packages (./internal/x), tests (TestParse,
// TestParse/case), or both separated by spaces.
func target(call ecosystem.Call, to string) ([]ecosystem.Edit, error) {
	c, ok := testCallOf(call)
	if !ok || c.selects {
		return nil, nil
	}
	var pkgs, tests []string
	for _, f := range strings.Fields(to) {
		if testreport.IsTestName(f) {
			tests = append(tests, f)
		} else {
			pkgs = append(pkgs, f)
		}
	}
	for _, p := range pkgs {
		if strings.HasPrefix(p, "-") {
			return nil, agency.Errorf(agency.KindInvalid, "target %q: %s is a flag; want a package or a test's name", to, p)
		}
	}
	return c.narrow(pkgs, tests), nil
}

// narrowWhole narrows a line that names all packages once, whatever it does with
// them.
func narrowWhole(line, to string) (string, bool) {
	if len(allPackages.FindAllString(line, -1)) != 1 || !safeTarget.MatchString(to) || strings.Contains(to, " ") {
		return "", false
	}
	return allPackages.ReplaceAllString(line, "${1}"+dotted(to)+"${2}"), true
}

// spell is what an agent wrote as packages or tests.
func spell(target string) (string, bool) {
	return dotted(target), safeTarget.MatchString(target) || testreport.IsTestName(target)
}

// dotted makes a folder a package pattern: internal/x is ./internal/x.
func dotted(target string) string {
	if strings.ContainsAny(target, " ") || !strings.Contains(target, "/") || strings.HasPrefix(target, ".") || testWord.MatchString(target) {
		return target
	}
	return "./" + target
}

// plainFlags are the flags of `go test` that change nothing about which
// packages there are and what they import.
var plainFlags = []string{
	"v", "race", "count", "short", "timeout", "shuffle", "cover", "covermode", "coverprofile", "failfast", "parallel", "p", "vet", "cpu", "json",
	"fullpath",
}

// list has a call list its packages in a format (go help list). False where it has a
// flag that changes which files count.
func (c testCall) list(format string) ([]ecosystem.Edit, bool) {
	if c.selects || len(c.packages) == 0 {
		return nil, false
	}
	for _, w := range c.flags() {
		if name, isFlag := flagName(w); isFlag && !slices.Contains(plainFlags, name) {
			return nil, false
		}
	}
	text := "list -e -f " + ecosystem.Quote(format)
	for _, p := range c.packages {
		text += " " + c.written(p, p)
	}
	return []ecosystem.Edit{{From: c.Args[c.At+1].From, To: c.Args[len(c.Args)-1].To, Text: text}}, true
}
