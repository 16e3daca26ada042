package suite

import (
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

// volatile is what names hold that differs from run to run: addresses, ids,
// times, durations, temporary folders, long numbers. Plain names hold some of it
// too, so that it decides only of a name that two runs do not share.
var volatile = regexp.MustCompile(`0x[0-9a-fA-F]{4,}` +
	`|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}` +
	`|(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s\])]*` +
	`|\d{4}-\d\d-\d\d(?:[T _]\d\d[:.h-]?\d\d(?:[:.m-]?\d\d)?(?:[.,]\d+)?Z?)?|\d\d:\d\d:\d\d(?:[.,]\d+)?` +
	`|(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ns|µs|μs|us|ms|s)\b` +
	`|\b[0-9a-f]{10,}\b|\d{6,}`)

// Folding is what tests are judged by whose names differ from run to run.
type Folding struct {
	// running are names with shorter numbers, such as ports and seeds: each run
	// has one that the other lacks, and but for the numbers they are the same.
	running map[string]bool
	// steady are names that look so and are known all the same: two runs share
	// them, or the contract names them.
	steady map[string]bool
	folded map[string]int // by what is judged in their place, how many
}

// Stable tells what tests of two runs are judged by: a name that looks as if it
// differed from run to run is a name of its own only where both runs have it.
func Stable(a, b map[string]agency.TestStatus, named []agency.Check) *Folding {
	f := &Folding{steady: map[string]bool{}, folded: map[string]int{}, running: numbered(a, b)}
	for name := range a {
		if _, both := b[name]; both && volatileAt(name, volatile) >= 0 {
			f.steady[name] = true
		}
	}
	for _, c := range named {
		if volatile.MatchString(c.Test) {
			for _, side := range []map[string]agency.TestStatus{a, b} {
				if found, ok := agency.LookUp(side, c.Test); ok {
					for _, name := range found.Tests {
						f.steady[name] = true
					}
				}
			}
		}
	}
	return f
}

// of is what a test is judged by: itself, or what holds it.
func (f *Folding) of(name string) string {
	if f == nil || f.steady[name] {
		return name
	}
	at := volatileAt(name, volatile)
	if at < 0 && f.running[name] {
		at = volatileAt(name, number)
	}
	if at < 0 {
		return name
	}
	if _, _, ok := testreport.SplitGo(name); ok {
		return strings.TrimRight(name[:strings.LastIndexByte(name[:at], '/')], "/")
	}
	if !strings.Contains(name, " > ") { // what a test is given stands behind it
		return name[:strings.IndexAny(name, "[(")]
	}
	return name[:at] + number.ReplaceAllString(volatile.ReplaceAllString(name[at:], "*"), "*")
}

// number is a number that is too long to count cases.
var number = regexp.MustCompile(`\d{4,}`)

// numbered are names that the two runs have with other numbers.
func numbered(a, b map[string]agency.TestStatus) map[string]bool {
	out := map[string]bool{}
	only := func(a, b map[string]agency.TestStatus) map[string][]string {
		out := map[string][]string{}
		for name := range a {
			if _, both := b[name]; !both && volatileAt(name, number) >= 0 {
				form := number.ReplaceAllString(name, "*")
				out[form] = append(out[form], name)
			}
		}
		return out
	}
	there := only(b, a)
	for form, names := range only(a, b) {
		if len(there[form]) == len(names) {
			for _, name := range slices.Concat(names, there[form]) {
				out[name] = true
			}
		}
	}
	return out
}

// Fold puts the tests of a suite in place of which others are judged under
// those: failed where one of them has.
func (f *Folding) Fold(s Results) Results {
	out := make(map[string]agency.TestStatus, len(s.Tests))
	for name, status := range s.Tests {
		to := f.of(name)
		if to != name {
			f.folded[to]++
		}
		out[to] = worse(out[to], status)
	}
	if s.Tests != nil {
		s.Tests = out
	}
	return s
}

// Names are what is judged in place of others, sorted.
func (f *Folding) Names() []string {
	if f == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(f.folded))
}

// worse is the status of two tests together: failed where one has, and passed
// where one did and none failed.
func worse(a, b agency.TestStatus) agency.TestStatus {
	for _, s := range []agency.TestStatus{agency.TestFailed, agency.TestPassed, agency.TestSkipped} {
		if a == s || b == s {
			return s
		}
	}
	return a + b
}

// volatileAt is where in a name begins what differs from run to run; -1 where
// nothing does. Packages, files and functions are written in sources: only names
// of subtests, titles, and what a test is given are made while it runs.
func volatileAt(name string, what *regexp.Regexp) int {
	from := -1
	if pkg, test, ok := testreport.SplitGo(name); ok {
		if i := strings.IndexByte(test, '/'); i >= 0 {
			from = len(pkg) + 1 + i + 1
		}
	} else if from = strings.Index(name, " > "); from < 0 {
		from = strings.IndexAny(name, "[(")
	}
	if from < 0 {
		return -1
	}
	if m := what.FindStringIndex(name[from:]); m != nil {
		return from + m[0]
	}
	return -1
}
