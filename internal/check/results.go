package check

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/sandbox"
)

// Bounds of what runners hand back.
const (
	maxOutFiles = 512
	maxOutBytes = 64 << 20
)

// reader finds the results of one command.
type reader struct {
	plan   plan
	res    sandbox.Result
	root   *os.Root // the checkout
	before reportFiles
	out    string // the folder of the reports
	roots  []string
	all    bool   // coverage of everything was asked for
	close  func() // removes the reports
}

// read finds the results in what a command printed or wrote; ok is false where
// only the exit code counts.
func (r reader) read() (o outcome, ok bool) {
	t := newTally()
	complete, text := true, string(r.res.Output)
	if r.plan.goCalls > 0 {
		g, found := r.goTests()
		ok, complete, text = found, g.complete, g.text
		for _, res := range g.tests {
			t.add(res.Name, res.Status, res.Output)
		}
	}
	reports := 0
	for _, c := range r.plan.calls {
		whole, found, shown := r.report(c, t)
		text += shown
		if found {
			reports++
			ok = true
		}
		complete = complete && whole && found
	}
	if !ok && r.plan.goCalls == 0 && reports == 0 {
		return r.anything(text)
	}
	return outcome{tests: t.list(), text: text, complete: complete && t.dropped == 0}, ok
}

func (r reader) goTests() (outcome, bool) {
	suite, complete := parseGo(r.res.Stdout, r.res.StdoutDropped > 0)
	complete = complete || (r.res.Cause != sandbox.CauseExited && r.res.StdoutDropped == 0)
	o := suite.outcome(complete, stray(r.res.Output), newDeclaredTests(r.root).has)
	return o, suite.results > 0 || r.res.ExitCode == 0
}

// report reads what one call wrote. shown is text of it that is not in the
// output.
func (r reader) report(c planned, t *tally) (complete, found bool, shown string) {
	p := paths{roots: r.roots, dir: c.dir}
	if p.dir == unknownDir {
		p.dir = ""
	}
	switch c.runner {
	case runMaven, runGradle:
		complete, found = r.javaReports(c, t)
		return complete, found, ""
	case runCargo:
		docs := r.outFiles(filepath.Base(c.base) + ".log")
		if len(docs) == 0 {
			return false, false, ""
		}
		complete, found = parseCargo(docs[0], p, t)
		return complete, found, clip(ansi.ReplaceAllString(string(docs[0]), ""), maxOutput)
	}
	complete = true
	for _, doc := range r.outFiles(filepath.Base(c.base) + "*") {
		whole := false
		switch c.runner {
		case runJest, runVitest:
			whole = parseJest(doc, p, t)
		default:
			if looksLikeJUnit(doc) {
				sub := newTally()
				done, err := parseJUnit(doc, sub)
				whole = done && err == nil
				sub.into(t, p)
			} else {
				whole = parseEvents(doc, p, t)
			}
		}
		found = true
		complete = complete && whole
	}
	return complete && found, found, ""
}

// into adds results under the folder of their part.
func (t *tally) into(other *tally, p paths) {
	for _, name := range t.order {
		r := t.results[name]
		other.add(p.local(r.Name), r.Status, r.Output)
	}
}

// outFiles reads the regular files of the report folder that match a pattern,
// in order of their names.
func (r reader) outFiles(pattern string) [][]byte {
	root, err := os.OpenRoot(r.out)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }() // only read
	names, err := fs.Glob(root.FS(), pattern)
	if err != nil || len(names) > maxOutFiles {
		return nil
	}
	var docs [][]byte
	var total int64
	for _, name := range names {
		switch path.Ext(name) {
		case ".ndjson", ".json", ".xml", ".log":
		default:
			continue
		}
		doc := readSome(root, name, maxOutBytes)
		if total += int64(len(doc)); total > maxOutBytes {
			return docs
		}
		if doc != nil {
			docs = append(docs, doc)
		}
	}
	return docs
}

