package check

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Language is what a runner's tests are written in, where a change can be
// followed to them by the imports of their files.
type Language string

// The languages of narrowing.
const (
	JavaScript Language = "JavaScript"
	Python     Language = "Python"
	Rust       Language = "Rust"
)

// OneCall is the only call of a test runner in a line.
type OneCall struct {
	Language Language
	Dir      string // its working folder, relative to the checkout
	// Says is the text that decides what it loads: the line, the package scripts
	// behind it and the configuration of its runner.
	Says string
	// Together tells whether it runs the tests of all files in one process, where
	// each can need what another one did.
	Together bool
}

// FindOneCall tells whether all tests of a line are run by one call whose tests
// can be picked by files.
func FindOneCall(line string, repo fs.FS) (OneCall, bool) {
	f := files{repo}
	calls, goDirs := allCalls(line, f)
	if len(calls) != 1 || len(goDirs) > 0 || calls[0].dir == unknownDir || calls[0].loop {
		return OneCall{}, false
	}
	c := calls[0]
	one := OneCall{Dir: c.dir, Says: line}
	switch c.runner {
	case runNode, runJest, runVitest, runMocha:
		one.Language, one.Together = JavaScript, c.runner == runMocha
		one.Says += c.scriptTexts(f) + c.configTexts(f, jsConfigs...)
	case runPytest, runUnittest:
		one.Language, one.Together = Python, true
		one.Says += c.configTexts(f, "pytest.ini", ".pytest.ini", "tox.ini", "pytest.toml")
		one.Says += pytestTables(c.configTexts(f, "pyproject.toml", "setup.cfg"))
	case runCargo, runNextest:
		one.Language = Rust
	default:
		return OneCall{}, false
	}
	return one, true
}

// jsConfigs are the files in which the runners of JavaScript name others.
var jsConfigs = []string{
	"jest.config.*", "jest-preset.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", ".mocharc*", "test/mocha.opts",
	"babel.config.*", ".babelrc*", ".swcrc", ".taprc",
}

// configTexts are the files of these names in the folder of a call and above.
func (c call) configTexts(repo files, patterns ...string) string {
	var b strings.Builder
	for d := c.dir; repo.FS != nil; d = path.Dir(d) {
		for _, p := range patterns {
			names, err := fs.Glob(repo.FS, path.Join(escapeGlob(d), p))
			for _, n := range names {
				b.WriteString("\n" + string(repo.readFile(n)))
			}
			if err != nil {
				return ""
			}
		}
		if d == "." {
			break
		}
	}
	return b.String()
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

// scriptTexts are the package scripts behind a call, those that they call, and
// what package.json says to runners.
func (c call) scriptTexts(repo files) string {
	var b strings.Builder
	for _, key := range []string{"jest", "mocha", "vitest", "babel"} {
		b.WriteString("\n" + packageKey(repo.readFile(path.Join(c.dir, "package.json")), key))
	}
	scripts := (&finder{repo: repo}).scripts(c.dir)
	seen := map[string]bool{}
	for queue := []string{c.script}; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		for _, n := range []string{"pre" + name, name, "post" + name} {
			if seen[n] || scripts[n] == "" {
				continue
			}
			seen[n] = true
			b.WriteString("\n" + scripts[n])
			queue = append(queue, strings.Fields(scripts[n])...)
		}
	}
	return b.String()
}

// Affected is what a change can affect of the code of one language.
type Affected struct {
	// Hit are the files that the change can affect, with those that it changed or
	// took away, Code all files of the language that git tracks. All are relative
	// to the repository.
	Hit, Code []string
	// Keep are files that run whatever is affected.
	Keep func(file string) bool
	// Packages are the crates of Rust, in place of files; All those that there are.
	Packages, All []string
}

func (a Affected) hits(f string) bool {
	_, ok := slices.BinarySearch(a.Hit, f)
	return ok
}

// Narrowed is a line that runs only tests which a change can affect.
type Narrowed struct {
	Line string
	// Both: the base has to run this line too, for names do not tell what of its
	// results the line leaves out.
	Both bool
	// Left tells whether a test by its name is one that the line leaves out, where
	// its runner does not know more and no result of its file came.
	Left func(test string) bool
}

