package verify

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

func suiteOf(tests ...agency.TestResult) suite {
	return readSuite(agency.Receipt{Parsed: true, Tests: tests})
}

func result(name string, s agency.TestStatus) agency.TestResult {
	return agency.TestResult{Name: name, Status: s}
}

func TestCompare(t *testing.T) {
	const pass, fail, skip = agency.TestPassed, agency.TestFailed, agency.TestSkipped
	base := suiteOf(
		result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/one", pass), result("p.TestT/two", pass),
		result("q.TestQ", pass), result("p.TestRed", fail), result("p.TestS", skip),
	)
	for name, tt := range map[string]struct {
		claim suite
		want  comparison
	}{
		"equal": {base, comparison{stillRed: []string{"p.TestRed"}}},
		"a package breaks": {
			suiteOf(result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/one", pass), result("p.TestT/two", pass),
				result("p.TestRed", pass), result("q [build failed]", fail)),
			comparison{regressed: []string{"q.TestQ"}, broken: []string{"q [build failed]"}},
		},
		"a case fails": {
			suiteOf(result("p.TestA", pass), result("p.TestT", fail), result("p.TestT/one", fail), result("p.TestRed", fail), result("q.TestQ", pass)),
			comparison{regressed: []string{"p.TestT/one"}, stillRed: []string{"p.TestRed"}},
		},
		"cases renamed": {
			suiteOf(result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/first", pass), result("p.TestT/second", pass),
				result("p.TestRed", fail), result("q.TestQ", pass)),
			comparison{stillRed: []string{"p.TestRed"}},
		},
		"a case is gone": {
			suiteOf(result("p.TestA", pass), result("p.TestT", pass), result("p.TestT/one", pass), result("p.TestRed", fail), result("q.TestQ", pass)),
			comparison{stillRed: []string{"p.TestRed"}, weakened: []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestT/two"}}},
		},
		"a table is gone, another test moves": {
			suiteOf(result("p.TestA", pass), result("r.TestQ", pass), result("p.TestRed", fail)),
			comparison{stillRed: []string{"p.TestRed"}, weakened: []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestT"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(base, tt.claim)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(comparison{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIsControl(t *testing.T) {
	named := namedFiles(check.Commands{Test: "cd ci && ./run.sh --config=conf/t.yml && go test -run 'x y' ./..."}, func(string) []byte { return nil })
	for path, want := range map[string]bool{
		"ci/run.sh": true, "ci/conf/t.yml": true, "run.sh": true, "main.go": false, "go.mod": false, "go.work": true,
		"agency.yaml": true, "sub/agency.yaml": false, "Makefile": true, "sub/.golangci.toml": true, "x.go": false,
	} {
		if got := isControl(git.Change{Path: path, Status: 'M'}, named); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if isControl(git.Change{Path: "Makefile", Status: 'A'}, named) {
		t.Error("a new Makefile that no command uses decides nothing")
	}
}

func TestTestMainWeaker(t *testing.T) {
	const head = "package p\n\nimport \"testing\"\n\n"
	runs := head + "func TestMain(m *testing.M) { m.Run() }\n"
	for name, tt := range map[string]struct {
		before, after string
		want          bool
	}{
		"none":           {head, head, false},
		"new and honest": {head, runs, false},
		"new and empty":  {head, head + "func TestMain(m *testing.M) {}\n", true},
		"changed":        {runs, head + "func TestMain(m *testing.M) { if false { m.Run() } }\n", true},
		"moved":          {runs, head + "func X() {}\n" + "func TestMain(m *testing.M) { m.Run() }\n", false},
		"gone":           {runs, head, false},
	} {
		if got := testMainWeaker([]byte(tt.before), []byte(tt.after)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
