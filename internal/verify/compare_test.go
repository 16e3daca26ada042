package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

func TestStable(t *testing.T) {
	const pass, fail = agency.TestPassed, agency.TestFailed
	both := []string{"p.TestX", "p.TestX/0xc000123456", "p.TestTimeout/5s", "p.TestTimeout"}
	a, b := map[string]agency.TestStatus{}, map[string]agency.TestStatus{}
	for _, n := range both {
		a[n], b[n] = pass, pass
	}
	f := stable(a, b, nil)
	for name, want := range map[string]string{
		"ex.com/p.TestX/0xc00012345f":                                "ex.com/p.TestX",
		"p.TestX/0xc000123456":                                       "p.TestX/0xc000123456", // two runs share it
		"p.TestTimeout/5s":                                           "p.TestTimeout/5s",
		"p.TestTimeout/7s":                                           "p.TestTimeout",
		"p.TestX/group/at_2024-05-06T07:08:09Z/deep":                 "p.TestX/group",
		"p.TestX//tmp/TestX123/001":                                  "p.TestX",
		"p.TestX/dir=/tmp/TestX123/001":                              "p.TestX",
		"p.TestX/0d9c5e2a-1b2c-4d5e-8f90-aabbccddeeff":               "p.TestX",
		"p.TestX/user_4815162342":                                    "p.TestX",
		"p.TestX/case_17":                                            "p.TestX/case_17",
		"p.TestX/ends_in_users":                                      "p.TestX/ends_in_users",
		"p.TestIssue123456":                                          "p.TestIssue123456",
		"p2024-05-06/q.TestX":                                        "p2024-05-06/q.TestX",
		"tests/test_a.py::test_x[0x7f3a55aa]":                        "tests/test_a.py::test_x",
		"tests/test_a.py::test_x[3]":                                 "tests/test_a.py::test_x[3]",
		"tests/test_20240506_070809.py::test_issue_123456":           "tests/test_20240506_070809.py::test_issue_123456",
		"a.test.js > suite > writes /tmp/ab12cd/out in 15ms":         "a.test.js > suite > writes * in *",
		"a.test.js > 0d9c5e2a-1b2c-4d5e-8f90-aabbccddeeff > it runs": "a.test.js > * > it runs",
		"sums::tests::adds_0x1234abcd":                               "sums::tests::adds_0x1234abcd",
	} {
		if got := f.of(name); got != want {
			t.Errorf("%s is judged by %s, want %s", name, got, want)
		}
	}
	s := f.fold(suiteOf(result("p.TestX", pass), result("p.TestX/0xdeadbeef", fail), result("p.TestX/0xdeadbee1", agency.TestSkipped), result("p.TestY", pass)))
	if diff := cmp.Diff(map[string]agency.TestStatus{"p.TestX": fail, "p.TestY": pass}, s.tests); diff != "" {
		t.Error(diff)
	}
	if got := f.names(); !slices.Equal(got, []string{"p.TestX"}) {
		t.Errorf("folded: %v", got)
	}
	// What a contract asks for by name is no chance.
	f = stable(nil, map[string]agency.TestStatus{"p.TestX/0xdeadbeef": pass}, []agency.Check{{Test: "TestX/0xdeadbeef"}})
	if got := f.of("p.TestX/0xdeadbeef"); got != "p.TestX/0xdeadbeef" {
		t.Errorf("a test that a criterion names is judged by %s", got)
	}
}

func TestMerge(t *testing.T) {
	const pass, fail, skip = agency.TestPassed, agency.TestFailed, agency.TestSkipped
	got, mixed := merge([]suite{
		suiteOf(result("p.TestRed", fail), result("p.TestBoth", fail), result("p.TestGreen", pass), result("p.TestSkip", skip), result("q [build failed]", fail), result("r [build failed]", fail)),
		suiteOf(result("p.TestRed", fail), result("p.TestBoth", pass), result("p.TestGreen", pass), result("p.TestSkip", skip), result("q.TestQ", pass), result("r [build failed]", fail)),
	})
	want := map[string]agency.TestStatus{"p.TestRed": fail, "p.TestBoth": pass, "p.TestGreen": pass, "p.TestSkip": skip, "q.TestQ": pass}
	if diff := cmp.Diff(want, got.tests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"p.TestBoth": true, "q.TestQ": true}, mixed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"r": "r [build failed]"}, got.broken); diff != "" {
		t.Error(diff)
	}
}

// large is a suite of n tests with a subtest each, all red, in packages of which
// on the claim a part fails as a whole.
func large(n int, broken bool) suite {
	var all []agency.TestResult
	for i := range n {
		if pkg := i % 100; broken && pkg < 50 {
			all = append(all, result(fmt.Sprintf("ex.com/p%d [build failed]", i), agency.TestFailed))
			continue
		}
		name := fmt.Sprintf("ex.com/p%d.Test%d", i, i)
		all = append(all, result(name, agency.TestFailed), result(name+"/case", agency.TestFailed))
	}
	return suiteOf(all...)
}

