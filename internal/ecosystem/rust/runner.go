package rust

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
	"agency/internal/text"
)

func runners() []ecosystem.Runner {
	test, nextest := cargoRunner("test"), cargoRunner("nextest")
	test.Reports, test.Prints = ".log", true
	test.Read = func(r ecosystem.Report) (complete, ok bool) {
		shown := testreport.NewExcerpt(testreport.MaxOutput)
		complete, ok = readCargo(r.Doc, r.At, r.Tests, shown)
		_, _ = io.WriteString(r.Text, shown.Clip(testreport.MaxOutput)) // never fails
		return complete, ok
	}
	test.Pick = func(test string) (file, name string) {
		_, name, _ = strings.Cut(test, "::")
		return "", name
	}
	nextest.Reports, nextest.Read = "*", ecosystem.ReadReporter
	return []ecosystem.Runner{test, nextest}
}

// cargoRunner is what cargo's two runners have in common.
func cargoRunner(subcommand string) ecosystem.Runner {
	of := func(c ecosystem.Call) cargoCall { return cargoCall{c, subcommand == "nextest"} }
	return ecosystem.Runner{
		Name: "cargo " + subcommand,
		Runs: func(words []string) bool { return cargoRuns(words) == subcommand },
		Ask:  func(c ecosystem.Call, q ecosystem.Query) (ecosystem.Asked, bool) { return of(c).ask(q) },
		Select: func(c ecosystem.Call, s ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
			return of(c).pick(s, repo)
		},
		Names: func(test string) bool {
			return strings.Contains(test, "::") && !strings.Contains(test, " doc::") && !strings.Contains(test, ".py::")
		},
		Sources:  []string{".rs"},
		Language: ecosystem.Rust,
		Affected: func(c ecosystem.Call, a ecosystem.Affected, _ ecosystem.Repo) ([]ecosystem.Edit, func(string) bool, bool) {
			edits, ok := of(c).crates(a)
			return edits, nil, ok
		},
	}
}

// cargoCall is a call of cargo that tests.
type cargoCall struct {
	ecosystem.Call
	nextest bool
}

// pick selects by the filters of the test binary, and packages by folder.
func (c cargoCall) pick(sel ecosystem.Selection, repo ecosystem.Repo) ([]ecosystem.Edit, bool) {
	var filters []string
	options := ""
	for _, p := range sel.Paths {
		o, filter, ok := c.rustPath(p, repo)
		if !ok {
			return nil, false
		}
		options += o
		if filter != "" {
			filters = append(filters, filter)
		}
	}
	edits := []ecosystem.Edit{c.After(c.subcommand(), options)}
	if c.nextest {
		return append(edits, c.filters(append(filters, sel.Names...), sel.Exact)...), true
	}
	filters = append(filters, sel.Names...)
	if len(filters) == 0 {
		return edits, true
	}
	text := " --"
	if slices.Contains(c.Words, "--") {
		text = ""
	}
	if sel.Exact {
		text += " --exact"
	}
	return append(edits, c.AtEnd(text+" "+ecosystem.QuoteAll(filters))), true
}

// subcommand is the index of the last word of `cargo +x test`, `cargo nextest run`.
func (c cargoCall) subcommand() int {
	at := c.At + 1
	for strings.HasPrefix(c.Words[at], "+") {
		at++
	}
	if c.nextest {
		at++
	}
	return at
}

// filters are those of nextest: the binary's id and the test's name stand in a receipt with
// a dot between.
func (c cargoCall) filters(names []string, exact bool) []ecosystem.Edit {
	if len(names) == 0 {
		return nil
	}
	var terms []string
	for _, n := range names {
		if id, test, ok := strings.Cut(n, "."); exact && ok {
			terms = append(terms, "(binary_id(="+id+") and test(="+test+"))")
			continue
		}
		terms = append(terms, "test("+n+")")
	}
	return []ecosystem.Edit{c.After(c.subcommand(), " -E "+ecosystem.Quote(strings.Join(terms, " or ")))}
}

// rustPath is how a file or folder is selected: the package of the nearest
// Cargo.toml, an integration test by its name, a source by its module.
func (c cargoCall) rustPath(p string, repo ecosystem.Repo) (options, filter string, ok bool) {
	full := path.Join(c.Dir, p)
	dir := full
	for !repo.Has(path.Join(dir, "Cargo.toml")) {
		if dir == "." || dir == c.Dir {
			return "", "", false
		}
		dir = path.Dir(dir)
	}
	manifest := string(repo.Text(path.Join(dir, "Cargo.toml")))
	name := readManifest(dir, manifest, nil).Name
	if name == "" {
		return "", "", full == dir
	}
	options = " -p " + ecosystem.Quote(name)
	rest := strings.TrimPrefix(strings.TrimPrefix(full, dir), "/")
	switch {
	case full == dir, rest == "src", rest == "src/lib.rs", rest == "src/main.rs":
	case strings.HasPrefix(rest, "tests/") && path.Ext(rest) == ".rs":
		test, _, _ := strings.Cut(strings.TrimPrefix(rest, "tests/"), "/")
		options += " --test " + ecosystem.Quote(strings.TrimSuffix(test, ".rs"))
	case strings.HasPrefix(rest, "src/"):
		module := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(rest, "src/"), ".rs"), "/mod")
		filter = strings.ReplaceAll(module, "/", "::") + "::"
	case rest == "tests":
		options += " --test '*'"
	default:
		return "", "", false
	}
	return options, filter, true
}

