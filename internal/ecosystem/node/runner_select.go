package node

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

// nodeCall is a call of a runner of JavaScript.
type nodeCall struct {
	ecosystem.Call
	runner string
}

// nameFlags are by which the runners select names.
var nameFlags = map[string][]string{
	nodeTest: {"--test-name-pattern"}, jest: {"-t", "--testNamePattern"},
	vitest: {"-t", "--testNamePattern"}, mocha: {"--grep", "-g", "--fgrep", "-f"},
}

// pick selects by names and files.
func (c nodeCall) pick(sel ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	flags := nameFlags[c.runner]
	if len(sel.Names) > 0 && ecosystem.HasWord(c.Words[c.At:], flags...) {
		return nil, false
	}
	var edits []ecosystem.Edit
	text := ""
	if c.runner == vitest && !slices.Contains(c.Words[c.At:], "run") && !slices.Contains(c.Words[c.At:], "related") {
		text += " run"
	}
	if len(sel.Names) > 0 {
		sep := " "
		if c.runner == nodeTest {
			sep = "="
		}
		text += " " + flags[0] + sep + ecosystem.Quote(c.pattern(sel))
	}
	if len(sel.Paths) > 0 {
		edits = c.Dropped(c.PathWords(c.At, repo))
		paths, ok := c.jsPaths(sel.Paths, repo)
		if !ok {
			return nil, false
		}
		text += paths
	}
	return append(edits, c.afterOptions(text)...), true
}

// afterOptions puts text behind the options of a call: node reads none that
// stand behind a file.
func (c nodeCall) afterOptions(text string) []ecosystem.Edit {
	if c.runner == nodeTest {
		return []ecosystem.Edit{c.AtEnd(text)} // its files are dropped, or the text holds only options
	}
	if i := slices.Index(c.Words, "--"); i > 0 {
		return []ecosystem.Edit{c.After(i-1, text)}
	}
	return []ecosystem.Edit{c.AtEnd(text)}
}

// pattern is the regular expression that matches the names. Node looks at the
// title of each test and suite by itself, the others at all of them with spaces
// between.
func (c nodeCall) pattern(sel ecosystem.Selection) string {
	var alternatives []string
	for _, n := range sel.Names {
		titles := []string{strings.ReplaceAll(n, testreport.Separator, " ")}
		if c.runner == nodeTest {
			titles = strings.Split(n, testreport.Separator)
		}
		for _, t := range titles {
			alternatives = append(alternatives, regexp.QuoteMeta(t))
		}
	}
	slices.Sort(alternatives)
	all := "(" + strings.Join(slices.Compact(alternatives), "|") + ")"
	switch {
	case sel.Exact && c.runner == vitest: // some versions put a space before
		return `^\s*` + all + "$"
	case sel.Exact:
		return "^" + all + "$"
	}
	return strings.TrimSuffix(strings.TrimPrefix(all, "("), ")")
}

// jsPaths are the words that select files and folders. Node is told every test
// file of a folder, because its versions read folders differently.
func (c nodeCall) jsPaths(paths []string, repo ecosystem.Repo) (string, bool) {
	files := true
	for _, p := range paths {
		files = files && !repo.HasFolder(path.Join(c.Dir, p))
	}
	switch c.runner {
	case jest:
		if files && len(paths) > 0 && !ecosystem.HasWord(c.Words, "--runTestsByPath") {
			return " --runTestsByPath " + ecosystem.QuoteAll(paths), true
		}
		quoted := make([]string, len(paths))
		for i, p := range paths {
			quoted[i] = regexp.QuoteMeta(p)
		}
		return " " + ecosystem.QuoteAll(quoted), true
	case mocha:
		if !files && !ecosystem.HasWord(c.Words, "--recursive") {
			return " --recursive " + ecosystem.QuoteAll(paths), true
		}
	case nodeTest:
		var all []string
		for _, p := range paths {
			if !repo.HasFolder(path.Join(c.Dir, p)) {
				all = append(all, p)
				continue
			}
			all = append(all, repo.Below(c.Dir, p, isNodeTest)...)
		}
		return " " + ecosystem.QuoteAll(all), len(all) > 0
	}
	return " " + ecosystem.QuoteAll(paths), true
}

// isNodeTest tells the files that node takes for tests by itself.
func isNodeTest(p string) bool {
	ext := path.Ext(p)
	switch ext {
	case ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts":
	default:
		return false
	}
	stem := strings.TrimSuffix(path.Base(p), ext)
	return stem == "test" || strings.HasPrefix(stem, "test-") || strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, "-test") ||
		strings.HasSuffix(stem, "_test") || slices.Contains(strings.Split(path.Dir(p), "/"), "test")
}

