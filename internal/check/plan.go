package check

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

//go:embed reporters/*
var reporters embed.FS

// plan is a line as it is run: with every runner in it asked for the names of
// its tests, and where the answers will be.
type plan struct {
	line    string
	goCalls int
	calls   []planned
}

// planned is a call that answers by files whose names begin with base.
type planned struct {
	call
	base  string
	lines []string // files whose lines are found out in passing, relative to the call
}

// asked tells whether anything of the line is not the user's own.
func (p plan) asked() bool { return p.goCalls > 0 || len(p.calls) > 0 }

// edit replaces a part of a line.
type edit struct {
	from, to int
	text     string
}

func insertAt(at uint, text string) edit { return edit{int(at), int(at), text} }

// makePlan asks the runners of a line for their tests. out is the folder for
// their reports; empty: only runners that answer on standard output are asked.
// Everything else stays as it is, byte for byte.
func makePlan(line string, repo repository, out string, cover measure) plan {
	p := plan{goCalls: len(goTests(line))}
	edits := goEdits(line, repo, out, cover)
	if out != "" {
		for i, c := range findCalls(line, repo) {
			base := filepath.Join(out, fmt.Sprintf("report-%d", i))
			more, ok := ask(c, out, base, cover)
			if !ok {
				continue
			}
			edits = append(edits, more...)
			p.calls = append(p.calls, planned{c, base, cover.of(c.dir, lineExts[c.runner]...)})
		}
	}
	if len(p.calls)+p.goCalls > 1 {
		edits = append(edits, runAll(line, repo)...)
	}
	p.line = apply(line, edits)
	return p
}

func apply(line string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.from < at {
			continue
		}
		b.WriteString(line[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(line[at:])
	return b.String()
}

// ask makes a call write a report to files that begin with base. False where
// it cannot be asked; then only its exit code is known.
func ask(c call, out, base string, cover measure) ([]edit, bool) {
	lib := filepath.Join(out, "lib")
	env := insertAt(c.expr.Args[0].Pos().Offset(), "")
	end := c.expr.Args[len(c.expr.Args)-1].End().Offset()
	args := func(text string) edit { return insertAt(end, c.dashes()+text) }
	if c.buried {
		args = func(text string) edit { return edit{env.from, env.from, preload(lib, text, cover.load(c, lib))} }
	}
	report := "AGENCY_REPORT=" + quote(base) + " "
	switch c.runner {
	case runNode:
		env.text = report + cover.engine(c, base) + nodeOptions(c, filepath.Join(lib, "node.mjs"), cover.load(c, lib))
		return []edit{env}, true
	case runMocha:
		env.text = report + cover.engine(c, base)
		if load := cover.load(c, lib); load != "" && !c.buried {
			env.text += withNodeOptions(load)
		}
		return []edit{env, args(" --reporter " + quote(filepath.Join(lib, "mocha.cjs")))}, true
	case runJest:
		text := " --json --outputFile=" + quote(base+".json")
		text += cover.jest(c, base)
		return []edit{args(text)}, !c.loop
	case runVitest:
		return []edit{args(vitestArgs(c, base, cover))}, !c.loop
	case runPytest, runUnittest:
		return askPython(c, lib, base, report, cover)
	case runCargo, runNextest:
		return askCargo(c, lib, base)
	case runMaven:
		return []edit{insertAt(c.expr.Args[c.at].End().Offset(), " -o -B -fae")}, c.script == ""
	case runGradle:
		return []edit{insertAt(c.expr.Args[c.at].End().Offset(), " --offline --continue --no-daemon")}, c.script == ""
	}
	return nil, false
}

// preload has a runner deep in a package script find arguments: node loads what
// adds them.
func preload(lib, args, more string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader("x"+args), "")
	if err != nil {
		return ""
	}
	var words []string
	if call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr); ok {
		for _, w := range call.Args[1:] {
			words = append(words, wordText(w))
		}
	}
	list, err := json.Marshal(words)
	if err != nil {
		return ""
	}
	return "AGENCY_ARGS=" + quote(string(list)) + " " + withNodeOptions(strings.TrimSpace("--require "+nodeQuote(filepath.Join(lib, "args.cjs"))+" "+more))
}