// crates names the affected packages to cargo.
func (c cargoCall) crates(a ecosystem.Affected) ([]ecosystem.Edit, bool) {
	if len(a.Packages) == 0 || len(a.Packages) >= len(a.All) ||
		ecosystem.HasWord(c.Words, "-p", "--package", "--exclude", "--manifest-path", "-C", "--lib", "--bin", "--bins", "--test", "--tests", "--example", "--doc", "--features", "-F") {
		return nil, false
	}
	var edits []ecosystem.Edit
	for i, w := range c.Words {
		if w == "--" {
			break
		}
		if w == "--workspace" || w == "--all" {
			edits = append(edits, c.Dropped([]int{i})...)
		}
	}
	text := ""
	for _, p := range a.Packages {
		text += " -p " + ecosystem.Quote(p)
	}
	return append([]ecosystem.Edit{c.After(c.subcommand(), text)}, edits...), true // what is put in stands before what is dropped
}

// ask has a call go on after a failure, and write its results to a file: cargo all
// that it prints, nextest a report.
func (c cargoCall) ask(q ecosystem.Query) (ecosystem.Asked, bool) {
	if c.Script != "" {
		return ecosystem.Asked{}, false
	}
	text := ""
	if !ecosystem.HasWord(c.Words, "--no-fail-fast", "--fail-fast") {
		text = " --no-fail-fast"
	}
	if c.nextest {
		config := filepath.Join(q.Lib, path.Base(q.Base)+".toml")
		text += " --tool-config-file agency:" + ecosystem.Quote(config)
		report := fmt.Sprintf("[profile.%s.junit]\npath = %q\n", c.profile(), q.Base+".xml")
		return ecosystem.Asked{Edits: []ecosystem.Edit{c.After(c.subcommand(), text)}, Files: map[string][]byte{config: []byte(report)}}, !c.Loop
	}
	edits := []ecosystem.Edit{c.After(c.subcommand(), text), c.AtEnd(" >>" + ecosystem.Quote(q.Base+".log") + " 2>&1")}
	return ecosystem.Asked{Edits: edits}, !c.Redirected
}

// profile is the profile of nextest that a call names.
func (c cargoCall) profile() string {
	for i, w := range c.Words {
		if (w == "-P" || w == "--profile") && i+1 < len(c.Words) {
			return fmt.Sprintf("%q", c.Words[i+1])
		}
		if name, ok := strings.CutPrefix(w, "--profile="); ok {
			return fmt.Sprintf("%q", name)
		}
	}
	return "default"
}

// cargoRuns tells which subcommand words run, where it runs tests and tells their names.
func cargoRuns(w []string) string {
	args := w[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "+") {
		args = args[1:]
	}
	switch {
	case path.Base(w[0]) != "cargo", len(args) == 0, ecosystem.HasWord(args, "--no-run", "--help", "-h", "--list", "--message-format", "-q", "--quiet", "--format", "--nocapture", "--no-capture", "--show-output"):
	case args[0] == "test" || args[0] == "t":
		return "test"
	case args[0] == "nextest" && len(args) > 1 && (args[1] == "run" || args[1] == "r"):
		return "nextest"
	}
	return ""
}

// The text of `cargo test`, which is stable: cargo says which target it runs,
// the target how many tests it has, then a line a test.
var (
	cargoRunning = regexp.MustCompile(`^\s+Running (?:unittests )?(\S+) \((.+)\)$`)
	cargoOld     = regexp.MustCompile(`^\s+Running (\S*target/\S+)$`)
	cargoDoc     = regexp.MustCompile(`^\s+Doc-tests (\S+)$`)
	cargoCount   = regexp.MustCompile(`^running (\d+) tests?$`)
	cargoTest    = regexp.MustCompile(`^test (.+?) \.\.\. (.*)$`)
	cargoResult  = regexp.MustCompile(`^test result: (ok|FAILED)\.`)
	cargoEnd     = regexp.MustCompile(`(?:^|\W)(ok|FAILED|ignored(?:, .*)?)(?: <[0-9.]+s>)?$`)
	cargoSection = regexp.MustCompile(`^---- (.+) (?:stdout|stderr) ----$`)
	docLine      = regexp.MustCompile(` \(line \d+\)`)
	cargoHash    = regexp.MustCompile(`-[0-9a-f]{16}$`)
)

