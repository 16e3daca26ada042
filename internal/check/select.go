package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// selecting are the edits that make a call run a selection. False where the
// runner cannot, or the call already selects by name.
func (c call) selecting(sel selection, repo files) ([]edit, bool) {
	if sel.affected != nil {
		return c.selectAffected(sel, repo)
	}
	switch c.runner {
	case runPytest:
		return c.selectPytest(sel, repo)
	case runUnittest:
		return c.selectUnittest(sel)
	case runNode, runJest, runVitest, runMocha:
		return c.selectJS(sel, repo)
	case runCargo, runNextest:
		return c.selectRust(sel, repo)
	case runMaven:
		return c.selectMaven(sel, repo)
	case runGradle:
		return c.selectGradle(sel, repo)
	}
	return nil, false
}

// atEnd adds words behind a call.
func (c call) atEnd(text string) edit { return insertAt(c.expr.End().Offset(), text) }

// dropped removes words of a call.
func (c call) dropped(words []int) []edit {
	var out []edit
	for _, i := range words {
		out = append(out, edit{int(c.expr.Args[i-1].End().Offset()), int(c.expr.Args[i].End().Offset()), ""})
	}
	return out
}

// named is the index of the word that names the runner, of Python's the module.
func (c call) named() int {
	if m := moduleOf(c.words[c.at:]); m > 0 && (c.runner == runPytest || c.runner == runUnittest) {
		return c.at + m
	}
	return c.at
}

// pathWords are the words by which a call says what it runs: of everything that
// is no option, nor the value of one, what is there in the repository or a
// pattern of it.
func (c call) pathWords(repo files) []int {
	var out []int
	for i := c.named() + 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case w == "--":
			return out
		case optionValue[w]:
			i++
		case strings.HasPrefix(w, "-") || w == "run":
		case repo.FS == nil || strings.ContainsAny(w, "*?") || repo.exists(path.Join(c.dir, beforeTest(w))):
			out = append(out, i)
		}
	}
	return out
}

// beforeTest is the file of pytest's FILE::TEST.
func beforeTest(w string) string {
	file, _, _ := strings.Cut(w, "::")
	return file
}

// optionValue are the options of all runners that take the next word.
var optionValue = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`-c --config --rootdir --confcutdir -r --require --import --loader --experimental-loader -p -k -m -o -n -W -X
		--project --projects --setupFilesAfterEnv --maxWorkers -w --reporter -R --reporters --timeout -t --testTimeout --env --test-reporter
		--test-reporter-destination --env-file --ui -u --extension --ignore --cov --cov-report --cov-config --maxfail --durations --tb --pool --root --dir
		-s --package --features --target --profile --manifest-path --ignore-glob --deselect --opts --test-name-pattern --testNamePattern -g --grep
		--coverageDirectory --outputFile --tsconfig --log-file -l --log-level`) {
		out[w] = true
	}
	return out
}()

func (c call) selectPytest(sel selection, repo files) ([]edit, bool) {
	if sel.exact {
		first := insertAt(c.expr.Args[c.named()].End().Offset(), " "+quoteAll(sel.names))
		return append([]edit{first}, c.dropped(c.pathWords(repo))...), true
	}
	if len(sel.names) > 0 && has(c.words[c.named()+1:], "-k") {
		return nil, false
	}
	var edits []edit
	text := ""
	if len(sel.paths) > 0 {
		edits, text = c.dropped(c.pathWords(repo)), " "+quoteAll(sel.paths)
	}
	var terms []string
	for _, n := range sel.names {
		if n, _, _ = strings.Cut(n, "["); !keyword.MatchString(n) {
			return nil, false
		}
		terms = append(terms, strings.ReplaceAll(n, "::", " and "))
	}
	if len(terms) > 0 {
		text += " -k " + quote(strings.Join(terms, " or "))
	}
	return append([]edit{insertAt(c.expr.Args[c.named()].End().Offset(), text)}, edits...), true
}

// keyword is a name that pytest's -k takes.
var keyword = regexp.MustCompile(`^\w+(::\w+)*$`)

