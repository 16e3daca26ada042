package check

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"agency/internal/agency"
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

// goPackage is what is known of one package.
type goPackage struct {
	path    string
	open    bool // started and not ended
	failed  bool
	builds  []string // builds that failed and took it with them
	order   []string
	running map[string]bool
	status  map[string]agency.TestStatus
	output  map[string]*strings.Builder // by test; "" is the package itself
}

// goSuite reads the events of one or more runs of go test.
type goSuite struct {
	order   []string
	byPath  map[string]*goPackage
	builds  map[string]*strings.Builder // output by ImportPath
	results int                         // events that were read
}

// maxGoLine bounds one event; go test writes output in pieces of 1 KiB.
const maxGoLine = 1 << 20

// parseGo reads standard output of `go test -json`. Lines that are no events
// are passed over: they are found again in the output of both streams. cut says
// that bytes are missing in the middle.
func parseGo(stdout []byte, cut bool) (*goSuite, bool) {
	s := &goSuite{byPath: map[string]*goPackage{}, builds: map[string]*strings.Builder{}}
	r := bufio.NewReaderSize(bytes.NewReader(stdout), 64<<10)
	for {
		line, err := readLine(r)
		if ev, ok := goLine(line); ok {
			s.results++
			s.event(ev)
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	complete := !cut
	for _, p := range s.byPath {
		complete = complete && !p.open
	}
	return s, complete
}

// readLine gives one line; of one that is too long only the beginning, which is
// then no event.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < maxGoLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// goLine reads a line as an event.
func goLine(line []byte) (goEvent, bool) {
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
	switch ev.Action {
	case "build-output":
		builder(s.builds, ev.ImportPath).WriteString(ev.Output)
		return
	case "build-fail":
		builder(s.builds, ev.ImportPath)
		return
	}
	if ev.Package == "" {
		return
	}
	s.pkg(ev.Package).event(ev)
}

func (s *goSuite) pkg(path string) *goPackage {
	p, ok := s.byPath[path]
	if !ok {
		p = &goPackage{
			path: path, running: map[string]bool{},
			status: map[string]agency.TestStatus{}, output: map[string]*strings.Builder{},
		}
		s.byPath[path] = p
		s.order = append(s.order, path)
	}
	return p
}

func (p *goPackage) event(ev goEvent) {
	switch ev.Action {
	case "start":
		p.open = true
		clear(p.running)
	case "run":
		p.open = true
		p.running[ev.Test] = true
		if _, ok := p.status[ev.Test]; !ok {
			p.status[ev.Test] = ""
			p.order = append(p.order, ev.Test)
		}
	case "output":
		if !framing(ev.Output) {
			builder(p.output, ev.Test).WriteString(ev.Output)
		}
	case "pass", "fail", "skip":
		p.end(ev)
	}
}

// end takes the result of a test or of the whole package. A result of a test
// that is not running is none: only the go command announces tests.
func (p *goPackage) end(ev goEvent) {
	if ev.Test == "" {
		p.open = false
		if ev.Action == "fail" {
			p.failed = true
			if ev.FailedBuild != "" {
				p.builds = append(p.builds, ev.FailedBuild)
			}
		}
		// What still runs when its package ends will have no result any more.
		// A benchmark never has one.
		for t := range p.running {
			if !strings.HasPrefix(t, "Benchmark") {
				p.settle(t, agency.TestFailed)
			}
		}
		clear(p.running)
		return
	}
	if !p.running[ev.Test] {
		return
	}
	delete(p.running, ev.Test)
	p.settle(ev.Test, map[string]agency.TestStatus{
		"pass": agency.TestPassed, "fail": agency.TestFailed, "skip": agency.TestSkipped,
	}[ev.Action])
}

func (p *goPackage) settle(test string, status agency.TestStatus) {
	if old := p.status[test]; old == "" || rank(status) > rank(old) {
		p.status[test] = status
	}
}

// framing tells the lines by which the testing package announces tests.
func framing(line string) bool {
	for _, f := range []string{"=== RUN ", "=== PAUSE", "=== CONT", "=== NAME"} {
		if strings.HasPrefix(line, f) {
			return true
		}
	}
	return false
}

func builder(m map[string]*strings.Builder, key string) *strings.Builder {
	b, ok := m[key]
	if !ok {
		b = new(strings.Builder)
		m[key] = b
	}
	return b
}

// outcome turns the events into results. stray is what was printed beside the
// events; declared tells whether a package declares a top-level test.
func (s *goSuite) outcome(complete bool, stray string, declared func(pkg, test string) bool) outcome {
	t := newTally()
	var failures, packages strings.Builder
	forged := 0
	for _, path := range s.order {
		p := s.byPath[path]
		failed := p.failed
		for _, name := range p.order {
			if !declared(path, topLevel(name)) {
				forged++
				continue
			}
			status, known := p.result(name)
			if !known {
				continue
			}
			out := text(p.output[name])
			if status == agency.TestFailed {
				failed = false
				failures.WriteString(out)
			}
			t.add(path+"."+name, status, out)
		}
		if failed {
			name, out := s.packageFailure(p)
			t.add(name, agency.TestFailed, out)
			failures.WriteString(out)
		}
		packages.WriteString(text(p.output[""]))
	}
	if forged > 0 {
		packages.WriteString("[results of tests that no test file declares were left out]\n")
	}
	return outcome{
		tests: t.list(), complete: complete && t.dropped == 0,
		text: failures.String() + stray + packages.String(),
	}
}

// result is a test's status; a test without one was cut short, which counts as
// failed when its package failed and as unknown when that was cut too.
func (p *goPackage) result(name string) (agency.TestStatus, bool) {
	if s := p.status[name]; s != "" {
		return s, true
	}
	return agency.TestFailed, p.open && !strings.HasPrefix(name, "Benchmark")
}

// packageFailure names a package that failed without a test of it that did:
// it did not build, could not start, or ended before or after its tests.
func (s *goSuite) packageFailure(p *goPackage) (name, out string) {
	own := text(p.output[""])
	for _, b := range p.builds {
		out += text(s.builds[b])
	}
	switch {
	case len(p.builds) > 0, strings.Contains(own, "[build failed]"):
		return p.path + BuildFailed, out
	case strings.Contains(own, "[setup failed]"):
		return p.path + SetupFailed, out + own
	default:
		return p.path + PackageFailed, out + own
	}
}

// The names of what failed in a package as a whole are its path with one of
// these; no test is named so.
const (
	BuildFailed   = " [build failed]"
	SetupFailed   = " [setup failed]"
	PackageFailed = " [failed]"
)

// IsPackage tells whether a failed result is of a package as a whole, and which.
func IsPackage(name string) (pkg string, ok bool) {
	for _, suffix := range []string{BuildFailed, SetupFailed, PackageFailed} {
		if pkg, ok := strings.CutSuffix(name, suffix); ok {
			return pkg, true
		}
	}
	return "", false
}

func topLevel(test string) string {
	top, _, _ := strings.Cut(test, "/")
	return top
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}

// stray is what both streams together show beside the events, in order.
func stray(output []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(output) {
		if bytes.Contains(line, []byte(`"Action":"`)) && slices.ContainsFunc(eventMarks, func(m string) bool {
			return bytes.Contains(line, []byte(m))
		}) {
			continue
		}
		b.Write(line)
	}
	return b.String()
}

// eventMarks tell an event, or a piece of one that a cut left.
var eventMarks = []string{`"Package":"`, `"ImportPath":"`}
