package check

import (
	"fmt"
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
	names    []string
	seen     map[string]int
	failed   string // test whose output is being read
	pending  string // a result line that other output tore in two
	outputs  map[string]*strings.Builder
	complete bool
	any      bool
}

// parseCargo adds the results of cargo's text to t. What a test prints is
// captured by the harness and comes after all results of its target, behind the
// line "failures:", where nothing counts any more.
func parseCargo(text []byte, p paths, t *tally) (complete, ok bool) {
	r := &cargoReader{p: p, tests: t, targets: map[string]int{}, complete: true}
	for line := range strings.Lines(string(text)) {
		r.line(strings.TrimRight(ansi.ReplaceAllString(line, ""), "\r\n"))
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
		r.names, r.seen, r.outputs, r.failed, r.pending = nil, map[string]int{}, map[string]*strings.Builder{}, "", ""
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
		r.failed = cargoSection.FindStringSubmatch(line)[1]
		r.outputs[r.failed] = &strings.Builder{}
	case r.failed != "":
		if b := r.outputs[r.failed]; b.Len() < 2*maxTestOutput {
			b.WriteString(line + "\n")
		}
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
	r.names = append(r.names, name)
	r.tests.add(r.full(name), status, "")
}

// full is a test's name with its target. The line of a documentation test moves
// with every edit above it: its place among those of its item does not.
func (r *cargoReader) full(name string) string {
	if short := docLine.ReplaceAllString(name, ""); short != name {
		if r.seen[short]++; r.seen[short] > 1 {
			short = fmt.Sprintf("%s (%d)", short, r.seen[short])
		}
		name = short
	}
	return r.p.local(r.target + "::" + oneLine(name))
}

func (r *cargoReader) close(line string) {
	r.open = false
	if len(r.names) != r.want {
		r.complete = false
	}
	r.seen = map[string]int{}
	for _, n := range r.names {
		full := r.full(n)
		res, known := r.tests.results[full]
		if b := r.outputs[n]; known && b != nil && res.Status == agency.TestFailed {
			res.Output = b.String()
		}
	}
	if strings.HasPrefix(line, "test result: FAILED") && len(r.names) == 0 {
		r.tests.add(r.p.local(r.target)+PackageFailed, agency.TestFailed, "")
	}
}
