package check

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// Sizes of what is kept of a check. A receipt is read by people and models, so
// it is small; what it leaves out it counts.
const (
	maxOutput     = 32 << 10 // Receipt.Output
	maxTestOutput = 4 << 10  // TestResult.Output
	maxAllOutputs = 64 << 10 // of all tests of a receipt together
	maxTests      = 50_000   // tests of a receipt
)

// outcome is what a parser read.
type outcome struct {
	tests []agency.TestResult
	text  string // as a person would have seen it, failures first
	// complete is false when results are missing: the output was cut, or a
	// package began and never ended.
	complete bool
}

// tally collects results by name. A test that is reported more than once has
// failed when it failed once, and was skipped only when it was never run.
type tally struct {
	order   []string
	results map[string]*agency.TestResult
	dropped int
}

func newTally() *tally { return &tally{results: map[string]*agency.TestResult{}} }

func (t *tally) add(name string, status agency.TestStatus, output string) {
	r, ok := t.results[name]
	if !ok {
		if len(t.order) >= maxTests {
			t.dropped++
			return
		}
		t.order = append(t.order, name)
		t.results[name] = &agency.TestResult{Name: name, Status: status, Output: output}
		return
	}
	if rank(status) > rank(r.Status) {
		r.Status, r.Output = status, output
	}
}

func rank(s agency.TestStatus) int {
	switch s {
	case agency.TestFailed:
		return 2
	case agency.TestPassed:
		return 1
	default:
		return 0
	}
}

// list gives the results in order of arrival, with the output of failed tests
// only, capped one by one and together.
func (t *tally) list() []agency.TestResult {
	out := make([]agency.TestResult, 0, len(t.order))
	left := maxAllOutputs
	for _, name := range t.order {
		r := *t.results[name]
		if r.Status != agency.TestFailed {
			r.Output = ""
		}
		r.Output = clip(r.Output, min(maxTestOutput, left))
		left -= len(r.Output)
		out = append(out, r)
	}
	return out
}

// clip keeps head and tail of s, at whole lines where there are some.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if limit < 64 {
		return ""
	}
	half := (limit - 48) / 2
	head, tail := s[:half], s[len(s)-half:]
	if i := strings.LastIndexByte(head, '\n'); i > half/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < half/2 {
		tail = tail[i+1:]
	}
	head, tail = strings.ToValidUTF8(head, ""), strings.ToValidUTF8(tail, "")
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", strings.TrimRight(head, "\n"), len(s)-len(head)-len(tail), tail)
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
