package check

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"agency/internal/agency"
)

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
	p        paths
	tests    *tally
	targets  map[string]int
	target   string // prefix of the names of the open target
	open     bool   // between "running N tests" and "test result:"
	listing  bool   // result lines still count: the failures' output has not begun
	want     int
	count    int               // of results
	names    map[string]string // of the tests as they are told in full, by what cargo calls them
	seen     map[string]int
	failed   string // test whose output is being read
	output   *kept  // its output
	pending  string // a result line that other output tore in two
	complete bool
	any      bool
}

// parseCargo adds the results of cargo's text to t, and shows it. What a test prints is
// captured by the harness and comes after all results of its target, behind the
// line "failures:", where nothing counts any more.
func parseCargo(text io.Reader, p paths, t *tally, shown *kept) (complete, ok bool) {
	r := &cargoReader{p: p, tests: t, targets: map[string]int{}, complete: true}
	for raw := range lines(text) {
		line := plainLine(raw)
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
	if len(r.targets) >= maxTests {
		r.complete = false
		return
	}
	target = oneLine(target)
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
		r.failed, r.output = cargoSection.FindStringSubmatch(line)[1], newKept(maxTestOutput)
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
	r.tests.add(full, status, nil)
	if _, known := r.tests.results[full]; known && status == agency.TestFailed {
		r.names[name] = full
	}
}

// show gives the test its output whose section has ended.
func (r *cargoReader) show() {
	if res := r.tests.results[r.names[r.failed]]; res != nil && r.failed != "" {
		r.tests.show(res, r.output)
	}
}

// full is a test's name with its target. The line of a documentation test moves
// with every edit above it: its place among those of its item does not.
func (r *cargoReader) full(name string) string {
	if short := docLine.ReplaceAllString(name, ""); short != name {
		name = r.tests.number(r.seen, short)
	}
	return r.p.local(r.target + "::" + oneLine(name))
}

func (r *cargoReader) close(line string) {
	r.open = false
	r.show()
	if r.count != r.want {
		r.complete = false
	}
	if strings.HasPrefix(line, "test result: FAILED") && r.count == 0 {
		r.tests.add(r.p.local(r.target)+PackageFailed, agency.TestFailed, nil)
	}
}