// Only makes a line with one call run the tests that a change can affect. False
// where its runner cannot, or would leave out none.
func Only(line string, a Affected, repo fs.FS) (Narrowed, bool) {
	one, ok := FindOneCall(line, repo)
	if !ok {
		return Narrowed{}, false
	}
	a.Hit, a.Code = slices.Sorted(slices.Values(a.Hit)), slices.Sorted(slices.Values(a.Code))
	n := Narrowed{Both: one.Language == Rust}
	code := map[string]bool{}
	for _, f := range a.Code {
		code[f] = true
	}
	ch := chooser{repo: files{repo}, call: func(c call) (selection, bool) { return selection{affected: &a, left: &n.Left, code: code}, true }}
	n.Line, ok = ch.apply(line, ".")
	return n, ok && len(n.Line) < maxLine
}

// maxLine bounds a line that names many files: the system takes no word of more
// than 128 KiB.
const maxLine = 100 << 10

// selectAffected are the edits that make a call run what is affected, as its
// runner does that best: by its own knowledge of what imports what, by leaving
// files out, or by naming them.
func (c call) selectAffected(sel selection, repo files) ([]edit, bool) {
	a := *sel.affected
	*sel.left = func(test string) bool {
		f, ok := fileOf(test)
		return ok && sel.code[f] && !a.hits(f)
	}
	switch c.runner {
	case runJest, runVitest:
		return c.related(a, repo)
	case runMocha:
		return c.ignoring(a, "--ignore ", *sel.left)
	case runPytest:
		return c.ignoring(a, "--ignore=", *sel.left)
	case runNode:
		return c.naming(a, repo)
	case runUnittest:
		return c.matching(a, sel.left)
	case runCargo, runNextest:
		return c.crates(a)
	}
	return nil, false
}

// fileOf is the file in a test's name.
func fileOf(test string) (string, bool) {
	if f, _, ok := strings.Cut(test, between); ok {
		return f, true
	}
	if f, _, ok := strings.Cut(test, ".py::"); ok {
		return f + ".py", true
	}
	return strings.CutSuffix(test, PackageFailed)
}

// FileOf is the file in which a test lies, as far as its name says it.
func FileOf(test string) string {
	f, ok := fileOf(test)
	if !ok {
		return ""
	}
	return f
}

