package node

import (
	"embed"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// ask has a call write a report: node and Mocha by a reporter of ours, the others in
// their own JSON.
func (c nodeCall) ask(q ecosystem.Query) (ecosystem.Asked, bool) {
	asked := ecosystem.Asked{Files: reporterFiles(q.Lib)}
	if c.runner == nodeTest || c.runner == mocha {
		asked.Lines = q.Measure.Of(c.Dir, engineExts...)
		asked.Files[q.Base+".lines"] = []byte(strings.Join(asked.Lines, "\n"))
	}
	load := c.load(q.Measure, q.Lib)
	env := "AGENCY_REPORT=" + ecosystem.Quote(q.Base) + " "
	args := func(text string) ecosystem.Edit {
		if c.Buried {
			return c.Before(preload(q.Lib, text, load))
		}
		return c.AtEnd(c.dashes() + text)
	}
	switch c.runner {
	case nodeTest:
		env += c.engine(q.Measure, q.Base) + c.nodeOptions(filepath.Join(q.Lib, "node.mjs"), load)
		asked.Edits = []ecosystem.Edit{c.Before(env)}
		return asked, true
	case mocha:
		env += c.engine(q.Measure, q.Base)
		if load != "" && !c.Buried {
			env += withNodeOptions(load)
		}
		asked.Edits = []ecosystem.Edit{c.Before(env), args(" --reporter " + ecosystem.Quote(filepath.Join(q.Lib, "mocha.cjs")))}
		return asked, true
	case jest:
		asked.Edits = []ecosystem.Edit{args(" --json --outputFile=" + ecosystem.Quote(q.Base+".json") + c.jestCoverage(q.Measure, q.Base))}
	case vitest:
		text := " --reporter=json --outputFile.json=" + ecosystem.Quote(q.Base+".json")
		if !ecosystem.HasWord(c.Tool(), "--reporter") {
			text = " --reporter=default" + text
		}
		asked.Edits = []ecosystem.Edit{args(text + c.vitestCoverage(q.Measure, q.Base))}
	}
	return asked, !c.Loop
}

//go:embed reporters/*
var reporters embed.FS

// reporterFiles are what the runners load, by their paths.
func reporterFiles(lib string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"args.cjs", "lines.cjs", "mocha.cjs", "node.mjs"} {
		files[filepath.Join(lib, name)], _ = reporters.ReadFile("reporters/" + name) // it is there
	}
	return files
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
			words = append(words, ecosystem.WordText(w))
		}
	}
	list, err := json.Marshal(words)
	if err != nil {
		return ""
	}
	return "AGENCY_ARGS=" + ecosystem.Quote(string(list)) + " " + withNodeOptions(strings.TrimSpace("--require "+nodeQuote(filepath.Join(lib, "args.cjs"))+" "+more))
}

// dashes stands before arguments that npm hands on to a script.
func (c nodeCall) dashes() string {
	if c.Script == "" || slices.Contains(c.Words[c.At:], "--") {
		return ""
	}
	switch path.Base(c.Words[0]) {
	case "npm", "node":
		return " --"
	}
	return ""
}

// nodeOptions adds our reporter to those that a call of node names, or to the
// one that node would use: naming one takes that away.
func (c nodeCall) nodeOptions(reporter, more string) string {
	options := "--test-reporter=" + nodeQuote(reporter) + " --test-reporter-destination=stderr"
	switch w := c.Tool(); {
	case !ecosystem.HasWord(w, "--test-reporter"):
		options += " --test-reporter=spec --test-reporter-destination=stdout"
	case !ecosystem.HasWord(w, "--test-reporter-destination"):
		options += " --test-reporter-destination=stdout"
	}
	return withNodeOptions(strings.TrimSpace(options + " " + more))
}

// withNodeOptions adds options to those that every process of node finds.
func withNodeOptions(options string) string {
	return `NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }"` + ecosystem.Quote(options) + " "
}

// nodeQuote makes one word of NODE_OPTIONS.
func nodeQuote(s string) string {
	if !strings.ContainsAny(s, " \"\\") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// engineExts are the kinds of files that run as written, whose lines the engine tells.
var engineExts = []string{".js", ".cjs", ".mjs"}

// load has the processes of node and Mocha find out lines through the engine,
// which costs up to a quarter of a run that only computes; of the files alone,
// for what it would write of all scripts costs more.
func (c nodeCall) load(m ecosystem.Measure, lib string) string {
	if c.runner != nodeTest && c.runner != mocha || m.All || len(m.Of(c.Dir, engineExts...)) == 0 || ecosystem.HasWord(c.Tool(), "--experimental-test-coverage", "--inspect", "--inspect-brk", "--prof", "--cpu-prof") {
		return ""
	}
	return "--require " + nodeQuote(filepath.Join(lib, "lines.cjs"))
}

// engine is what reporters/lines.cjs finds in its environment, or the engine
// itself where everything is measured.
func (c nodeCall) engine(m ecosystem.Measure, base string) string {
	switch {
	case m.All:
		return "NODE_V8_COVERAGE=" + ecosystem.Quote(base+"-v8") + " "
	case c.load(m, "") == "":
		return ""
	}
	return "AGENCY_COVERAGE=" + ecosystem.Quote(base+"-v8") + " AGENCY_LINES=" + ecosystem.Quote(base+".lines") + " "
}

// shellPlain is a word that a shell leaves as it is, also where it splits what
// another command printed.
var shellPlain = regexp.MustCompile(`^[\w./@+=-]+$`)

// vitestCoverage asks for the files only where the package that measures is installed:
// without it Vitest would ask back and end.
func (c nodeCall) vitestCoverage(m ecosystem.Measure, base string) string {
	ask := " --coverage.enabled=true --coverage.reporter=lcovonly --coverage.reportsDirectory="
	if m.All {
		return ask + ecosystem.Quote(base+"-cov")
	}
	if c.Buried || !shellPlain.MatchString(base) || hasPrefix(c.Tool(), "--coverage") {
		return ""
	}
	ask += base + "-cov --coverage.provider=v8"
	for _, what := range []string{"lines", "functions", "branches", "statements"} {
		ask += " --coverage.thresholds." + what + "=0"
	}
	n := 0
	for _, f := range m.Of(c.Dir, ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte") {
		if shellPlain.MatchString(f) {
			ask += " --coverage.include=" + f
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return " $(test -e node_modules/@vitest/coverage-v8/package.json && echo" + ask + ")"
}

func hasPrefix(words []string, prefix string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, prefix) })
}

// jestCoverage has Jest rewrite the files only, and never judge by thresholds.
func (c nodeCall) jestCoverage(m ecosystem.Measure, base string) string {
	ask := " --coverage --coverageReporters=lcovonly --coverageDirectory=" + ecosystem.Quote(base+"-cov")
	if m.All {
		return ask
	}
	files := m.Of(c.Dir, ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx")
	if len(files) == 0 || ecosystem.HasWord(c.Tool(), "--coverage", "--collectCoverage", "--collect-coverage", "--collectCoverageFrom") {
		return ""
	}
	ask += " --coverageThreshold=" + ecosystem.Quote("{}")
	for _, f := range files {
		ask += " --collectCoverageFrom=" + ecosystem.Quote(f)
	}
	return ask
}
