package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/regexp"
	"agency/internal/sandbox"
	"agency/internal/testreport"
)

// reader finds the results of one command.
type reader struct {
	waited time.Duration // before it ran
	plan   plan
	res    sandbox.Result
	stdout *spill
	root   *os.Root // the checkout
	before reportFiles
	out    string // the folder of the reports
	roots  []string
	all    bool                  // coverage of everything was asked for
	left   *testreport.Allowance // of what is read of reports
	said   *testreport.Allowance // of what is read of standard output
}

// close removes what was read. What it cannot is swept with the layers.
func (r reader) close() {
	r.stdout.close()
	if r.out != "" {
		_ = beneath.Remove(r.out)
	}
}

// start counts the time of what is read until stop.
func (r reader) start() (stop func()) {
	one, two := r.left.Start(), r.said.Start()
	return func() { two(); one() }
}

// output is standard output from its beginning.
func (r reader) output() io.Reader { return r.said.Of("standard output", r.stdout.read()) }

// cut tells whether a part of standard output is missing.
func (r reader) cut() bool { return r.res.StdoutErr != nil || r.said.Why != "" }

// read finds the results in what a command printed or wrote; ok is false where
// only the exit code counts.
func (r reader) read() (o outcome, ok bool) {
	defer r.start()()
	t, text := testreport.NewTally(), testreport.WholeBefore(r.res.Output, testreport.MaxText)
	complete := true
	if len(r.plan.direct) > 0 {
		text = testreport.NewExcerpt(testreport.MaxText)
		complete, ok = r.printed(t, text)
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
	if !ok && len(r.plan.direct) == 0 && reports == 0 {
		return r.anything(text)
	}
	return outcome{tests: t.List(), text: text, complete: complete && t.Dropped == 0}, ok
}

// printed reads what direct calls printed. Of a command that was ended what is there
// is all.
func (r reader) printed(t *testreport.Tally, text *testreport.Excerpt) (complete, ok bool) {
	complete, ok = r.plan.direct[0].runner.Read(ecosystem.Report{
		Doc: r.output(), Tests: t, Text: text, Repo: r.root, Left: r.said, Cut: r.cut(), Output: r.res.Output,
	})
	return !r.cut() && (complete || r.res.Cause != sandbox.CauseExited), ok || r.res.ExitCode == 0
}

// report reads what one call wrote; text of it that is not in the output goes to
// text.
func (r reader) report(c planned, t *testreport.Tally, text *testreport.Excerpt) (complete, found bool) {
	if c.runner.ReportAt != nil {
		return r.ownReports(c, t)
	}
	complete = true
	for doc := range r.outFiles(filepath.Base(c.base) + c.runner.Reports) {
		whole, ok := c.runner.Read(ecosystem.Report{Doc: doc, At: r.at(c), Tests: t, Text: text})
		found = found || ok
		complete = complete && whole
	}
	return complete && found && r.left.Why == "", found
}

// at turns the paths of a call into those of the repository.
func (r reader) at(c planned) testreport.Paths {
	p := testreport.Paths{Roots: r.roots, Dir: c.Dir}
	if p.Dir == ecosystem.UnknownDir {
		p.Dir = ""
	}
	return p
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
		names, err := fs.Glob(bounded.FS(root), pattern)
		if err != nil || len(names) > maxOutFiles {
			r.left.Refuse("has more than %d files of %s", maxOutFiles, pattern)
			return
		}
		more := true
		for _, name := range names {
			switch path.Ext(name) {
			case ".ndjson", ".json", ".xml", ".log":
				r.left.EachOf(root, func(doc io.Reader) { more = more && yield(doc) }, name)
			}
		}
	}
}

// ownReports reads the files that a runner wrote where it always does, below the
// folder of a call: they lie in the checkout that was tested.
func (r reader) ownReports(c planned, t *testreport.Tally) (complete, found bool) {
	names := r.before.newReports(r.root)
	if c.runner.Kept != nil {
		names = slices.DeleteFunc(reportFiles{}.newReports(r.root), func(name string) bool { return !c.runner.Kept(name) })
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, ok := c.runner.ReportAt(name)
		return !ok || c.Dir != "." && c.Dir != ecosystem.UnknownDir && !strings.HasPrefix(name, c.Dir+"/")
	})
	return r.readReports(names, func(name string) testreport.Paths {
		dir, _ := c.runner.ReportAt(name)
		return testreport.Paths{Dir: dir}
	}, t)
}

// anything reads what no call was asked for: a JUnit report or TAP on standard
// output, or JUnit files that appeared in the checkout.
func (r reader) anything(text *testreport.Excerpt) (outcome, bool) {
	here := testreport.Paths{Dir: "."}
	t := testreport.NewTally()
	if complete, err := testreport.ReadJUnit(r.output(), here, t); err == nil || (t.Size() > 0 && r.cut()) {
		shown := testreport.NewExcerpt(testreport.MaxText)
		_, _ = io.WriteString(shown, failures(t)) // never fails
		_, _ = shown.Write(r.res.Output)
		return outcome{tests: t.List(), text: shown, complete: complete && err == nil && !r.cut() && t.Dropped == 0}, true
	}
	t = testreport.NewTally()
	if complete, ok := r.readReports(r.before.newReports(r.root), func(string) testreport.Paths { return here }, t); ok && t.Size() > 0 {
		return outcome{tests: t.List(), text: text, complete: complete && t.Dropped == 0}, true
	}
	t = testreport.NewTally()
	if complete, ok := testreport.ReadTAP(r.output(), here, t); ok {
		return outcome{tests: t.List(), text: text, complete: complete && !r.cut() && t.Dropped == 0}, true
	}
	return outcome{text: text}, false
}