// related has Jest and Vitest find the tests: they know what their configuration
// makes of imports. What is affected by all that is known here is named to them
// beside the changed files, so that the union of both runs.
func (c nodeCall) related(a ecosystem.Affected, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	if len(c.PathWords(c.At, repo)) > 0 || ecosystem.HasWord(c.Tool(), "--findRelatedTests", "--runTestsByPath", "--testPathPattern", "--testPathPatterns",
		"--onlyChanged", "-o", "--lastCommit", "--changedSince", "--changed", "--shard", "--dir", "--root", "-r", "--rootDir", "related") {
		return nil, false
	}
	there := slices.DeleteFunc(slices.Clone(a.Code), func(f string) bool { return !a.Hits(f) })
	if len(there) == 0 || len(there) == len(a.Code) {
		return nil, false
	}
	names := ecosystem.QuoteAll(ecosystem.Under(c.Dir, there))
	if c.runner == jest {
		return c.afterOptions(" --findRelatedTests " + names), true
	}
	word := c.After(c.At, " related --run")
	if i := c.At + 1; i < len(c.Words) && c.Words[i] == "run" {
		word = ecosystem.Edit{From: c.Args[i].From, To: c.Args[i].To, Text: "related --run"}
	}
	return append([]ecosystem.Edit{word}, c.afterOptions(" "+names)...), true
}

// naming names the test files to node, in place of those that the call names or
// node finds.
func (c nodeCall) naming(a ecosystem.Affected, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	if ecosystem.HasWord(c.Tool(), "--test-isolation", "--experimental-test-isolation", "--test-name-pattern", "--test-shard", "--test-only") {
		return nil, false
	}
	at := c.PathWords(c.At, repo)
	var picked []string
	all := 0
	for _, f := range ecosystem.Under(c.Dir, a.Code) {
		if !c.nodeRuns(f, at, repo) {
			continue
		}
		if all++; a.Hits(path.Join(c.Dir, f)) {
			picked = append(picked, f)
		}
	}
	if len(picked) == 0 || len(picked) == all {
		return nil, false
	}
	return append(c.Dropped(at), c.AtEnd(" "+ecosystem.QuoteAll(picked))), true
}

// nodeRuns tells whether a call of node runs a file as a test.
func (c nodeCall) nodeRuns(f string, at []int, repo ecosystem.Repo) bool {
	byName := isNodeTest(f) && strings.Contains(path.Ext(f), "js")
	if len(at) == 0 {
		return byName && !strings.HasPrefix(f, "../")
	}
	for _, i := range at {
		w := path.Clean(c.Words[i])
		switch {
		case strings.ContainsAny(w, "*?"):
			if form := globForm(w, c.Args[i].Quoted); form != nil && form.MatchString(f) {
				return true
			}
		case repo.HasFolder(path.Join(c.Dir, w)):
			if byName && (w == "." || strings.HasPrefix(f, w+"/")) {
				return true
			}
		case w == f:
			return true
		}
	}
	return false
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

// scriptTexts are the package scripts behind a call, those that they call, and
// what package.json says to runners.
func (c nodeCall) scriptTexts(repo ecosystem.Repo) string {
	var b strings.Builder
	var manifest map[string]json.RawMessage
	_ = json.Unmarshal(repo.Text(path.Join(c.Dir, "package.json")), &manifest) // one that is none says nothing
	for _, key := range []string{"jest", "mocha", "vitest", "babel"} {
		b.WriteString("\n" + string(manifest[key]))
	}
	scripts := packageScripts(repo.Text(path.Join(c.Dir, "package.json")))
	seen := map[string]bool{}
	for queue := []string{c.Script}; len(queue) > 0; queue = queue[1:] {
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

// shuffle is the option by which a runner takes another order; empty where it
// has none.
func (c nodeCall) shuffle(repo ecosystem.Repo) string {
	switch {
	case c.runner == vitest && !ecosystem.HasWord(c.Tool(), "--sequence.shuffle", "--sequence.shuffle.tests"):
		return " --sequence.shuffle"
	case c.runner == jest && !ecosystem.HasWord(c.Tool(), "--randomize") && atLeast(jestVersion(c.Dir, repo), 29, 5):
		return " --randomize"
	}
	return ""
}

// reordered has a call take another order.
func (c nodeCall) reordered(repo ecosystem.Repo) []ecosystem.Edit {
	switch option := c.shuffle(repo); {
	case option == "" || c.Buried:
		return nil
	case c.Script != "": // what follows the script's name is handed on to it
		return []ecosystem.Edit{c.AtEnd(c.dashes() + option)}
	default:
		return c.afterOptions(option)
	}
}

// jestVersion is the version of Jest that a folder has, or asks for at least.
func jestVersion(dir string, repo ecosystem.Repo) string {
	for ; repo.FS != nil; dir = path.Dir(dir) {
		var have struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(repo.Text(path.Join(dir, "node_modules/jest/package.json")), &have) == nil && have.Version != "" {
			return have.Version
		}
		var asked struct {
			Dependencies    map[string]string `json:"dependencies"`
			DevDependencies map[string]string `json:"devDependencies"`
		}
		if json.Unmarshal(repo.Text(path.Join(dir, "package.json")), &asked) == nil {
			if v := asked.DevDependencies["jest"] + asked.Dependencies["jest"]; v != "" {
				return v
			}
		}
		if dir == "." {
			break
		}
	}
	return ""
}

// leastVersion is a version, or a range that says the lowest one first.
var leastVersion = regexp.MustCompile(`^\s*(?:\^|~|>=|=|v)?\s*(\d+)(?:\.(\d+))?`)

func atLeast(version string, major, minor int) bool {
	m := leastVersion.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	have, err := strconv.Atoi(m[1])
	if err != nil || have != major {
		return err == nil && have > major
	}
	part, err := strconv.Atoi(m[2])
	return err == nil && part >= minor
}
