package check

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
)

func suiteOf(stage Stage, tree agency.OID, contract agency.ContractID, results ...string) agency.Receipt {
	r := agency.Receipt{Kind: agency.CheckTest, Command: "go test ./...", Stage: string(stage), Tree: tree, ContractID: contract, Parsed: true}
	for _, s := range results {
		name, failed := strings.CutPrefix(s, "!")
		status := agency.TestPassed
		if failed {
			status, r.ExitCode, r.Failed = agency.TestFailed, 1, r.Failed+1
		} else {
			r.Passed++
		}
		r.Tests = append(r.Tests, agency.TestResult{Name: name, Status: status})
	}
	return r
}

func TestRedTestsAreNamedWithWhatWasRedBefore(t *testing.T) {
	all := []agency.Receipt{
		suiteOf(StageBase, "t0", "", "A", "!B", "C"),
		suiteOf(StageBase, "t0", "main", "A", "!B", "C"),
		suiteOf(StageWork, "t1", "main", "!A", "!B", "!C"),
		suiteOf(StageClaim, "t2", "main", "A", "!B", "!C", "!C/sub"),
		suiteOf(StageClaim, "t2", "main", "!C/sub"), // again, alone
	}
	all[3].Output = "one\n\nFAIL: C/sub\nexit status 1\n"
	red := LastReds(all)["main"]
	if len(red) != 1 {
		t.Fatalf("%+v", red)
	}
	want := []agency.RedTest{{Name: "B", Before: true}, {Name: "C/sub"}}
	if got := red[0]; !slices.Equal(got.Tests, want) || got.Before == nil || !*got.Before || !slices.Equal(got.Last, []string{"one", "FAIL: C/sub", "exit status 1"}) {
		t.Errorf("%+v", got)
	}
	lines := red[0].Lines()
	if !strings.HasSuffix(red[0].Head(), "exit code 1; red before too") || lines[0] != "failed: B (failed before)" || lines[1] != "failed: C/sub" || lines[4] != "| exit status 1" {
		t.Errorf("%s %q", red[0].Head(), lines)
	}
	if red := LastReds(append(all, suiteOf(StageLanding, "t3", "main", "A", "B")))["main"]; len(red) != 0 {
		t.Errorf("what was mended is still red: %+v", red)
	}
}

// What one contract of a run breaks was not red before the run, though the next contract
// begins from it.
func TestRedBeforeTheRun(t *testing.T) {
	all := []agency.Receipt{
		suiteOf(StageBase, "t0", "one", "A", "!B"),
		suiteOf(StageClaim, "t1", "one", "!A", "!B"),
		suiteOf(StageBase, "t1", "two", "!A", "!B"),
		suiteOf(StageLanding, "t2", "two", "!A", "!B"),
	}
	red := Reds(all[3:], AtStart(all))
	if want := []agency.RedTest{{Name: "A"}, {Name: "B", Before: true}}; len(red) != 1 || !slices.Equal(red[0].Tests, want) {
		t.Errorf("%+v", red)
	}
}

// What a trial finds out says nothing of the work, whether it is red or not.
func TestTrialsAreNotRed(t *testing.T) {
	all := []agency.Receipt{suiteOf(StageBase, "t0", "main", "A"), suiteOf(StageClaim, "t2", "main", "!A", "B")}
	for _, trial := range []Stage{StageOldTests, StageWithout, StageCut, StageOldBodies, StageOtherValues, StageSpoken} {
		all = append(all, suiteOf(trial, "t2", "main", "A", "!B", "!C"))
		if _, ok := RedOf(all[len(all)-1], all); ok || trials[trial] == "" {
			t.Errorf("%s is red", trial)
		}
	}
	if red := LastReds(all)["main"]; len(red) != 1 || len(red[0].Tests) != 1 || red[0].Tests[0].Name != "A" {
		t.Errorf("%+v", red)
	}
}

// A check that was not run on the base says nothing of it.
func TestRedOfACheckWithoutABase(t *testing.T) {
	r := agency.Receipt{Kind: agency.CheckCommand, Command: "make e2e", Stage: string(StageClaim), ExitCode: 127, Output: "sh: make: not found\n"}
	other := agency.Receipt{Kind: agency.CheckCommand, Command: "make other", Stage: string(StageBase), ExitCode: 1}
	red, ok := RedOf(r, []agency.Receipt{other, r})
	if !ok || red.Before != nil || red.Last[0] != "sh: make: not found" {
		t.Errorf("%+v %t", red, ok)
	}
	if _, ok := RedOf(agency.Receipt{}, nil); ok {
		t.Error("a check that passes is red")
	}
}

func TestNewFindingsOfARedLinter(t *testing.T) {
	lint := func(stage Stage, out string) agency.Receipt {
		return agency.Receipt{Kind: agency.CheckLint, Command: "lint", Stage: string(stage), ExitCode: 1, Output: out}
	}
	for name, tt := range map[string]struct {
		was, now string
		want     []string
	}{
		"moved lines are old": {
			"a.go:3:1: unused x\na.go:9:1: unused x\n", "a.go:5:1: unused x\na.go:8:2: unused y\na.go:11:1: unused x\n", []string{"a.go:8:2: unused y"},
		},
		"one more of a kind": {"a.go:3: bad\n", "a.go:3: bad\na.go:4: bad\n", []string{"a.go:4: bad"}},
		"below the file's name": {
			"/r/a.js\n  3:5  error  no-var  rule\n\n1 problem\n", "/r/a.js\n  4:5  error  no-var  rule\n  9:1  error  eqeqeq  rule\n\n2 problems\n",
			[]string{"/r/a.js: 9:1 error eqeqeq rule"},
		},
		"typescript": {"a.ts(3,5): error TS1: x\n", "a.ts(4,5): error TS1: x\nb.ts(1,1): error TS2: y\n", []string{"b.ts(1,1): error TS2: y"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := lint(StageClaim, tt.now)
			red, _ := RedOf(now, []agency.Receipt{lint(StageBase, tt.was), now})
			if !slices.Equal(red.Findings, tt.want) {
				t.Errorf("%q", red.Findings)
			}
		})
	}
}

// Of the events of go test -json, which a script asks for, people read the texts.
func TestLastLinesOfEvents(t *testing.T) {
	r := agency.Receipt{Output: `{"Action":"output","Package":"p","Output":"--- FAIL: TestX (0.00s)\n"}` + "\n" + `{"Action":"fail","Package":"p"}` + "\nmake: failed\n"}
	if got, want := LastLines(r), []string{"--- FAIL: TestX (0.00s)", "make: failed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Output = `{"Action":"start","Package":"p"}` + "\n"
	if got := LastLines(r); len(got) != 1 {
		t.Errorf("nothing is left of events without a text: %q", got)
	}
}
