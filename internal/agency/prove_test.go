package agency

import (
	"slices"
	"strings"
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

// TestWhatTestsProve holds the rule of the two axes for one criterion that the
// agent names a test for, and for the same test named by the plan.
func TestWhatTestsProve(t *testing.T) {
	claim := map[string]TestStatus{"p.TestA": TestPassed, "p.TestA/two": TestPassed, "p.TestBad": TestFailed}
	for name, tt := range map[string]struct {
		worth   map[string]TestWorth
		test    string
		agent   ProofKind
		planned ProofKind
		note    string
	}{
		"it was there and red":       {map[string]TestWorth{"p.TestA": {Ground: GroundStood, Existed: true}}, "TestA", ProofVerified, ProofVerified, "there before the run, not passing"},
		"new, and needs the change":  {map[string]TestWorth{"p.TestA": {Ground: GroundFails}}, "TestA", ProofVerified, ProofVerified, "written in this run, fails without the change"},
		"new API":                    {map[string]TestWorth{"p.TestA": {Ground: GroundCut}}, "TestA", ProofVerified, ProofVerified, "written in this run, fails when what was changed is taken out"},
		"a case of it is new":        {map[string]TestWorth{"p.TestA": {Existed: true, Why: "x"}, "p.TestA/two": {Ground: GroundFails}}, "TestA", ProofVerified, ProofVerified, "written in this run, fails without the change"},
		"passes either way":          {map[string]TestWorth{"p.TestA": {Why: "it passes without the change too"}}, "TestA", ProofAsserted, ProofAsserted, "it passes without the change too"},
		"nobody looked":              {nil, "TestA", ProofAsserted, ProofAsserted, "its check passed before the change too"},
		"its expectation was edited": {map[string]TestWorth{"p.TestA": {Ground: GroundFails, Existed: true, Edited: true}}, "TestA", ProofAsserted, ProofVerified, "edited in this run, its old form fails now, fails without the change"},
		"edited, as declared":        {map[string]TestWorth{"p.TestA": {Ground: GroundFails, Existed: true, Edited: true, Declared: true}}, "TestA", ProofVerified, ProofVerified, ""},
		"red":                        {nil, "TestBad", ProofAsserted, ProofOpen, ""},
		"not run":                    {nil, "TestNone", ProofAsserted, ProofOpen, ""},
	} {
		c := Checks{Claim: claim, Worth: tt.worth}
		agent := Prove([]Criterion{{ID: "goal"}}, []Evidence{{Criterion: "goal", Kind: CheckTest, Ref: tt.test}}, c)[0]
		planned := Prove([]Criterion{{ID: "goal", Check: &Check{Test: tt.test}}}, nil, c)[0]
		if agent.Proof != tt.agent || planned.Proof != tt.planned || tt.note != "" && planned.Note != tt.note {
			t.Errorf("%s: %s named by the agent, %s by the plan: %q", name, agent.Proof, planned.Proof, planned.Note)
		}
	}
}

// TestWhatNoTestIsNamedFor holds that one new test proves the criteria that name
// it, and all of them only where there is one.
func TestWhatNoTestIsNamedFor(t *testing.T) {
	c := Checks{
		Claim: map[string]TestStatus{"p.TestNew": TestPassed}, Fresh: []string{"p.TestNew"},
		Worth: map[string]TestWorth{"p.TestNew": {Ground: GroundFails}}, Refs: map[Check]RefWorth{{Command: "make"}: {Passes: true, Proves: true}, {File: "f"}: {Passes: true, Proves: true}},
	}
	three := []Criterion{{ID: "one"}, {ID: "two"}, {ID: "three"}}
	got := Prove(three, []Evidence{{Criterion: "two", Kind: CheckTest, Ref: "TestNew"}, {Criterion: "three", Kind: CheckCommand, Ref: "make"}}, c)
	if got[0].Proof != ProofAsserted || got[1].Proof != ProofVerified || got[2].Proof != ProofAsserted {
		t.Errorf("of three: %+v", got)
	}
	for _, evidence := range [][]Evidence{nil, {{Criterion: "one", Kind: CheckCommand, Ref: "make"}}, {{Criterion: "one", Kind: CheckTest, Ref: "none"}}} {
		if got := Prove(three[:1], evidence, c); got[0].Proof != ProofVerified || !slices.Equal(got[0].Tests, []string{"p.TestNew"}) {
			t.Errorf("the only one, with evidence %v: %+v", evidence, got)
		}
	}
	c.Worth = map[string]TestWorth{"p.TestNew": {Why: "it passes without the change too"}}
	for _, kind := range []CheckKind{CheckCommand, CheckFile} {
		ref := map[CheckKind]string{CheckCommand: "make", CheckFile: "f"}[kind]
		if got := Prove(three[:1], []Evidence{{Criterion: "one", Kind: kind, Ref: ref}}, c); got[0].Proof != ProofAsserted {
			t.Errorf("a %s of the agent's choosing proves: %+v", kind, got)
		}
	}
	named := []Criterion{{ID: "goal", Check: &Check{Test: "TestA"}}}
	if got := Prove(named, nil, Checks{Nameless: true})[0]; got.Proof != ProofOpen || !got.Missed || !strings.Contains(got.Note, "names no tests") {
		t.Errorf("a criterion's test where no test has a name: %+v", got)
	}
	if got := Prove([]Criterion{{ID: "goal"}}, []Evidence{{Criterion: "goal", Kind: CheckTest, Ref: "TestA"}}, Checks{Nameless: true})[0]; got.Proof != ProofAsserted || got.Missed {
		t.Errorf("a test as evidence where no test has a name: %+v", got)
	}
	if got := Prove(named, nil, Checks{})[0]; got.Proof != ProofOpen {
		t.Errorf("a criterion's test where the command fails: %+v", got)
	}
}
