package check

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// measure is what coverage a command is asked for: of everything, whatever that
// costs, or of a few files in passing, where it costs next to nothing.
type measure struct {
	all   bool
	files []string // relative to the repository
}

func (m measure) wanted() bool { return m.all || len(m.files) > 0 }

// of are the files of these kinds as a call in a folder names them.
func (m measure) of(dir string, exts ...string) []string {
	if dir == unknownDir {
		return nil
	}
	var out []string
	for _, f := range m.files {
		if !slices.Contains(exts, path.Ext(f)) || strings.ContainsAny(f, "\n*?[]{}()!,") {
			continue
		}
		rel, err := filepath.Rel(dir, f)
		if err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// lineExts are the kinds of files whose lines a runner can be asked for in
// passing, where that goes by a list: of JavaScript those that run as written.
var lineExts = map[runner][]string{
	runPytest: {".py"}, runUnittest: {".py"},
	runNode: {".js", ".cjs", ".mjs"}, runMocha: {".js", ".cjs", ".mjs"},
}

// load has the processes of node and Mocha find out lines through the engine,
// which costs up to a quarter of a run that only computes; of the files alone,
// for what it would write of all scripts costs more.
func (m measure) load(c call, lib string) string {
	if m.all || len(m.of(c.dir, lineExts[c.runner]...)) == 0 || has(c.tool(), "--experimental-test-coverage", "--inspect", "--inspect-brk", "--prof", "--cpu-prof") {
		return ""
	}
	return "--require " + nodeQuote(filepath.Join(lib, "lines.cjs"))
}

// engine is what reporters/lines.cjs finds in its environment, or the engine
// itself where everything is measured.
func (m measure) engine(c call, base string) string {
	switch {
	case m.all:
		return "NODE_V8_COVERAGE=" + quote(base+"-v8") + " "
	case m.load(c, "") == "":
		return ""
	}
	return "AGENCY_COVERAGE=" + quote(base+"-v8") + " AGENCY_LINES=" + quote(base+".lines") + " "
}

// shellPlain is a word that a shell leaves as it is, also where it splits what
// another command printed.
var shellPlain = regexp.MustCompile(`^[\w./@+=-]+$`)

// vitest asks for the files only where the package that measures is installed:
// without it Vitest would ask back and end.
func (m measure) vitest(c call, base string) string {
	ask := " --coverage.enabled=true --coverage.reporter=lcovonly --coverage.reportsDirectory="
	if m.all {
		return ask + quote(base+"-cov")
	}
	if c.buried || !shellPlain.MatchString(base) || hasPrefix(c.tool(), "--coverage") {
		return ""
	}
	ask += base + "-cov --coverage.provider=v8"
	for _, what := range []string{"lines", "functions", "branches", "statements"} {
		ask += " --coverage.thresholds." + what + "=0"
	}
	n := 0
	for _, f := range m.of(c.dir, ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte") {
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

// jest has Jest rewrite the files only, and never judge by thresholds.
func (m measure) jest(c call, base string) string {
	ask := " --coverage --coverageReporters=lcovonly --coverageDirectory=" + quote(base+"-cov")
	if m.all {
		return ask
	}
	files := m.of(c.dir, ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx")
	if len(files) == 0 || has(c.tool(), "--coverage", "--collectCoverage", "--collect-coverage", "--collectCoverageFrom") {
		return ""
	}
	ask += " --coverageThreshold=" + quote("{}")
	for _, f := range files {
		ask += " --collectCoverageFrom=" + quote(f)
	}
	return ask
}

// python is what the environment of a call says; reporters/agency_lines.py does
// the work, beside no other tool that measures.
func (m measure) python(c call, base string) string {
	ask := "AGENCY_COVERAGE=" + quote(base+".lcov") + " "
	switch {
	case m.all:
		return ask
	case len(m.of(c.dir, ".py")) == 0 || slices.Contains(c.words, "coverage") || path.Base(c.words[0]) == "coverage" || has(c.words, "--cov"):
		return ""
	}
	return ask + "AGENCY_LINES=" + quote(base+".lines") + " "
}

// goCover asks one call of go test for the lines of the packages of the files.
// They have to be compiled anyway, for they have changed.
func (m measure) goCover(line string, c goCall, dir string, repo repository, profile string) string {
	ask := " -coverprofile=" + quote(profile)
	if m.all {
		return ask
	}
	for _, w := range strings.Fields(line[c.after:c.end]) {
		if name, ok := flagName(w); ok && strings.HasPrefix(name, "cover") {
			return ""
		}
	}
	var pkgs []string
	for _, f := range m.of(dir, ".go") {
		pkg := "./" + path.Dir(f)
		if strings.HasSuffix(f, "_test.go") || strings.HasPrefix(f, "../") || !m.sameModule(dir, path.Join(dir, path.Dir(f)), repo) || slices.Contains(pkgs, pkg) {
			continue
		}
		pkgs = append(pkgs, pkg)
	}
	if len(pkgs) == 0 || len(pkgs) > maxCovered {
		return ""
	}
	return " -coverpkg=" + quote(strings.Join(pkgs, ",")) + ask
}

// maxCovered bounds the packages that are measured in passing.
const maxCovered = 40

// sameModule tells whether a folder belongs to the module of another above it,
// and to its code.
func (m measure) sameModule(top, dir string, repo repository) bool {
	for d := dir; d != top && d != "."; d = path.Dir(d) {
		base := path.Base(d)
		if base == "testdata" || base == "vendor" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") || repo.readFile(path.Join(d, "go.mod")) != nil {
			return false
		}
	}
	return true
}

func goEdits(line string, repo repository, out string, cover measure) []edit {
	calls := goTests(line)
	if len(calls) == 0 {
		return nil
	}
	_, dirs := allCalls(line, repo)
	var edits []edit
	for i, c := range calls {
		text := ""
		if !c.json {
			text = " -json"
		}
		text += " -count=1"
		if cover.wanted() && out != "" {
			text += cover.goCover(line, c, dirs[i], repo, filepath.Join(out, fmt.Sprintf("go-%d.cover", i)))
		}
		edits = append(edits, edit{c.after, c.after, text})
	}
	return edits
}