// Comparing 40 000 tests with a subtest each, all red, costs a few plain passes
// over them: what looks at each test for each other one costs thousands.
func TestComparisonIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about time, and nothing here runs beside anything else")
	}
	const n, most = 40_000, 100
	best := func(work func()) time.Duration {
		least := time.Hour
		for range 3 {
			started := time.Now()
			work()
			least = min(least, time.Since(started))
		}
		return least
	}
	base, claim := large(n, false), large(n, true)
	plain := best(func() {
		seen := map[string]agency.TestStatus{}
		for _, r := range base.receipt.Tests {
			seen[r.Name] = r.Status
		}
		if len(seen) != len(base.tests) {
			t.Fatal(len(seen))
		}
	})
	var broken []string
	for _, name := range claim.broken {
		broken = append(broken, name)
	}
	judged := facts{claimSuite: claim, baseSuite: base, task: task{stage: check.StageClaim, base: "a", claim: "b"}}
	judged.Commands = check.Commands{Test: "go test ./..."}
	judged.tests = comparison{regressed: names(claim), newRed: names(base), stillRed: names(base), broken: broken}
	for name, work := range map[string]func(){
		"compare": func() {
			c, err := compare(t.Context(), base, claim)
			if err != nil || len(c.stillRed) != n || len(c.broken) != n/2 {
				t.Fatalf("%d still red, %d broken, %v", len(c.stillRed), len(c.broken), err)
			}
		},
		"judge": func() {
			if v := judge(judged); v.Pass {
				t.Fatal("it passes")
			}
		},
		"merge": func() {
			if _, mixed := merge([]suite{base, claim}); len(mixed) > 0 {
				t.Fatal(len(mixed))
			}
		},
		"fold": func() {
			if s := stable(base.tests, claim.tests, nil).fold(base); len(s.tests) != len(base.tests) {
				t.Fatal(len(s.tests))
			}
		},
	} {
		if ratio := float64(best(work)) / float64(plain); ratio > most {
			t.Errorf("%s costs %.0f plain passes", name, ratio)
		} else {
			t.Logf("%s costs %.1f plain passes", name, ratio)
		}
	}
}

func names(s suite) (out []string) {
	for n := range s.tests {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func TestComparisonStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := compare(ctx, large(5000, false), large(5000, false)); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

func TestNewFindings(t *testing.T) {
	list := func(lines ...string) check.Findings {
		out := check.Findings{Read: true}
		for _, l := range lines {
			n := 1
			if strings.HasPrefix(l, "2x ") {
				n, l = 2, l[3:]
			}
			file, text, _ := strings.Cut(l, ": ")
			out.List = append(out.List, check.Finding{File: file, Text: text, N: n})
		}
		return out
	}
	red := agency.Receipt{ExitCode: 1}
	for name, tt := range map[string]struct {
		was, now    check.Findings
		claim       agency.Receipt
		changes     []git.Change
		fresh, old  string
		unknownWith string
	}{
		"the same":            {was: list("a.go: x", "b.go: y"), now: list("b.go: y", "a.go: x"), claim: red, old: "b.go: y, a.go: x"},
		"one mended, one new": {was: list("a.go: x"), now: list("a.go: z"), claim: red, fresh: "a.go: z"},
		"once more":           {was: list("a.go: x"), now: list("2x a.go: x"), claim: red, fresh: "a.go: x", old: "a.go: x"},
		"in another file":     {was: list("a.go: x"), now: list("b.go: x"), claim: red, fresh: "b.go: x"},
		"the file moved": {
			was: list("a.go: x"), now: list("2x b.go: x"), claim: red, fresh: "b.go: x", old: "b.go: x",
			changes: []git.Change{{Path: "a.go", Status: 'D'}, {Path: "b.go", Status: 'A'}},
		},
		"cut":             {was: list("a.go: x"), now: check.Findings{Read: true, Cut: true, List: list("a.go: x").List}, claim: red, old: "a.go: x", unknownWith: "too long"},
		"killed":          {was: list("a.go: x"), now: list("a.go: x"), claim: agency.Receipt{ExitCode: 137}, old: "a.go: x", unknownWith: "exit code 137"},
		"never ended":     {was: list("a.go: x"), now: list("a.go: x"), claim: agency.Receipt{ExitCode: 137, Cause: "timeout"}, old: "a.go: x", unknownWith: "timeout"},
		"silent now":      {was: list("a.go: x"), claim: red, unknownWith: "says nothing any more"},
		"silent, as ever": {claim: red},
	} {
		d := newFindings(tt.was, tt.now, tt.changes)
		d.unknown = incomparable(red, tt.claim, tt.was, tt.now)
		if got := strings.Join(d.fresh, ", "); got != tt.fresh {
			t.Errorf("%s: new %q, want %q", name, got, tt.fresh)
		}
		if got := strings.Join(d.old, ", "); got != tt.old {
			t.Errorf("%s: old %q, want %q", name, got, tt.old)
		}
		if !strings.Contains(d.unknown, tt.unknownWith) || (d.unknown == "") != (tt.unknownWith == "") {
			t.Errorf("%s: unknown %q, want %q", name, d.unknown, tt.unknownWith)
		}
		g := gateFact{ran: true, claim: tt.claim, base: red, diff: d}
		if want := tt.fresh != "" || tt.unknownWith != ""; g.failed() != want {
			t.Errorf("%s: failed %v", name, g.failed())
		}
	}
}
