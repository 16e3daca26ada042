package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/race"
	"agency/internal/suite"
	"agency/internal/testreport"
)

// large is a suite of n tests with a subtest each, all red, in packages of which
// on the claim a part fails as a whole.
func large(n int, broken bool) suite.Results {
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
	if race.Enabled {
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
		for _, r := range base.Receipt.Tests {
			seen[r.Name] = r.Status
		}
		if len(seen) != len(base.Tests) {
			t.Fatal(len(seen))
		}
	})
	var broken []string
	for _, name := range claim.Broken {
		broken = append(broken, name)
	}
	judged := facts{testFacts: testFacts{claimSuite: claim, baseSuite: base}, task: task{stage: check.StageClaim, base: "a", claim: "b"}}
	judged.Commands = check.Commands{Test: "go test ./..."}
	judged.tests = suite.Comparison{Regressed: names(claim), NewRed: names(base), StillRed: names(base), Broken: broken}
	for name, work := range map[string]func(){
		"compare": func() {
			c, err := suite.Compare(t.Context(), base, claim)
			if err != nil || len(c.StillRed) != n || len(c.Broken) != n/2 {
				t.Fatalf("%d still red, %d broken, %v", len(c.StillRed), len(c.Broken), err)
			}
		},
		"judge": func() {
			if v := judge(judged); v.Pass {
				t.Fatal("it passes")
			}
		},
		"merge": func() {
			if _, mixed := suite.Merge([]suite.Results{base, claim}); len(mixed) > 0 {
				t.Fatal(len(mixed))
			}
		},
		"fold": func() {
			if s := suite.Stable(base.Tests, claim.Tests, nil).Fold(base); len(s.Tests) != len(base.Tests) {
				t.Fatal(len(s.Tests))
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

func names(s suite.Results) (out []string) {
	for n := range s.Tests {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func TestNewFindings(t *testing.T) {
	list := func(lines ...string) testreport.Findings {
		out := testreport.Findings{Read: true}
		for _, l := range lines {
			n := 1
			if strings.HasPrefix(l, "2x ") {
				n, l = 2, l[3:]
			}
			file, text, _ := strings.Cut(l, ": ")
			out.List = append(out.List, testreport.Finding{File: file, Text: text, N: n})
		}
		return out
	}
	red := agency.Receipt{ExitCode: 1}
	for name, tt := range map[string]struct {
		was, now    testreport.Findings
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
		"cut":             {was: list("a.go: x"), now: testreport.Findings{Read: true, Cut: true, List: list("a.go: x").List}, claim: red, old: "a.go: x", unknownWith: "too long"},
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
