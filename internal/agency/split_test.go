package agency

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSplitOfAPlan keeps the rest of a plan of which a contract is too large, and puts its
// parts into its place.
func TestSplitOfAPlan(t *testing.T) {
	plan := []Contract{{ID: "first"}, {ID: "big", DependsOn: []ContractID{"first"}, EstimatedLines: 900}, {ID: "last", DependsOn: []ContractID{"big", "first"}}}
	faults := ValidatePlan(plan, PlanRules{MaxLines: 500})
	split, rest := TooLarge(plan, faults)
	if len(split) != 1 || split[0].ID != "big" || len(rest) != 2 {
		t.Fatalf("split %v, rest %v of %v", split, rest, faults)
	}
	if split, _ := TooLarge(plan, append(faults, PlanFault{Contract: "first", What: "has no title"})); split != nil {
		t.Error("a plan with other faults is taken apart")
	}
	whole, faults := InPlaceOf(append(rest, Contract{ID: "b1", ParentID: "big"}, Contract{ID: "b2", ParentID: "big", DependsOn: []ContractID{"b1"}}), split)
	want := []Contract{
		{ID: "first"},
		{ID: "last", DependsOn: []ContractID{"first", "b1", "b2"}},
		{ID: "b1", DependsOn: []ContractID{"first"}},
		{ID: "b2", DependsOn: []ContractID{"b1", "first"}},
	}
	if diff := cmp.Diff(want, whole); diff != "" || faults != nil {
		t.Error(diff, faults)
	}
	if faults := ValidatePlan(whole, PlanRules{MaxLines: 500}); len(faults) > 0 {
		t.Error(faults)
	}
	if _, faults := InPlaceOf(rest, split); len(faults) != 1 || !strings.Contains(faults[0].What, "parent_id big") {
		t.Errorf("nothing takes its place: %v", faults)
	}
	if _, faults := InPlaceOf(append(rest, Contract{ID: "big", EstimatedLines: 10}), split); faults != nil {
		t.Errorf("it is smaller now: %v", faults)
	}
}

// TestWholeNewPlan tells a new plan, which stands by itself, from one that merely leaves out
// what came back to be split.
func TestWholeNewPlan(t *testing.T) {
	noted := []Contract{{ID: "first"}, {ID: "last", Writes: []string{"last.txt"}}}
	split := []Contract{{ID: "big", Writes: []string{"a.go", "b/"}}}
	first, last, n1, n2 := noted[0], noted[1], Contract{ID: "n1", Writes: []string{"a.go", "last.txt"}}, Contract{ID: "n2", Writes: []string{"b/c.go"}}
	for name, tt := range map[string]struct {
		plan []Contract
		want bool
	}{
		"all anew":               {[]Contract{first, n1, n2}, true},
		"may change anything":    {[]Contract{first, last, {ID: "n3"}}, true},
		"left out":               {[]Contract{first, last}, false},
		"covered in part":        {[]Contract{first, last, n1}, false},
		"without one that noted": {[]Contract{last, n1, n2}, false},
		"nothing":                {nil, false},
	} {
		if got := Replaces(tt.plan, noted, split); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTooLargeAlone says what to do where one contract is all that a mode has.
func TestTooLargeAlone(t *testing.T) {
	faults := ValidatePlan([]Contract{{ID: "it", Writes: []string{"a", "b"}}}, PlanRules{MaxFiles: 1, Alone: true})
	if len(faults) != 1 || faults[0].What != "changes 2 files, the most is 1: this mode has one contract and cannot split it; raise contracts.max_files, or have it planned in mode multi_agent" {
		t.Error(faults)
	}
}

// TestPlanOfTheBase refuses what no claim could make good on the repository as it is.
func TestPlanOfTheBase(t *testing.T) {
	base := &PlanBase{
		Has:     func(f string) (has, known bool) { return f == "old.go", f != "unknown.go" },
		Feature: func(id FeatureID) string { return map[FeatureID]string{"none": "names no feature"}[id] },
		NoTests: true,
	}
	made := func(id ContractID, after ...ContractID) Contract {
		return Contract{ID: id, DependsOn: after, ExpectedOutputs: Outputs{FilesCreated: []string{"./old.go"}}}
	}
	changed := func(file string, after ...ContractID) Contract {
		return Contract{ID: "a", DependsOn: after, ExpectedOutputs: Outputs{FilesModified: []string{file}}}
	}
	const there, gone = "is there already: say files_modified", "new.go is not there: say files_created"
	for name, tt := range map[string]struct {
		plan []Contract
		want string
	}{
		"made":               {[]Contract{made("a")}, there},
		"after its deletion": {[]Contract{made("a", "b"), {ID: "b", DependsOn: []ContractID{"c"}, Writes: []string{"x"}}, {ID: "c", Writes: []string{"*.go"}}}, ""},
		"after anything":     {[]Contract{made("a", "b"), {ID: "b"}}, ""},
		"after a change":     {[]Contract{made("a", "b"), {ID: "b", ExpectedOutputs: Outputs{FilesModified: []string{"old.go"}}}}, there},
		"beside it":          {[]Contract{made("a"), {ID: "b", Writes: []string{"old.go"}}}, there},
		"changed":            {[]Contract{changed("./old.go")}, ""},
		"changed, not there": {[]Contract{changed("new.go")}, gone},
		"not known":          {[]Contract{changed("unknown.go")}, ""},
		"after it is made":   {[]Contract{changed("new.go", "b"), {ID: "b", DependsOn: []ContractID{"c"}, Writes: []string{"x"}}, {ID: "c", ExpectedOutputs: Outputs{FilesCreated: []string{"./new.go"}}}}, ""},
		"after it may be":    {[]Contract{changed("new.go", "b"), {ID: "b", Writes: []string{"*.go"}}}, ""},
		"after any change":   {[]Contract{changed("new.go", "b"), {ID: "b"}}, ""},
		"made beside it":     {[]Contract{changed("new.go"), {ID: "b", ExpectedOutputs: Outputs{FilesCreated: []string{"new.go"}}}}, gone},
		"made by itself":     {[]Contract{{ID: "a", ExpectedOutputs: Outputs{FilesModified: []string{"new.go"}, FilesCreated: []string{"new.go"}}}}, ""},
		"it has landed":      {[]Contract{changed("new.go"), {ID: "b", ActualOutputs: Results{Outputs: Outputs{FilesCreated: []string{"new.go"}}}}}, ""},
		"new":                {[]Contract{{ID: "a", ExpectedOutputs: Outputs{FilesCreated: []string{"new.go"}}}}, ""},
		"a feature":          {[]Contract{{ID: "a", FeatureID: "one"}}, ""},
		"no feature":         {[]Contract{{ID: "a", FeatureID: "none"}}, "names no feature"},
		"a test":             {[]Contract{Promised(Contract{ID: "a", TestRequirements: []string{"TestA", "it is tested"}})}, "no test command is known, so the test TestA never runs"},
		"coverage":           {[]Contract{Promised(Contract{ID: "a", QualityThresholds: map[string]float64{CoverageThreshold: 80}})}, "quality_thresholds.coverage cannot be measured"},
	} {
		faults := ValidatePlan(tt.plan, PlanRules{Base: base})
		switch {
		case tt.want == "" && len(faults) > 0, tt.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].What, tt.want)):
			t.Errorf("%s: %v, want %q", name, faults, tt.want)
		}
		if faults := ValidatePlan(tt.plan, PlanRules{}); len(faults) > 0 {
			t.Errorf("%s: nothing is known: %v", name, faults)
		}
	}
}