// under are files as a call in a folder names them.
func under(dir string, names []string) []string {
	var out []string
	for _, f := range names {
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			continue
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

// related has Jest and Vitest find the tests: they know what their configuration
// makes of imports. What is affected by all that is known here is named to them
// beside the changed files, so that the union of both runs.
func (c call) related(a Affected, repo files) ([]edit, bool) {
	if len(c.pathWords(repo)) > 0 || has(c.tool(), "--findRelatedTests", "--runTestsByPath", "--testPathPattern", "--testPathPatterns",
		"--onlyChanged", "-o", "--lastCommit", "--changedSince", "--changed", "--shard", "--dir", "--root", "-r", "--rootDir", "related") {
		return nil, false
	}
	there := slices.DeleteFunc(slices.Clone(a.Code), func(f string) bool { return !a.hits(f) })
	if len(there) == 0 || len(there) == len(a.Code) {
		return nil, false
	}
	names := quoteAll(under(c.dir, there))
	if c.runner == runJest {
		return c.afterOptions(" --findRelatedTests " + names), true
	}
	word := insertAt(c.expr.Args[c.at].End().Offset(), " related --run")
	if i := c.at + 1; i < len(c.words) && c.words[i] == "run" {
		word = edit{int(c.expr.Args[i].Pos().Offset()), int(c.expr.Args[i].End().Offset()), "related --run"}
	}
	return append([]edit{word}, c.afterOptions(" "+names)...), true
}

// ignoring leaves out the files of tests that are not affected: whatever else
// the runner finds by its own rules runs.
func (c call) ignoring(a Affected, option string, left func(string) bool) ([]edit, bool) {
	var out []string
	for _, f := range under(c.dir, a.Code) {
		full := path.Join(c.dir, f)
		if a.hits(full) || strings.HasPrefix(f, "../") || strings.ContainsAny(f, "*?[]{}()!") || a.Keep != nil && a.Keep(full) {
			continue
		}
		if base := path.Base(f); base != "conftest.py" && base != "__init__.py" && testName.MatchString(f) {
			out = append(out, option+quote(f))
		}
	}
	if len(out) == 0 {
		return nil, false
	}
	return []edit{insertAt(c.expr.Args[c.named()].End().Offset(), " "+strings.Join(out, " "))}, true
}

// testName is what the paths of files look like that runners take for tests.
var testName = regexp.MustCompile(`(?i)(?:^|[/._-])(?:tests?|specs?|__tests__)(?:[/._-]|$)`)

// naming names the test files to node, in place of those that the call names or
// node finds.
func (c call) naming(a Affected, repo files) ([]edit, bool) {
	if has(c.tool(), "--test-isolation", "--experimental-test-isolation", "--test-name-pattern", "--test-shard", "--test-only") {
		return nil, false
	}
	at := c.pathWords(repo)
	var picked []string
	all := 0
	for _, f := range under(c.dir, a.Code) {
		if !c.nodeRuns(f, at, repo) {
			continue
		}
		if all++; a.hits(path.Join(c.dir, f)) {
			picked = append(picked, f)
		}
	}
	if len(picked) == 0 || len(picked) == all {
		return nil, false
	}
	return append(c.dropped(at), c.atEnd(" "+quoteAll(picked))), true
}

// nodeRuns tells whether a call of node runs a file as a test.
func (c call) nodeRuns(f string, at []int, repo files) bool {
	byName := isNodeTest(f) && strings.Contains(path.Ext(f), "js")
	if len(at) == 0 {
		return byName && !strings.HasPrefix(f, "../")
	}
	for _, i := range at {
		w := path.Clean(c.words[i])
		switch {
		case strings.ContainsAny(w, "*?"):
			if form := globForm(w, quotedWord(c.expr.Args[i])); form != nil && form.MatchString(f) {
				return true
			}
		case repo.isDir(path.Join(c.dir, w)):
			if byName && (w == "." || strings.HasPrefix(f, w+"/")) {
				return true
			}
		case w == f:
			return true
		}
	}
	return false
}

// quotedWord tells whether a word is written in quotes, so that no shell expands
// the pattern in it.
func quotedWord(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if _, plain := p.(*syntax.Lit); plain {
			return false
		}
	}
	return true
}

// globForm is a pattern of file names; ** is any depth where no shell reads it.
// Nil where it holds what is written differently everywhere.
func globForm(pattern string, deep bool) *regexp.Regexp {
	if strings.ContainsAny(pattern, "[]!()") || deep && strings.ContainsAny(pattern, "{}") && strings.Count(pattern, "{") > 1 {
		return nil
	}
	form := regexp.QuoteMeta(pattern)
	if deep {
		form = strings.ReplaceAll(form, `\*\*/`, `(?:.*/)?`)
		form = strings.ReplaceAll(form, `\*\*`, `.*`)
	}
	form = strings.NewReplacer(`\*`, `[^/]*`, `\?`, `[^/]`, `\{`, `(?:`, `\}`, `)`, `,`, `|`).Replace(form)
	re, err := regexp.Compile("^" + form + "$")
	if err != nil {
		return nil
	}
	return re
}

// matching has unittest pick modules by the last parts of their names, wherever
// the names begin.
func (c call) matching(a Affected, left *func(string) bool) ([]edit, bool) {
	if has(c.words[c.named():], "-k") {
		return nil, false
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
		text += " -k " + quote(s+".*") + " -k " + quote("*."+s+".*")
	}
	*left = func(test string) bool {
		parts := strings.FieldsFunc(strings.TrimSuffix(test, PackageFailed), func(r rune) bool { return r == '.' || r == '/' })
		return !slices.ContainsFunc(stems, func(s string) bool { return slices.Contains(parts, s) })
	}
	return []edit{c.atEnd(text)}, len(text) > 0
}

// crates names the affected packages to cargo.
func (c call) crates(a Affected) ([]edit, bool) {
	if len(a.Packages) == 0 || len(a.Packages) >= len(a.All) ||
		has(c.words, "-p", "--package", "--exclude", "--manifest-path", "-C", "--lib", "--bin", "--bins", "--test", "--tests", "--example", "--doc", "--features", "-F") {
		return nil, false
	}
	var edits []edit
	for i, w := range c.words {
		if w == "--" {
			break
		}
		if w == "--workspace" || w == "--all" {
			edits = append(edits, c.dropped([]int{i})...)
		}
	}
	text := ""
	for _, p := range a.Packages {
		text += " -p " + quote(p)
	}
	return append([]edit{insertAt(c.expr.Args[c.subcommand()].End().Offset(), text)}, edits...), true // what is put in stands before what is dropped
}
