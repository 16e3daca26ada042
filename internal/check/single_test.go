package check

import (
	"testing"

	"agency/internal/testreport"

	"github.com/google/go-cmp/cmp"
)

func TestRerunOthers(t *testing.T) {
	for _, tt := range []struct {
		line  string
		tests []string
		want  string
	}{
		{"python3 -m pytest -q tests", []string{"tests/test_a.py::T::test_x"}, "python3 -m pytest tests/test_a.py::T::test_x -q"},
		{"pytest tests", []string{"tests/test_a.py::test_x"}, "pytest tests/test_a.py::test_x"},
		{"(cd svc && python3 -m unittest)", []string{"svc/test_a.T.test_x"}, "(cd svc && python3 -m unittest -k test_a.T.test_x)"},
		{"cargo test --workspace", []string{"sums::tests::adds"}, "cargo test --workspace -- --exact tests::adds"},
		{"node --test test/", []string{"test/a.js > s > it's", "test/b.js > x (2)"}, `node --test --test-name-pattern="^(it's|s|x)\$" test/a.js test/b.js`},
		{"npx jest --ci", []string{"a.test.js > s > x"}, "npx jest --ci -t '^(s x)$' --runTestsByPath a.test.js"},
		{"mvn test", []string{"com.x.ATest.adds(int)[1]"}, "mvn test -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest='com.x.ATest#adds'"},
		{"(cd web && npx vitest run) && (cd api && pytest)", []string{"web/a.test.ts > x"}, "(cd web && npx vitest run -t '^\\s*(x)$' a.test.ts)"},
		{"npm test", []string{"a.js > x"}, ""},
		{"pytest", []string{"tests/test_a.py [failed]"}, ""},
	} {
		if got, _ := Rerun(tt.line, tt.tests, nil); got != tt.want {
			t.Errorf("%s: got %s", tt.line, got)
		}
	}
}

func TestTouched(t *testing.T) {
	const line = "go test ./... && (cd web && npm test) && (cd web/admin && npm test)"
	for _, tt := range []struct {
		Paths []string
		want  string
		left  []string
	}{
		{[]string{"web/x.js"}, "(cd web && npm test)", []string{".", "web/admin"}},
		{[]string{"web/admin/y.js", "web/x.js"}, "(cd web && npm test) && (cd web/admin && npm test)", []string{"."}},
		{[]string{"x.go", "web/x.js"}, line, nil},
		{nil, line, nil},
	} {
		got, left := Touched(line, tt.Paths)
		if got != tt.want || cmp.Diff(tt.left, left) != "" {
			t.Errorf("%v: got %q, left %v", tt.Paths, got, left)
		}
	}
	for _, l := range []string{"make test", "cd x && go test ./...", "a | b", "! a && b"} {
		if p := Parts(l); len(p) != 1 || p[0].Dir != "." {
			t.Errorf("%s: %+v", l, p)
		}
	}
}

func TestInGroup(t *testing.T) {
	for _, tt := range []struct {
		test, group string
		want        bool
	}{
		{"ex.com/p.TestX", "ex.com/p", true},
		{"ex.com/p/q.TestX", "ex.com/p", false},
		{"a/test_x.py::test_y", "a/test_x.py", true},
		{"svc/test_sum.T.test_x", "svc/test_sum", true},
		{"svc/test_summer.T.test_x", "svc/test_sum", false},
		{"web/a.test.js > x", "web/a.test.js", true},
		{"sums::tests::x", "sums", true},
	} {
		if got := testreport.InGroup(tt.test, func(name string) bool { return name == tt.group }); got != tt.want {
			t.Errorf("%s in %s: %t", tt.test, tt.group, got)
		}
	}
}
