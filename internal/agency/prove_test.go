package agency

import "testing"

func TestFindTestOfEachEcosystem(t *testing.T) {
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
		"works": "crate::tests::works", "adds": "com.ex.SumTest#adds", "TestTwice": "", "numbers": "", "Parse": "", "sum": "",
	} {
		if got, ok := FindTest(tests, name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, want)
		}
	}
}