// dashes stands before arguments that npm hands on to a script.
func (c call) dashes() string {
	if c.script == "" || slices.Contains(c.words[c.at:], "--") {
		return ""
	}
	switch path.Base(c.words[0]) {
	case "npm", "node":
		return " --"
	}
	return ""
}

// tool are the words of the runner itself.
func (c call) tool() []string {
	if c.script != "" {
		return append(append([]string{}, c.inner...), c.words[c.at+1:]...)
	}
	return c.words[c.at:]
}

// nodeOptions adds our reporter to those that a call of node names, or to the
// one that node would use: naming one takes that away.
func nodeOptions(c call, reporter, more string) string {
	options := "--test-reporter=" + nodeQuote(reporter) + " --test-reporter-destination=stderr"
	switch w := c.tool(); {
	case !has(w, "--test-reporter"):
		options += " --test-reporter=spec --test-reporter-destination=stdout"
	case !has(w, "--test-reporter-destination"):
		options += " --test-reporter-destination=stdout"
	}
	return withNodeOptions(strings.TrimSpace(options + " " + more))
}

// withNodeOptions adds options to those that every process of node finds.
func withNodeOptions(options string) string {
	return `NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }"` + quote(options) + " "
}

// nodeQuote makes one word of NODE_OPTIONS.
func nodeQuote(s string) string {
	if !strings.ContainsAny(s, " \"\\") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func vitestArgs(c call, base string, cover measure) string {
	text := " --reporter=json --outputFile.json=" + quote(base+".json")
	if !has(c.tool(), "--reporter") {
		text = " --reporter=default" + text
	}
	return text + cover.vitest(c, base)
}

// collect has pytest run what it can load: one file that it cannot would hide
// the tests of all others, on both sides.
const collect = " --continue-on-collection-errors"

func askPython(c call, lib, base, report string, cover measure) ([]edit, bool) {
	if c.script != "" {
		return nil, false
	}
	text := report + cover.python(c, base)
	start := c.expr.Args[0].Pos().Offset()
	module := c.at
	if m := moduleOf(c.words[c.at:]); m > 0 {
		module += m
	}
	if c.runner == runUnittest {
		from, to := c.expr.Args[module-1].Pos().Offset(), c.expr.Args[module].End().Offset()
		return []edit{insertAt(start, text), {int(from), int(to), quote(filepath.Join(lib, "agency_unittest.py"))}}, true
	}
	after := c.expr.Args[module].End().Offset()
	if module > c.at && has(c.words[c.at:module], "-I", "-E", "-IE", "-EI") { // takes no PYTHONPATH
		return []edit{insertAt(after, " --junitxml="+quote(base+".xml")+collect)}, true
	}
	text += "PYTHONPATH=" + quote(lib) + `"${PYTHONPATH:+:$PYTHONPATH}" `
	return []edit{insertAt(start, text), insertAt(after, " -p "+pytestPlugin(lib)+collect)}, true
}

// pytestPlugin is the name by which pytest finds our plugin: one that nobody can
// know before the run, for a file of the repository of that name would come
// first.
func pytestPlugin(lib string) string {
	return "agency_pytest_" + strings.TrimPrefix(path.Base(path.Dir(lib)), outPrefix)
}

func askCargo(c call, lib, base string) ([]edit, bool) {
	if c.script != "" {
		return nil, false
	}
	at := c.at + 1
	for strings.HasPrefix(c.words[at], "+") {
		at++
	}
	if c.runner == runNextest {
		at++
	}
	text := ""
	if !has(c.words, "--no-fail-fast", "--fail-fast") {
		text = " --no-fail-fast"
	}
	after := c.expr.Args[at].End().Offset()
	if c.runner == runNextest {
		text += " --tool-config-file agency:" + quote(filepath.Join(lib, path.Base(base)+".toml"))
		return []edit{insertAt(after, text)}, !c.loop
	}
	edits := []edit{insertAt(after, text)}
	return append(edits, insertAt(c.expr.End().Offset(), " >>"+quote(base+".log")+" 2>&1")), len(c.stmt.Redirs) == 0
}

// runAll lets every test command of a chain run, also after one that failed:
// otherwise the tests of the others would look deleted. The exit code is that
// of the last one that failed.
func runAll(line string, repo repository) []edit {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || file.Stmts[0].Negated || file.Stmts[0].Background {
		return nil
	}
	elements, ops := chain(file.Stmts[0])
	f := finder{repo: repo}
	for _, e := range elements {
		if !f.onlyTests(e, place{dir: "."}) {
			return nil
		}
	}
	var edits []edit
	for _, at := range ops {
		edits = append(edits, edit{int(at), int(at) + 2, "|| agency_rc=$?;"})
	}
	return append(edits, insertAt(file.Stmts[0].End().Offset(), " || agency_rc=$?; exit ${agency_rc:-0}"))
}

// chain parts `a && b && c`.
func chain(s *syntax.Stmt) (elements []*syntax.Stmt, ops []uint) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt {
		return []*syntax.Stmt{s}, nil
	}
	left, leftOps := chain(b.X)
	right, rightOps := chain(b.Y)
	return append(left, right...), append(append(leftOps, b.OpPos.Offset()), rightOps...)
}

