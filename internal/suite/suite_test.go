package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

func suiteOf(tests ...agency.TestResult) Results {
	return Read(agency.Receipt{Parsed: true, Tests: tests})
}

func result(name string, s agency.TestStatus) agency.TestResult {
	return agency.TestResult{Name: name, Status: s}
}

func TestStable(t *testing.T) {
	const pass, fail = agency.TestPassed, agency.TestFailed
	both := []string{"p.TestX", "p.TestX/0xc000123456", "p.TestTimeout/5s", "p.TestTimeout"}
	a, b := map[string]agency.TestStatus{}, map[string]agency.TestStatus{}
	for _, n := range both {
		a[n], b[n] = pass, pass
	}
	f := Stable(a, b, nil)
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
	s := f.Fold(suiteOf(result("p.TestX", pass), result("p.TestX/0xdeadbeef", fail), result("p.TestX/0xdeadbee1", agency.TestSkipped), result("p.TestY", pass)))
	if diff := cmp.Diff(map[string]agency.TestStatus{"p.TestX": fail, "p.TestY": pass}, s.Tests); diff != "" {
		t.Error(diff)
	}
	if got := f.Names(); !slices.Equal(got, []string{"p.TestX"}) {
		t.Errorf("folded: %v", got)
	}
	// What a contract asks for by name is no chance.
	f = Stable(nil, map[string]agency.TestStatus{"p.TestX/0xdeadbeef": pass}, []agency.Check{{Test: "TestX/0xdeadbeef"}})
	if got := f.of("p.TestX/0xdeadbeef"); got != "p.TestX/0xdeadbeef" {
		t.Errorf("a test that a criterion names is judged by %s", got)
	}
}

func TestMerge(t *testing.T) {
	const pass, fail, skip = agency.TestPassed, agency.TestFailed, agency.TestSkipped
	got, mixed := Merge([]Results{
		suiteOf(result("p.TestRed", fail), result("p.TestBoth", fail), result("p.TestGreen", pass), result("p.TestSkip", skip), result("q [build failed]", fail), result("r [build failed]", fail)),
		suiteOf(result("p.TestRed", fail), result("p.TestBoth", pass), result("p.TestGreen", pass), result("p.TestSkip", skip), result("q.TestQ", pass), result("r [build failed]", fail)),
	})
	want := map[string]agency.TestStatus{"p.TestRed": fail, "p.TestBoth": pass, "p.TestGreen": pass, "p.TestSkip": skip, "q.TestQ": pass}
	if diff := cmp.Diff(want, got.Tests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"p.TestBoth": true, "q.TestQ": true}, mixed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"r": "r [build failed]"}, got.Broken); diff != "" {
		t.Error(diff)
	}
}

func TestCompare(t *testing.T) {
	const pass, fail, skip = agency.TestPassed, agency.TestFailed, agency.TestSkipped
	base := suiteOf(
		result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/one", pass), result("p.TestT/two", pass),
		result("q.TestQ", pass), result("p.TestRed", fail), result("p.TestS", skip),
	)
	for name, tt := range map[string]struct {
		claim Results
		want  Comparison
	}{
		"equal": {base, Comparison{StillRed: []string{"p.TestRed"}}},
		"a package breaks": {
			suiteOf(result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/one", pass), result("p.TestT/two", pass),
				result("p.TestRed", pass), result("q [build failed]", fail)),
			Comparison{Regressed: []string{"q.TestQ"}, Broken: []string{"q [build failed]"}},
		},
		"a case fails": {
			suiteOf(result("p.TestA", pass), result("p.TestT", fail), result("p.TestT/one", fail), result("p.TestRed", fail), result("q.TestQ", pass)),
			Comparison{Regressed: []string{"p.TestT/one"}, StillRed: []string{"p.TestRed"}},
		},
		"cases renamed": {
			suiteOf(result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/first", pass), result("p.TestT/second", pass),
				result("p.TestRed", fail), result("q.TestQ", pass)),
			Comparison{StillRed: []string{"p.TestRed"}},
		},
		"a case is gone": {
			suiteOf(result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/one", pass), result("p.TestRed", fail), result("q.TestQ", pass)),
			Comparison{StillRed: []string{"p.TestRed"}, Weakened: []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestT/two"}}},
		},
		"a table is gone, another test moves": {
			suiteOf(result("p.TestA", pass), result("r.TestQ", pass), result("p.TestRed", fail)),
			Comparison{StillRed: []string{"p.TestRed"}, Weakened: []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestT"}, {Kind: agency.WeakDeleted, Name: "q.TestQ"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Compare(t.Context(), base, tt.claim)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// large are the results of n tests with a subtest each, all red, in packages of which
// on the claim a part fails as a whole.
func large(n int, broken bool) Results {
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

func TestComparisonStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := Compare(ctx, large(5000, false), large(5000, false)); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}
