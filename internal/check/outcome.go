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
	maxNames      = 16 << 20 // of their names together
	maxText       = 2 << 20  // of outcome.text
)

// outcome is what a parser read.
type outcome struct {
	tests []agency.TestResult
	text  *kept // as a person would have seen it, failures first
	// complete is false when results are missing: the output was cut, or a
	// package began and never ended.
	complete bool
}

// tally collects results by name. A test that is reported more than once has
// failed when it failed once, and was skipped only when it was never run. It
// keeps the output of failed tests only, capped one by one and together.
type tally struct {
	order   []*agency.TestResult
	results map[string]*agency.TestResult
	names   int // bytes of all names
	outputs int // bytes of all outputs
	dropped int
}

func newTally() *tally { return &tally{results: map[string]*agency.TestResult{}} }

// full tells whether there is no room for another name.
func (t *tally) full(name string) bool {
	return len(t.order) >= maxTests || t.names+len(name) > maxNames
}

// add adds a result; output may be nil.
func (t *tally) add(name string, status agency.TestStatus, output *kept) {
	r, ok := t.results[name]
	switch {
	case ok && rank(status) <= rank(r.Status):
		return
	case !ok && t.full(name):
		t.dropped++
		return
	case !ok:
		r = &agency.TestResult{Name: strings.Clone(name)} // it may be a piece of something large
		t.order, t.results[r.Name] = append(t.order, r), r
		t.names += len(name)
	}
	r.Status = status
	t.show(r, output)
}

// show sets what is shown of a test.
func (t *tally) show(r *agency.TestResult, output *kept) {
	t.outputs -= len(r.Output)
	r.Output = ""
	if r.Status == agency.TestFailed {
		r.Output = output.clip(min(maxTestOutput, maxAllOutputs-t.outputs))
	}
	t.outputs += len(r.Output)
}

// number tells tests of one name apart by their order. What is counted is
// bounded as the results are.
func (t *tally) number(seen map[string]int, name string) string {
	if seen[name] > 0 || !t.full(name) {
		seen[name]++
	}
	if n := seen[name]; n > 1 {
		return fmt.Sprintf("%s (%d)", name, n)
	}
	return name
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

// list gives the results in order of arrival.
func (t *tally) list() []agency.TestResult {
	out := make([]agency.TestResult, len(t.order))
	for i, r := range t.order {
		out[i] = *r
	}
	return out
}

// clip keeps head and tail of s, at whole lines where there are some.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return clipEnds(s, s, len(s), limit)
}

// clipEnds is clip of a text of so many bytes that begins with head and ends in
// tail.
func clipEnds(head, tail string, all, limit int) string {
	if limit < 64 {
		return ""
	}
	half := (limit - 48) / 2
	head, tail = head[:min(half, len(head))], tail[max(0, len(tail)-half):]
	if i := strings.LastIndexByte(head, '\n'); i > half/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < half/2 {
		tail = tail[i+1:]
	}
	head, tail = strings.ToValidUTF8(head, ""), strings.ToValidUTF8(tail, "")
	return fmt.Sprintf("%s\n%s\n%s", strings.TrimRight(head, "\n"), agency.BytesLeftOut(int64(all-len(head)-len(tail))), tail)
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
