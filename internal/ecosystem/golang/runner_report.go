package golang

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

// goEvent is one line of `go test -json` (go doc test2json).
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of build-output and build-fail
	FailedBuild string
}

// goTestRun is what is known of one test.
type goTestRun struct {
	name   string
	status agency.TestStatus
	output *testreport.Excerpt
}

// goPackage is what is known of one package.
type goPackage struct {
	path    string
	open    bool // started and not ended
	failed  bool
	builds  []string // builds that failed and took it with them
	order   []*goTestRun
	tests   map[string]*goTestRun
	running map[string]*goTestRun
	output  *testreport.Excerpt // its own
	mark    string              // of BuildFailed or SetupFailed, as the go command says it
}

// goSuite reads the events of one or more runs of go test. Names are bounded as
// those of a tally are, outputs together.
type goSuite struct {
	declared func(pkg, test string) bool // tells whether a package declares a top-level test
	order    []*goPackage
	byPath   map[string]*goPackage
	builds   map[string]**testreport.Excerpt // output by ImportPath
	room     *testreport.Room
	count    int  // of packages, builds and tests
	names    int  // bytes of their names
	dropped  bool // there were too many
	forged   bool // there were tests that nothing declares
	results  int  // events that were read
}

// Bounds of a package.
const (
	maxBuilds  = 16  // builds that took it with them
	perPackage = 400 // bytes that it costs beside its name
)

// parseGo reads standard output of `go test -json`. Lines that are no events
// are passed over: they are found again in the output of both streams. cut says
// that bytes are missing.
func parseGo(stdout io.Reader, cut bool, declared func(pkg, test string) bool) (*goSuite, bool) {
	s := &goSuite{declared: declared, byPath: map[string]*goPackage{}, builds: map[string]**testreport.Excerpt{}, room: testreport.NewRoom()}
	for line := range testreport.Lines(stdout) {
		if ev, ok := eventOf(line); ok {
			s.results++
			s.event(ev)
		}
	}
	complete := !cut && !s.dropped
	for _, p := range s.order {
		complete = complete && !p.open
	}
	return s, complete
}

// readTests reads what calls printed. That there were too many is told by the tally.
func readTests(r ecosystem.Report) (complete, ok bool) {
	suite, complete := parseGo(r.Doc, r.Cut, newDeclaredTests(r.Repo, r.Left).has)
	suite.into(r.Tests, r.Text, r.Output)
	if suite.dropped {
		r.Tests.Dropped++
	}
	return complete, suite.results > 0
}

// name makes room for one name more.
func (s *goSuite) name(name string) bool {
	return s.take(1, len(name))
}

// take makes room for so many names, and bytes.
func (s *goSuite) take(names, bytes int) bool {
	if s.count+names > 2*testreport.MaxTests || s.names+bytes > testreport.MaxNames {
		s.dropped = true
		return false
	}
	s.count += names
	s.names += bytes
	return true
}

// eventOf reads a line as an event.
func eventOf(line []byte) (goEvent, bool) {
	line = bytes.TrimSpace(line)
	if len(line) < 2 || line[0] != '{' || !bytes.Contains(line, []byte(`"Action":`)) {
		return goEvent{}, false
	}
	var ev goEvent
	if err := json.Unmarshal(line, &ev); err != nil || ev.Action == "" {
		return goEvent{}, false
	}
	return ev, ev.Package != "" || ev.ImportPath != ""
}

func (s *goSuite) event(ev goEvent) {
	switch {
	case ev.Action == "build-output":
		b, ok := s.builds[ev.ImportPath]
		if !ok && s.name(ev.ImportPath) {
			b = new(*testreport.Excerpt)
			s.builds[ev.ImportPath] = b
		}
		if b != nil {
			s.room.Write(b, ev.Output)
		}
	case ev.Package != "":
		p, ok := s.byPath[ev.Package]
		if !ok && s.take(1, len(ev.Package)+perPackage) {
			p = &goPackage{path: ev.Package, tests: map[string]*goTestRun{}, running: map[string]*goTestRun{}}
			s.byPath[p.path], s.order = p, append(s.order, p)
		}
		if p != nil {
			s.inPackage(p, ev)
		}
	}
}

func (s *goSuite) inPackage(p *goPackage, ev goEvent) {
	switch ev.Action {
	case "start":
		p.open = true
		clear(p.running)
	case "run":
		p.open = true
		s.run(p, ev.Test)
	case "output":
		if !framing(ev.Output) {
			s.output(p, ev)
		}
	case "pass", "fail", "skip":
		s.end(p, ev)
	}
}

// run takes the announcement of a test.
func (s *goSuite) run(p *goPackage, name string) {
	t := p.tests[name]
	if top, _, _ := strings.Cut(name, "/"); t == nil {
		if !s.declared(p.path, top) {
			s.forged = true
			return
		}
		if !s.name(name) {
			return
		}
		t = &goTestRun{name: name}
		p.tests[name], p.order = t, append(p.order, t)
	}
	p.running[name] = t
}

