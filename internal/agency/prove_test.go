package agency

import (
	"slices"
	"testing"
)

func TestLookUpInEachEcosystem(t *testing.T) {
	tests := map[string]TestStatus{}
	for _, full := range []string{
		"ex.com/p.TestParse", "ex.com/p.TestParse/empty", "tests/test_a.py::TestA::test_sum", "web/src/sum.test.js > adds > two numbers",
		"crate::tests::works", "com.ex.SumTest#adds", "q.TestTwice", "r.TestTwice",
	} {
		tests[full] = TestPassed
	}
	for name, want := range map[string]string{
		"TestParse": "ex.com/p.TestParse", "TestParse/empty": "ex.com/p.TestParse/empty", "test_sum": "tests/test_a.py::TestA::test_sum",
		"two numbers": "web/src/sum.test.js > adds > two numbers", "adds > two numbers": "web/src/sum.test.js > adds > two numbers",
		"works": "crate::tests::works", "adds": "com.ex.SumTest#adds", "TestTwice": "TestTwice", "numbers": "", "Parse": "", "sum": "",
	} {
		if got, ok := LookUp(tests, name); got.Name != want || ok != (want != "") {
			t.Errorf("%s: %+v, %v, want %q", name, got, ok, want)
		}
	}
}

// A test is found by its file and its name however its runner spells it, and
// one of the same name in another file is not meant.
func TestLookUpByFile(t *testing.T) {
	tests := map[string]TestStatus{}
	for _, full := range []string{
		"ex.com/price.TestTotal", "ex.com/price.TestTotal/empty", "ex.com/slug.TestTotal", "ex.com/slug.TestMake", "price.TestBare",
		"tests.test_a.SumTest.test_sum", "tests.test_b.SumTest.test_sum", "test/a.test.js > adds > two", "test/b.test.js > adds > two", "a title alone",
	} {
		tests[full] = TestPassed
	}
	for name, want := range map[string]string{
		"price/price_test.go::TestTotal": "ex.com/price.TestTotal", "./slug/slug_test.go:TestTotal": "ex.com/slug.TestTotal",
		"price/price_test.go::TestTotal/empty": "ex.com/price.TestTotal/empty", "price/price_test.go: TestBare": "price.TestBare",
		"price/price_test.go::TestMake": "", "ice/price_test.go::TestTotal": "", "main_test.go::TestMake": "ex.com/slug.TestMake",
		"tests/test_a.py::SumTest::test_sum": "tests.test_a.SumTest.test_sum", "tests/test_b.py::test_sum": "tests.test_b.SumTest.test_sum",
		"tests/test_a.py::SumTest.test_sum": "tests.test_a.SumTest.test_sum", "test_a.py::test_sum": "tests.test_a.SumTest.test_sum",
		"tests/test_c.py::test_sum": "", "tests/test_a.py::test_su": "",
		"test/a.test.js: two": "test/a.test.js > adds > two", "b.test.js#two": "test/b.test.js > adds > two", "c.test.js: two": "",
		"x/y.test.js: a title alone": "a title alone", "note: a title alone": "", "price/price_test.go::": "",
	} {
		if got, ok := LookUp(tests, name); got.Name != want || ok != (want != "") {
			t.Errorf("%s: %+v, %v, want %q", name, got, ok, want)
		}
	}
}

func TestLookUpOfGroups(t *testing.T) {
	tests := map[string]TestStatus{
		"tests/test_a.py::test_sum[1-2]": TestPassed, "tests/test_a.py::test_sum[3-4]": TestSkipped,
		"a.test.js > adds > two": TestPassed, "a.test.js > adds > three": TestFailed,
		"b.test.js > twice > x": TestPassed, "c.test.js > twice > x": TestPassed,
		"p.TestSkip/a": TestSkipped,
	}
	for name, want := range map[string]Found{
		"test_sum":        {Name: "tests/test_a.py::test_sum", Tests: []string{"tests/test_a.py::test_sum[1-2]", "tests/test_a.py::test_sum[3-4]"}, Status: TestPassed},
		"tests/test_a.py": {Name: "tests/test_a.py", Tests: []string{"tests/test_a.py::test_sum[1-2]", "tests/test_a.py::test_sum[3-4]"}, Status: TestPassed},
		"adds":            {Name: "a.test.js > adds", Tests: []string{"a.test.js > adds > three", "a.test.js > adds > two"}, Status: TestFailed},
		"two":             {Name: "a.test.js > adds > two", Tests: []string{"a.test.js > adds > two"}, Status: TestPassed},
		"TestSkip":        {Name: "p.TestSkip", Tests: []string{"p.TestSkip/a"}, Status: TestSkipped},
		"twice":           {Name: "twice", Tests: []string{"b.test.js > twice > x", "c.test.js > twice > x"}, Status: TestPassed},
		"x":               {Name: "x", Tests: []string{"b.test.js > twice > x", "c.test.js > twice > x"}, Status: TestPassed},
		"sum":             {}, "dd": {}, "": {},
	} {
		got, ok := LookUp(tests, name)
		if ok != (want.Name != "") || got.Name != want.Name || got.Status != want.Status || !slices.Equal(got.Tests, want.Tests) {
			t.Errorf("%q: %+v, %v, want %+v", name, got, ok, want)
		}
	}
}