// failures is the output of the failed tests of a report that is itself the
// output: people want those first.
func failures(t *testreport.Tally) string {
	var b strings.Builder
	for _, r := range t.List() {
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
	defer r.start()()
	if len(r.plan.calls) == 0 || r.res.ExitCode == 0 || r.res.Cause != sandbox.CauseExited {
		return false
	}
	said := refusals.Match(r.res.Output)
	for _, c := range r.plan.calls {
		n := 0
		for doc := range r.outFiles(filepath.Base(c.base) + "*") {
			n++
			if !c.runner.Prints || n > 1 {
				return false
			}
			head, err := io.ReadAll(io.LimitReader(doc, testreport.MaxOutput))
			said = said || err == nil && refusals.Match(head)
		}
	}
	return said
}

// outcome is what a parser read.
type outcome struct {
	tests []agency.TestResult
	text  *testreport.Excerpt // as a person would have seen it, failures first
	// complete is false when results are missing: the output was cut, or a
	// package began and never ended.
	complete bool
}

// count fills the numbers of a receipt from its tests.
func count(r *agency.Receipt) {
	r.Passed, r.Failed, r.Skipped = 0, 0, 0
	for _, t := range r.Tests {
		switch t.Status {
		case agency.TestPassed:
			r.Passed++
		case agency.TestFailed:
			r.Failed++
		default:
			r.Skipped++
		}
	}
}

// Bounds of the report files of one command.
const (
	maxReportFiles = 2000
	maxOutFiles    = 512 // of one call, in the folder for reports
)

// reportFiles is what the XML files of a checkout looked like before a command:
// only those that it wrote are its report.
type reportFiles map[string]string

// findReports lists the XML files of a checkout. Links are not followed.
func findReports(root *os.Root) reportFiles {
	found := reportFiles{}
	_ = ecosystem.WalkCheckout(root, func(name string, d fs.DirEntry) error {
		if !strings.HasSuffix(strings.ToLower(name), ".xml") {
			return nil
		}
		if info, err := d.Info(); err == nil {
			found[name] = fmt.Sprintf("%d %d %s", info.Size(), info.ModTime().UnixNano(), fingerprint.Inode(info))
		}
		if len(found) >= maxReportFiles {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// newReports are the files that appeared or changed since before, sorted.
func (before reportFiles) newReports(root *os.Root) []string {
	var out []string
	for name, sign := range findReports(root) {
		if before[name] != sign {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// readReports reads every JUnit report among the files. ok is false where there
// is none.
func (r reader) readReports(names []string, at func(name string) testreport.Paths, t *testreport.Tally) (complete, ok bool) {
	complete = true
	for _, name := range names {
		f, err := bounded.Open(r.root, name)
		if err != nil {
			continue
		}
		whole, err := testreport.ReadJUnit(r.left.Of(name, f), at(name), t)
		_ = f.Close() // only read
		if !errors.Is(err, testreport.ErrNoJUnit) {
			ok = true
			complete = complete && whole && err == nil
		}
	}
	return complete && r.left.Why == "", ok
}

// maxRead bounds in bytes what is read of a command: of its standard output, and
// of its reports together.
const maxRead = 512 << 20

// errFull says that a command printed more than is read.
var errFull = errors.New("more than is read of an output")

// spill holds standard output for the parsers: in a file, for it may be large,
// that has no name, for nobody else may read or write it.
type spill struct {
	f    *os.File
	left int64
}

// newSpill makes one in the host's own folder of layers, that takes so many bytes.
func newSpill(layers string, limit int64) (*spill, error) {
	base, err := reportsIn(layers)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(base, "o-")
	if err != nil {
		return nil, err
	}
	return &spill{f, limit}, os.Remove(f.Name())
}

// Write fails where there is too much: the sandbox then tells that a part is
// missing.
func (s *spill) Write(p []byte) (int, error) {
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, errFull
	}
	return s.f.Write(p)
}

// read gives what was written, from its beginning.
func (s *spill) read() io.Reader {
	if s == nil {
		return strings.NewReader("")
	}
	return io.NewSectionReader(s.f, 0, 1<<62)
}

func (s *spill) close() {
	if s != nil {
		_ = s.f.Close() // nobody reads it any more
	}
}

// answer holds what a command says that only asks.
type answer struct{ text []byte }

// maxAnswer bounds it, in bytes.
const maxAnswer = 4 << 20

func (a *answer) Write(p []byte) (int, error) {
	if len(a.text)+len(p) > maxAnswer {
		return 0, errFull
	}
	a.text = append(a.text, p...)
	return len(p), nil
}

// reportsDir holds the folders for reports, and outputs while they have a name.
const reportsDir = "reports"

// reportsIn makes it.
func reportsIn(layers string) (string, error) {
	if layers == "" {
		layers = os.TempDir()
	}
	base := filepath.Join(layers, reportsDir)
	return base, os.MkdirAll(base, 0o700)
}

// outPrefix is what the names of those folders begin with, before chance.
const outPrefix = "r-"

// outDir makes a folder for reports.
func outDir(layers string) (string, error) {
	base, err := reportsIn(layers)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(base, outPrefix)
}