// javaReports reads the XML files that surefire, failsafe or Gradle wrote below
// the folder of a call. What Gradle found up to date is as good as new: the
// files lie in the checkout that was tested.
func (r reader) javaReports(c planned, t *tally) (complete, found bool) {
	names := r.before.newReports(r.root)
	if c.runner == runGradle {
		names = nil
		for name := range findReports(r.root) {
			if strings.Contains(name, "build/test-results/") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	complete = true
	var read int64
	for _, name := range names {
		m := javaReport.FindStringSubmatch(name)
		if m == nil || (c.dir != "." && c.dir != unknownDir && !strings.HasPrefix(name, c.dir+"/")) {
			continue
		}
		doc := readSome(r.root, name, maxReport+1)
		if read += int64(len(doc)); read > maxReportBytes {
			return false, found
		}
		if !looksLikeJUnit(doc) {
			continue
		}
		sub := newTally()
		whole, err := parseJUnit(doc, sub)
		complete = complete && whole && err == nil
		sub.into(t, paths{dir: strings.TrimSuffix(m[1], "/")})
		found = true
	}
	return complete, found
}

// javaReport parts the path of a report at the module's folder.
var javaReport = regexp.MustCompile(`^(.*?)(?:target/(?:surefire|failsafe)-reports|build/test-results)/.*\.xml$`)

// anything reads what no call was asked for: a JUnit report or TAP on standard
// output, or JUnit files that appeared in the checkout.
func (r reader) anything(text string) (outcome, bool) {
	t := newTally()
	cut := r.res.StdoutDropped > 0
	if complete, err := parseJUnit(r.res.Stdout, t); err == nil || (len(t.order) > 0 && cut) {
		return outcome{tests: t.list(), text: failures(t) + text, complete: complete && err == nil && !cut}, true
	}
	if t, complete, ok := readReports(r.root, r.before.newReports(r.root)); ok && len(t.order) > 0 {
		return outcome{tests: t.list(), text: text, complete: complete && t.dropped == 0}, true
	}
	t = newTally()
	if complete, ok := parseTAP(r.res.Stdout, paths{dir: "."}, t); ok {
		return outcome{tests: t.list(), text: text, complete: complete && !cut && t.dropped == 0}, true
	}
	return outcome{text: text}, false
}

// failures is the output of the failed tests of a report that is itself the
// output: people want those first.
func failures(t *tally) string {
	var b strings.Builder
	for _, r := range t.list() {
		if r.Status == agency.TestFailed {
			fmt.Fprintf(&b, "--- FAIL: %s\n%s\n", r.Name, r.Output)
		}
	}
	return b.String()
}

// refusals are what runners say that do not know the options by which they are
// asked.
var refusals = regexp.MustCompile(`(?i)not allowed in NODE_OPTIONS|unrecognized arguments?|unknown (?:cli )?(?:option|argument|parameter)|no such option|unrecognized (?:cli )?(?:option|parameter)|unexpected argument|error importing plugin "agency`)

// refused tells whether a command ended at once because a runner would not be
// asked, so that it has to run as the user wrote it.
func (r reader) refused() bool {
	if len(r.plan.calls) == 0 || r.res.ExitCode == 0 || r.res.Cause != sandbox.CauseExited {
		return false
	}
	text := string(r.res.Output)
	for _, c := range r.plan.calls {
		docs := r.outFiles(filepath.Base(c.base) + "*")
		if c.runner == runCargo && len(docs) == 1 {
			text += string(docs[0])
		} else if len(docs) > 0 {
			return false
		}
	}
	return refusals.MatchString(text)
}

// checkoutFiles is a checkout as the finder of calls reads it.
type checkoutFiles struct{ root *os.Root }

func (c checkoutFiles) readFile(name string) []byte {
	return readSome(c.root, filepath.FromSlash(path.Clean(name)), maxGoMod)
}

// outPrefix is what the names of those folders begin with, before chance.
const outPrefix = "r-"

// reportsDir holds the folders for reports.
const reportsDir = "reports"

// outDir makes a folder for reports; remove is to be called when they are read.
func outDir(layers string) (dir string, remove func(), err error) {
	if layers == "" {
		layers = os.TempDir()
	}
	base := filepath.Join(layers, reportsDir)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(base, outPrefix)
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // what is left is swept with the layers
}