func TestLookUpOfASkippedTestsName(t *testing.T) {
	for name, tt := range map[string]struct {
		tests map[string]TestStatus
		want  Found
	}{
		"a group passes":     {map[string]TestStatus{"URN": TestSkipped, "URN > a": TestPassed}, Found{Name: "URN", Tests: []string{"URN", "URN > a"}, Status: TestPassed}},
		"a group fails":      {map[string]TestStatus{"URN": TestSkipped, "f.js > URN > a": TestFailed}, Found{Name: "URN", Tests: []string{"URN", "f.js > URN > a"}, Status: TestFailed}},
		"another passes":     {map[string]TestStatus{"URN": TestSkipped, "f.js > URN": TestPassed}, Found{Name: "URN", Tests: []string{"URN", "f.js > URN"}, Status: TestPassed}},
		"both by the end":    {map[string]TestStatus{"e.js > URN": TestSkipped, "f.js > URN > a": TestPassed}, Found{Name: "URN", Tests: []string{"e.js > URN", "f.js > URN > a"}, Status: TestPassed}},
		"nothing else":       {map[string]TestStatus{"URN": TestSkipped, "other": TestPassed}, Found{Name: "URN", Tests: []string{"URN"}, Status: TestSkipped}},
		"it ran, and failed": {map[string]TestStatus{"URN": TestFailed, "URN > a": TestPassed}, Found{Name: "URN", Tests: []string{"URN"}, Status: TestFailed}},
	} {
		got, ok := LookUp(tt.tests, "URN")
		if !ok || got.Name != tt.want.Name || got.Status != tt.want.Status || !slices.Equal(got.Tests, tt.want.Tests) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestProofByATestThatWasThere(t *testing.T) {
	goal := []Criterion{{ID: "goal"}}
	byName := func(name string) []Evidence { return []Evidence{{Criterion: "goal", Kind: CheckTest, Ref: name}} }
	old := map[string]TestStatus{"p.TestA": TestPassed, "p.TestA/one": TestPassed, "t.py::test_b[1]": TestPassed, "t.py::A::test_c": TestPassed}
	for name, tt := range map[string]struct {
		evidence string
		claim    map[string]TestStatus
		without  map[string]TestStatus
		nameless bool
		want     ProofKind
		note     string
		test     string
	}{
		"its new form fails without the change":  {evidence: "TestA", claim: old, without: map[string]TestStatus{"p.TestA": TestFailed}, want: ProofVerified, note: "changed in this run, fails without the change", test: "p.TestA"},
		"its new form passes without the change": {evidence: "TestA", claim: old, without: old, want: ProofAsserted, note: "its check passed before the change too", test: "p.TestA"},
		"a case is new": {
			evidence: "TestA", claim: map[string]TestStatus{"p.TestA": TestPassed, "p.TestA/one": TestPassed, "p.TestA/two": TestPassed},
			want: ProofVerified, note: "by its cases that newly pass; written in this run", test: "p.TestA/two",
		},
		"a parameter is new": {
			evidence: "test_b", claim: map[string]TestStatus{"t.py::test_b[1]": TestPassed, "t.py::test_b[2]": TestPassed},
			want: ProofVerified, note: "by its cases that newly pass; written in this run", test: "t.py::test_b[2]",
		},
		"a new case that passes without the change": {
			evidence: "TestA", claim: map[string]TestStatus{"p.TestA": TestPassed, "p.TestA/two": TestPassed},
			without: map[string]TestStatus{"p.TestA": TestPassed, "p.TestA/two": TestPassed}, want: ProofAsserted, note: "its check passed before the change too", test: "p.TestA",
		},
		"a group with a failure": {evidence: "test_b", claim: map[string]TestStatus{"t.py::test_b[1]": TestFailed}, without: map[string]TestStatus{}, want: ProofAsserted, note: "the evidence named does not pass", test: "t.py::test_b"},
		"one of two of a name is new": {
			evidence: "test_c", claim: map[string]TestStatus{"t.py::A::test_c": TestPassed, "t.py::B::test_c": TestPassed},
			want: ProofVerified, note: "by its cases that newly pass; written in this run", test: "t.py::B::test_c",
		},
		"a test that was not run": {evidence: "TestNone", claim: old, want: ProofAsserted, note: "the test that the evidence names was not run"},
		"no test has a name":      {evidence: "TestA", nameless: true, want: ProofAsserted, note: "the test command passes, but names no tests"},
	} {
		got := Prove(goal, byName(tt.evidence), Checks{Claim: tt.claim, Base: old, Without: tt.without, Nameless: tt.nameless})[0]
		if got.Proof != tt.want || got.Note != tt.note || (tt.test != "") != slices.Equal(got.Tests, []string{tt.test}) {
			t.Errorf("%s: %s, %q, %v", name, got.Proof, got.Note, got.Tests)
		}
	}
	named := []Criterion{{ID: "goal", Check: &Check{Test: "TestA"}}}
	if got := Prove(named, nil, Checks{Nameless: true})[0]; got.Proof != ProofAsserted {
		t.Errorf("a criterion's test where no test has a name: %+v", got)
	}
	if got := Prove(named, nil, Checks{})[0]; got.Proof != ProofOpen {
		t.Errorf("a criterion's test where the command fails: %+v", got)
	}
}
