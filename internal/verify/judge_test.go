package verify

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/suite"
)

// A command that ran nothing is told by what it is, or by what make says.
func TestIdle(t *testing.T) {
	for out, want := range map[string]bool{
		"make: 'test' is up to date.\n": true,
		"make[1]: Entering directory '/x'\nmake[1]: Nothing to be done for 'test'.\nmake[1]: Leaving directory '/x'\n": true,
		"gmake: `test' is up to date.\n": true,
		"":                               false,
		"sh test/run.sh\nall is well\n":  false,
		"make: 'lib' is up to date.\nsh test/run.sh\n":          false,
		"the runner says: make: 'test' is up to date.\nran 2\n": false,
	} {
		if got := idle(agency.Receipt{Command: "make test", Output: out}); got != want {
			t.Errorf("%q: %v", out, got)
		}
	}
	if !idle(agency.Receipt{Command: "true"}) {
		t.Error("true runs something")
	}
}

func suiteOf(tests ...agency.TestResult) suite.Results {
	return suite.Read(agency.Receipt{Parsed: true, Tests: tests})
}

func result(name string, s agency.TestStatus) agency.TestResult {
	return agency.TestResult{Name: name, Status: s}
}

func TestIsControl(t *testing.T) {
	named := commandReader(func(string) []byte { return nil }).OfAll(check.Commands{Test: "cd ci && ./run.sh --config=conf/t.yml && go test -run 'x y' ./..."})
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
	body := func(text string) string { return head + "func TestMain(m *testing.M) {\n" + text + "\n}\n" }
	runs := body("m.Run()")
	for name, tt := range map[string]struct {
		before, after string
		want          bool
	}{
		"none":           {head, head, false},
		"new and honest": {head, runs, false}, // testing itself reports it
		"new and empty":  {head, body(""), true},
		"changed":        {runs, body("if false { m.Run() }"), true},
		"moved":          {runs, head + "func X() {}\n" + "func TestMain(m *testing.M) {\n\tm.Run()\n}\n", false},
		"gone":           {runs, head, false},

		"its code goes out":         {head, body("os.Exit(m.Run())"), false},
		"after something else":      {head, body("code := m.Run()\nclean()\nos.Exit(code)"), false},
		"through a helper":          {head, body("os.Exit(run(m))"), false},
		"a failure of its own":      {head, body("if err := start(); err != nil { os.Exit(2) }\nos.Exit(m.Run())"), false},
		"nobody looks at the code":  {head, body("m.Run()\nos.Exit(0)"), true},
		"the code is dropped":       {head, body("code := m.Run()\n_ = code\nos.Exit(0)"), true},
		"the code is overwritten":   {head, body("code := m.Run()\ncode = 0\nos.Exit(code)"), true},
		"another number goes out":   {head, body("m.Run()\nos.Exit(other())"), true},
		"it ends before the tests":  {head, body("if skip() { os.Exit(0) }\nos.Exit(m.Run())"), true},
		"of another name":           {head, "package p\n\nfunc TestMain(mm *testing.M) { x := mm.Run(); defer os.Exit(0x0); _ = x }\n", true},
		"changed to drop its code":  {body("os.Exit(m.Run())"), body("code := m.Run()\n_ = code\nos.Exit(0)"), true},
		"it runs something else":    {head, body("cmd.Run()"), true},
		"a checker is handed tests": {head, body("goleak.VerifyTestMain(m)"), false},
	} {
		if got := testMainWeaker(source{path: "a_test.go", before: []byte(tt.before), after: []byte(tt.after)}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