// onlyTests tells whether a statement is one call of a runner, or a subshell
// that changes the folder and makes one.
func (f *finder) onlyTests(s *syntax.Stmt, at place) bool {
	if s.Background || s.Negated || len(s.Redirs) > 0 {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if _, ok := goTest(c); ok {
			return true
		}
		n := len(f.calls)
		f.call(s, c, at)
		return len(f.calls) > n
	case *syntax.Subshell:
		if len(c.Stmts) != 1 {
			return false
		}
		elements, _ := chain(c.Stmts[0])
		for i, e := range elements {
			call, ok := e.Cmd.(*syntax.CallExpr)
			if ok && i+1 < len(elements) && len(call.Args) > 0 && wordText(call.Args[0]) == "cd" {
				at = f.call(e, call, at)
				continue
			}
			if i+1 < len(elements) || !f.onlyTests(e, at) {
				return false
			}
		}
		return true
	}
	return false
}

// writeReporters puts what the calls load into the folder for their reports.
func (p plan) writeReporters(out string) error {
	if len(p.calls) == 0 {
		return nil
	}
	lib := filepath.Join(out, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		return err
	}
	files, err := reporters.ReadDir("reporters")
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := reporters.ReadFile("reporters/" + f.Name())
		if err != nil {
			return err
		}
		name := f.Name()
		if name == "agency_pytest.py" {
			name = pytestPlugin(lib) + ".py"
		}
		if err := os.WriteFile(filepath.Join(lib, name), b, 0o644); err != nil {
			return err
		}
	}
	for _, c := range p.calls {
		if err := os.WriteFile(c.base+".lines", []byte(strings.Join(c.lines, "\n")), 0o644); err != nil {
			return err
		}
		if c.runner != runNextest {
			continue
		}
		text := fmt.Sprintf("[profile.%s.junit]\npath = %q\n", c.profile(), c.base+".xml")
		if err := os.WriteFile(filepath.Join(lib, filepath.Base(c.base)+".toml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// profile is the profile of nextest that a call names.
func (c call) profile() string {
	for i, w := range c.words {
		if (w == "-P" || w == "--profile") && i+1 < len(c.words) {
			return fmt.Sprintf("%q", c.words[i+1])
		}
		if name, ok := strings.CutPrefix(w, "--profile="); ok {
			return fmt.Sprintf("%q", name)
		}
	}
	return "default"
}
