package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/sandbox"
)

// reader finds the results of one command.
type reader struct {
	plan   plan
	res    sandbox.Result
	stdout *spill
	root   *os.Root // the checkout
	before reportFiles
	out    string // the folder of the reports
	roots  []string
	all    bool       // coverage of everything was asked for
	left   *allowance // of what is read of reports
}

// close removes what was read. What it cannot is swept with the layers.
func (r reader) close() {
	r.stdout.close()
	if r.out != "" {
		_ = os.RemoveAll(r.out)
	}
}

// cut tells whether a part of standard output is missing.
func (r reader) cut() bool { return r.res.StdoutErr != nil }

// read finds the results in what a command printed or wrote; ok is false where
// only the exit code counts.
func (r reader) read() (o outcome, ok bool) {
	t, text := newTally(), &kept{half: maxText / 2, head: r.res.Output}
	complete := true
	if r.plan.goCalls > 0 {
		text = newKept(maxText)
		complete, ok = r.goTests(t, text)
	}
	reports := 0
	for _, c := range r.plan.calls {
		whole, found := r.report(c, t, text)
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

func (r reader) goTests(t *tally, text *kept) (complete, ok bool) {
	suite, complete := parseGo(r.stdout.read(), r.cut(), newDeclaredTests(r.root).has)
	suite.into(t, text, r.res.Output)
	complete = complete || (r.res.Cause != sandbox.CauseExited && !r.cut() && !suite.dropped)
	return complete, suite.results > 0 || r.res.ExitCode == 0
}

// report reads what one call wrote; text of it that is not in the output goes to
// text.
func (r reader) report(c planned, t *tally, text *kept) (complete, found bool) {
	p := paths{roots: r.roots, dir: c.dir}
	if p.dir == unknownDir {
		p.dir = ""
	}
	switch c.runner {
	case runMaven, runGradle:
		return r.javaReports(c, t)
	case runCargo:
		for doc := range r.outFiles(filepath.Base(c.base) + ".log") {
			shown := newKept(maxOutput)
			complete, found = parseCargo(doc, p, t, shown)
			_, _ = io.WriteString(text, shown.clip(maxOutput)) // never fails
		}
		return complete && !r.left.cut, found
	}
	complete = true
	for doc := range r.outFiles(filepath.Base(c.base) + "*") {
		whole := false
		switch in := bufio.NewReaderSize(doc, maxXMLHead); c.runner {
		case runJest, runVitest:
			whole = parseJest(in, p, t)
		default:
			var err error
			if whole, err = parseJUnit(in, p, t); errors.Is(err, errNoJUnit) {
				whole = parseEvents(in, p, t)
			}
		}
		found = true
		complete = complete && whole
	}
	return complete && found && !r.left.cut, found
}

// outFiles opens the regular files of the report folder that match a pattern, in
// order of their names.
func (r reader) outFiles(pattern string) iter.Seq[io.Reader] {
	return func(yield func(io.Reader) bool) {
		root, err := os.OpenRoot(r.out)
		if err != nil {
			return
		}
		defer func() { _ = root.Close() }() // only read
		names, err := fs.Glob(root.FS(), pattern)
		if err != nil || len(names) > maxOutFiles {
			return
		}
		more := true
		for _, name := range names {
			switch path.Ext(name) {
			case ".ndjson", ".json", ".xml", ".log":
				r.left.each(root, func(doc io.Reader) { more = more && yield(doc) }, name)
			}
		}
	}
}

// javaReports reads the XML files that surefire, failsafe or Gradle wrote below
// the folder of a call. What Gradle found up to date is as good as new: the
// files lie in the checkout that was tested.
func (r reader) javaReports(c planned, t *tally) (complete, found bool) {
	names := r.before.newReports(r.root)
	if c.runner == runGradle {
		names = slices.DeleteFunc(reportFiles{}.newReports(r.root), func(name string) bool {
			return !strings.Contains(name, "build/test-results/")
		})
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !javaReport.MatchString(name) || (c.dir != "." && c.dir != unknownDir && !strings.HasPrefix(name, c.dir+"/"))
	})
	return r.readReports(names, func(name string) paths {
		return paths{dir: strings.TrimSuffix(javaReport.FindStringSubmatch(name)[1], "/")}
	}, t)
}

// javaReport parts the path of a report at the module's folder.
var javaReport = regexp.MustCompile(`^(.*?)(?:target/(?:surefire|failsafe)-reports|build/test-results)/.*\.xml$`)

// anything reads what no call was asked for: a JUnit report or TAP on standard
// output, or JUnit files that appeared in the checkout.
func (r reader) anything(text *kept) (outcome, bool) {
	here := paths{dir: "."}
	t := newTally()
	if complete, err := parseJUnit(r.stdout.read(), here, t); err == nil || (len(t.order) > 0 && r.cut()) {
		shown := newKept(maxText)
		_, _ = io.WriteString(shown, failures(t)) // never fails
		_, _ = shown.Write(r.res.Output)
		return outcome{tests: t.list(), text: shown, complete: complete && err == nil && !r.cut() && t.dropped == 0}, true
	}
	t = newTally()
	if complete, ok := r.readReports(r.before.newReports(r.root), func(string) paths { return here }, t); ok && len(t.order) > 0 {
		return outcome{tests: t.list(), text: text, complete: complete && t.dropped == 0}, true
	}
	t = newTally()
	if complete, ok := parseTAP(r.stdout.read(), here, t); ok {
		return outcome{tests: t.list(), text: text, complete: complete && !r.cut() && t.dropped == 0}, true
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
	said := refusals.Match(r.res.Output)
	for _, c := range r.plan.calls {
		n := 0
		for doc := range r.outFiles(filepath.Base(c.base) + "*") {
			n++
			if c.runner != runCargo || n > 1 {
				return false
			}
			head, err := io.ReadAll(io.LimitReader(doc, maxOutput))
			said = said || err == nil && refusals.Match(head)
		}
	}
	return said
}

// checkoutFiles is a checkout as the finder of calls reads it.
type checkoutFiles struct{ root *os.Root }

func (c checkoutFiles) readFile(name string) []byte {
	return readSome(c.root, filepath.FromSlash(path.Clean(name)), maxGoMod)
}