// cargoReader reads the targets of one or more runs in order.
type cargoReader struct {
	p        testreport.Paths
	tests    *testreport.Tally
	targets  map[string]int
	target   string // prefix of the names of the open target
	open     bool   // between "running N tests" and "test result:"
	listing  bool   // result lines still count: the failures' output has not begun
	want     int
	count    int               // of results
	names    map[string]string // of the tests as they are told in full, by what cargo calls them
	seen     map[string]int
	failed   string              // test whose output is being read
	output   *testreport.Excerpt // its output
	pending  string              // a result line that other output tore in two
	complete bool
	any      bool
}

// readCargo adds the results of cargo's text to t, and shows it. What a test prints is
// captured by the harness and comes after all results of its target, behind the
// line "failures:", where nothing counts any more.
func readCargo(text io.Reader, p testreport.Paths, t *testreport.Tally, shown *testreport.Excerpt) (complete, ok bool) {
	r := &cargoReader{p: p, tests: t, targets: map[string]int{}, complete: true}
	for raw := range testreport.Lines(text) {
		line := testreport.PlainLine(raw)
		_, _ = io.WriteString(shown, line+"\n") // never fails
		r.line(line)
	}
	return r.complete && !r.open, r.any
}

func (r *cargoReader) line(line string) {
	if r.open {
		r.inside(line)
		return
	}
	switch {
	case cargoRunning.MatchString(line):
		m := cargoRunning.FindStringSubmatch(line)
		r.begin(targetName(m[2], m[1]))
	case cargoOld.MatchString(line):
		r.begin(targetName(cargoOld.FindStringSubmatch(line)[1], ""))
	case cargoDoc.MatchString(line):
		r.begin(cargoDoc.FindStringSubmatch(line)[1] + " doc")
	case cargoCount.MatchString(line):
		n, err := strconv.Atoi(cargoCount.FindStringSubmatch(line)[1])
		if err != nil {
			n = -1
		}
		r.open, r.listing, r.want, r.any = true, true, n, true
		r.count, r.names, r.seen, r.failed, r.pending = 0, map[string]string{}, map[string]int{}, "", ""
	}
}

// targetName is the crate or test that a binary was built from.
func targetName(binary, source string) string {
	name := cargoHash.ReplaceAllString(strings.TrimSuffix(path.Base(strings.ReplaceAll(binary, `\`, "/")), ".exe"), "")
	if source == "" || source == "src/lib.rs" || strings.HasPrefix(source, "tests/") {
		return name
	}
	return name + " (" + source + ")"
}

func (r *cargoReader) begin(target string) {
	if len(r.targets) >= testreport.MaxTests {
		r.complete = false
		return
	}
	target = text.OneLine(target, 500)
	if r.targets[target]++; r.targets[target] > 1 {
		target = fmt.Sprintf("%s#%d", target, r.targets[target])
	}
	r.target = target
}

func (r *cargoReader) inside(line string) {
	switch {
	case cargoResult.MatchString(line):
		r.close(line)
	case line == "failures:":
		r.listing = false
	case r.listing:
		r.result(line)
	case cargoSection.MatchString(line):
		r.show()
		r.failed, r.output = cargoSection.FindStringSubmatch(line)[1], testreport.NewExcerpt(testreport.MaxTestOutput)
	case r.failed != "":
		_, _ = io.WriteString(r.output, line+"\n") // never fails
	}
}

func (r *cargoReader) result(line string) {
	name, rest := r.pending, line
	if m := cargoTest.FindStringSubmatch(line); m != nil {
		name, rest = m[1], m[2]
	}
	end := cargoEnd.FindStringSubmatch(rest)
	if name == "" || end == nil || (r.pending != "" && name == r.pending && rest != end[0]) {
		if m := cargoTest.FindStringSubmatch(line); m != nil {
			r.pending = m[1]
		}
		return
	}
	r.pending = ""
	name = strings.TrimSuffix(name, " - should panic")
	status := agency.TestSkipped
	switch end[1] {
	case "ok":
		status = agency.TestPassed
	case "FAILED":
		status = agency.TestFailed
	}
	r.count++
	full := r.full(name)
	r.tests.Add(full, status, nil)
	if status == agency.TestFailed && r.tests.Has(full) {
		r.names[text.OneLine(name, 500)] = full
	}
}

// show gives the test its output whose section has ended.
func (r *cargoReader) show() {
	if full := r.names[text.OneLine(r.failed, 500)]; r.failed != "" && full != "" {
		r.tests.Show(full, r.output)
	}
}

// full is a test's name with its target. The line of a documentation test moves
// with every edit above it: its place among those of its item does not.
func (r *cargoReader) full(name string) string {
	if short := docLine.ReplaceAllString(name, ""); short != name {
		name = r.tests.Number(r.seen, short)
	}
	return r.p.Local(r.target + "::" + text.OneLine(name, 500))
}

func (r *cargoReader) close(line string) {
	r.open = false
	r.show()
	if r.count != r.want {
		r.complete = false
	}
	if strings.HasPrefix(line, "test result: FAILED") && r.count == 0 {
		r.tests.Add(r.p.Local(r.target)+testreport.PackageFailed, agency.TestFailed, nil)
	}
}
