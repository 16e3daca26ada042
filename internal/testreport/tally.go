package testreport

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/text"
)

// Sizes of what is kept of a check. A receipt is read by people and models, so
// it is small; what it leaves out it counts.
const (
	MaxOutput     = 32 << 10 // Receipt.Output
	MaxTestOutput = 4 << 10  // TestResult.Output
	MaxAllOutputs = 64 << 10 // of all tests of a receipt together
	MaxTests      = 50_000   // tests of a receipt
	MaxNames      = 8 << 20  // of their names together
	MaxText       = 2 << 20  // of what a person sees of it
	PerName       = 64       // bytes that a name costs beside its own
)

// Tally collects results by name. A test that is reported more than once has
// failed when it failed once, and was skipped only when it was never run. It
// keeps the output of failed tests only, capped one by one and together.
type Tally struct {
	order   []*agency.TestResult
	results map[string]*agency.TestResult
	names   int // bytes of all names
	counted int // bytes of the names that number told apart
	outputs int // bytes of all outputs
	Dropped int
}

func NewTally() *Tally { return &Tally{results: map[string]*agency.TestResult{}} }

// full tells whether there is no room for another name.
func (t *Tally) full(name string) bool {
	return len(t.order) >= MaxTests || t.names+len(name) > MaxNames
}

// Add adds a result; output may be nil.
func (t *Tally) Add(name string, status agency.TestStatus, output *Excerpt) {
	r, ok := t.results[name]
	switch {
	case ok && Rank(status) <= Rank(r.Status):
		return
	case !ok && t.full(name):
		t.Dropped++
		return
	case !ok:
		r = &agency.TestResult{Name: strings.Clone(name)} // it may be a piece of something large
		t.order, t.results[r.Name] = append(t.order, r), r
		t.names += len(name)
	}
	r.Status = status
	t.Show(name, output)
}

// Has tells whether a test has a result.
func (t *Tally) Has(name string) bool { return t.results[name] != nil }

// Size is how many tests have one.
func (t *Tally) Size() int { return len(t.order) }

// Show sets what is shown of a test that has a result.
func (t *Tally) Show(name string, output *Excerpt) {
	r := t.results[name]
	t.outputs -= len(r.Output)
	r.Output = ""
	if r.Status == agency.TestFailed {
		r.Output = output.Clip(min(MaxTestOutput, MaxAllOutputs-t.outputs))
	}
	t.outputs += len(r.Output)
}

// Number tells tests of one name apart by their order. What is counted is
// bounded as the results are.
func (t *Tally) Number(seen map[string]int, name string) string {
	if seen[name] > 0 {
		seen[name]++
	} else if t.counted+len(name)+PerName <= MaxNames && !t.full(name) {
		t.counted += len(name) + PerName
		seen[strings.Clone(name)] = 1
	}
	if n := seen[name]; n > 1 {
		return fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}

func Rank(s agency.TestStatus) int {
	switch s {
	case agency.TestFailed:
		return 2
	case agency.TestPassed:
		return 1
	default:
		return 0
	}
}

// List gives the results in order of arrival.
func (t *Tally) List() []agency.TestResult {
	out := make([]agency.TestResult, len(t.order))
	for i, r := range t.order {
		out[i] = *r
	}
	return out
}

// Clip keeps head and tail of s, at whole lines where there are some.
func Clip(s string, limit int) string {
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
	return fmt.Sprintf("%s\n%s\n%s", strings.TrimRight(head, "\n"), text.BytesLeftOut(int64(all-len(head)-len(tail))), tail)
}