// selectUnittest selects by the full name of tests, whatever the call finds:
// files and folders are the modules that they are below where discovery starts.
func (c call) selectUnittest(sel selection) ([]edit, bool) {
	text := ""
	for _, n := range sel.names {
		if sel.exact && c.discovers() == "" { // FILE or MODULE words: they stay, for -k only narrows
			text += " -k " + quote(n)
			continue
		}
		text += " -k " + quote(strings.ReplaceAll(n, "::", "."))
	}
	for _, p := range sel.paths {
		rel := strings.Trim(strings.TrimPrefix(path.Clean(p)+"/", c.discovers()+"/"), "/")
		module := strings.ReplaceAll(strings.TrimSuffix(rel, ".py"), "/", ".")
		if module == "" || module == "." {
			continue
		}
		if len(sel.names) > 0 { // one must hold of both
			return nil, false
		}
		text += " -k " + quote(module+".*")
	}
	return []edit{c.atEnd(text)}, true
}

// discovers is the folder below which unittest names modules; "" is that of the
// call.
func (c call) discovers() string {
	w := c.words[c.named():]
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

// jsNameFlags are by which the runners of JavaScript select names.
var jsNameFlags = map[runner][]string{
	runNode: {"--test-name-pattern"}, runJest: {"-t", "--testNamePattern"},
	runVitest: {"-t", "--testNamePattern"}, runMocha: {"--grep", "-g", "--fgrep", "-f"},
}

func (c call) selectJS(sel selection, repo files) ([]edit, bool) {
	flags := jsNameFlags[c.runner]
	if len(sel.names) > 0 && has(c.words[c.at:], flags...) {
		return nil, false
	}
	var edits []edit
	text := ""
	if c.runner == runVitest && !slices.Contains(c.words[c.at:], "run") && !slices.Contains(c.words[c.at:], "related") {
		text += " run"
	}
	if len(sel.names) > 0 {
		sep := " "
		if c.runner == runNode {
			sep = "="
		}
		text += " " + flags[0] + sep + quote(c.pattern(sel))
	}
	if len(sel.paths) > 0 {
		edits = c.dropped(c.pathWords(repo))
		paths, ok := c.jsPaths(sel.paths, repo)
		if !ok {
			return nil, false
		}
		text += paths
	}
	return append(edits, c.afterOptions(text)...), true
}

// afterOptions puts text behind the options of a call: node reads none that
// stand behind a file.
func (c call) afterOptions(text string) []edit {
	if c.runner == runNode {
		return []edit{c.atEnd(text)} // its files are dropped, or the text holds only options
	}
	if i := slices.Index(c.words, "--"); i > 0 {
		return []edit{insertAt(c.expr.Args[i-1].End().Offset(), text)}
	}
	return []edit{c.atEnd(text)}
}

// pattern is the regular expression that matches the names. Node looks at the
// title of each test and suite by itself, the others at all of them with spaces
// between.
func (c call) pattern(sel selection) string {
	var alternatives []string
	for _, n := range sel.names {
		titles := []string{strings.ReplaceAll(n, between, " ")}
		if c.runner == runNode {
			titles = strings.Split(n, between)
		}
		for _, t := range titles {
			alternatives = append(alternatives, regexp.QuoteMeta(t))
		}
	}
	slices.Sort(alternatives)
	all := "(" + strings.Join(slices.Compact(alternatives), "|") + ")"
	switch {
	case sel.exact && c.runner == runVitest: // some versions put a space before
		return `^\s*` + all + "$"
	case sel.exact:
		return "^" + all + "$"
	}
	return strings.TrimSuffix(strings.TrimPrefix(all, "("), ")")
}

// jsPaths are the words that select files and folders. Node is told every test
// file of a folder, because its versions read folders differently.
func (c call) jsPaths(paths []string, repo files) (string, bool) {
	files := true
	for _, p := range paths {
		files = files && !repo.isDir(path.Join(c.dir, p))
	}
	switch c.runner {
	case runJest:
		if files && len(paths) > 0 && !has(c.words, "--runTestsByPath") {
			return " --runTestsByPath " + quoteAll(paths), true
		}
		quoted := make([]string, len(paths))
		for i, p := range paths {
			quoted[i] = regexp.QuoteMeta(p)
		}
		return " " + quoteAll(quoted), true
	case runMocha:
		if !files && !has(c.words, "--recursive") {
			return " --recursive " + quoteAll(paths), true
		}
	case runNode:
		var all []string
		for _, p := range paths {
			if !repo.isDir(path.Join(c.dir, p)) {
				all = append(all, p)
				continue
			}
			all = append(all, repo.below(c.dir, p, isNodeTest)...)
		}
		return " " + quoteAll(all), len(all) > 0
	}
	return " " + quoteAll(paths), true
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