// output keeps what can still be asked for: not of a test that is known to have
// passed.
func (s *goSuite) output(p *goPackage, ev goEvent) {
	if ev.Test == "" {
		if !counted.MatchString(ev.Output) {
			s.room.Write(&p.output, ev.Output)
		}
		for _, mark := range []string{testreport.BuildFailed, testreport.SetupFailed} {
			if p.mark != testreport.BuildFailed && strings.Contains(ev.Output, mark[1:]) {
				p.mark = mark
			}
		}
		return
	}
	if t := p.tests[ev.Test]; t != nil && (p.running[ev.Test] != nil || t.status == "" || t.status == agency.TestFailed) {
		s.room.Write(&t.output, ev.Output)
	}
}

// end takes the result of a test or of the whole package. A result of a test
// that is not running is none: only the go command announces tests.
func (s *goSuite) end(p *goPackage, ev goEvent) {
	if ev.Test == "" {
		p.open = false
		if ev.Action == "fail" {
			p.failed = true
			if ev.FailedBuild != "" && len(p.builds) < maxBuilds && !slices.Contains(p.builds, ev.FailedBuild) && s.name(ev.FailedBuild) {
				p.builds = append(p.builds, ev.FailedBuild)
			}
		}
		// What still runs when its package ends will have no result any more.
		// A benchmark never has one.
		for name, t := range p.running {
			if !strings.HasPrefix(name, "Benchmark") {
				t.settle(agency.TestFailed)
			}
		}
		clear(p.running)
		return
	}
	t := p.running[ev.Test]
	if t == nil {
		return
	}
	delete(p.running, ev.Test)
	t.settle(map[string]agency.TestStatus{
		"pass": agency.TestPassed, "fail": agency.TestFailed, "skip": agency.TestSkipped,
	}[ev.Action])
	if t.status != agency.TestFailed {
		s.room.Drop(&t.output)
	}
}

func (t *goTestRun) settle(status agency.TestStatus) {
	if t.status == "" || testreport.Rank(status) > testreport.Rank(t.status) {
		t.status = status
	}
}

// counted are the lines of a package in which nothing stands that its results do not
// say: hundreds of them in a large repository.
var counted = regexp.MustCompile(`^(PASS|FAIL|ok  \t\S+\t[\d.]+s|\?   \t\S+\t\[no test files\])\n$`)

// framing tells the lines by which the testing package announces tests.
func framing(line string) bool {
	return slices.ContainsFunc([]string{"=== RUN ", "=== PAUSE", "=== CONT", "=== NAME"}, func(f string) bool { return strings.HasPrefix(line, f) })
}

// into turns the events into results, and into text: failures first, then what
// output shows beside the events, then what packages say.
func (s *goSuite) into(t *testreport.Tally, text io.Writer, output []byte) {
	show := func(text io.Writer, out string) { _, _ = io.WriteString(text, out) } // to memory
	for _, p := range s.order {
		failed := p.failed
		for _, run := range p.order {
			status, known := run.result(p)
			if !known {
				continue
			}
			if status == agency.TestFailed {
				failed = false
				show(text, run.output.Clip(testreport.MaxOutput))
			}
			t.Add(p.path+"."+run.name, status, run.output)
		}
		if failed {
			name, out := s.packageFailure(p)
			t.Add(name, agency.TestFailed, testreport.Whole(out))
			show(text, out)
		}
	}
	stray(output, text)
	for _, p := range s.order {
		show(text, p.output.Clip(testreport.MaxOutput))
	}
	if s.forged {
		show(text, "[results of tests that no test file declares were left out]\n")
	}
}

// result is a test's status; a test without one was cut short, which counts as
// failed when its package failed and as unknown when that was cut too.
func (t *goTestRun) result(p *goPackage) (agency.TestStatus, bool) {
	if t.status != "" {
		return t.status, true
	}
	return agency.TestFailed, p.open && !strings.HasPrefix(t.name, "Benchmark")
}

// packageFailure names a package that failed without a test of it that did:
// it did not build, could not start, or ended before or after its tests.
func (s *goSuite) packageFailure(p *goPackage) (name, out string) {
	own := p.output.Clip(testreport.MaxOutput)
	for _, b := range p.builds {
		if build := s.builds[b]; build != nil {
			out += (*build).Clip(testreport.MaxOutput)
		}
	}
	switch {
	case len(p.builds) > 0, p.mark == testreport.BuildFailed:
		return p.path + testreport.BuildFailed, out
	case p.mark == testreport.SetupFailed:
		return p.path + testreport.SetupFailed, out + own
	default:
		return p.path + testreport.PackageFailed, out + own
	}
}

// stray shows what both streams together show beside the events, in order.
func stray(output []byte, text io.Writer) {
	for line := range bytes.Lines(output) {
		if bytes.Contains(line, []byte(`"Action":"`)) && slices.ContainsFunc(eventMarks, func(m string) bool {
			return bytes.Contains(line, []byte(m))
		}) {
			continue
		}
		_, _ = text.Write(line) // never fails
	}
}

// eventMarks tell an event, or a piece of one that a cut left.
var eventMarks = []string{`"Package":"`, `"ImportPath":"`}
