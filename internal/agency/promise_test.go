package agency

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPromised makes a criterion of each thing that a contract's other fields promise,
// once, also where it is done again or the contract says other things since.
func TestPromised(t *testing.T) {
	c := Contract{
		AcceptanceCriteria: []Criterion{{ID: "own", Text: "it works", Check: &Check{Test: "TestOwn"}}},
		TestRequirements:   []string{"TestNope", "covers the empty list", "unit-tests", "pkg/test_a.py::test_x"},
		ExpectedOutputs:    Outputs{FilesCreated: []string{"a.go"}, FilesModified: []string{"b.go"}, TestsPassing: []string{"TestOwn", "TestNope", "a_test.go"}},
		Constraints:        []string{"no new file"},
		QualityThresholds:  map[string]float64{CoverageThreshold: 80},
	}
	want := []Criterion{
		c.AcceptanceCriteria[0],
		{ID: "tests_passing.2", Text: "the test TestNope passes", Check: &Check{Test: "TestNope"}, From: "tests_passing"},
		{ID: "tests_passing.3", Text: "the tests of a_test.go pass", Check: &Check{Test: "a_test.go"}, From: "tests_passing"},
		{ID: "tests_passing.file.3", Text: "a_test.go is there", Check: &Check{File: "a_test.go"}, From: "tests_passing.file"},
		{ID: "test_requirements.2", Text: "covers the empty list", From: "test_requirements"},
		{ID: "test_requirements.3", Text: "unit-tests", From: "test_requirements"},
		{ID: "test_requirements.4", Text: "the test pkg/test_a.py::test_x passes", Check: &Check{Test: "pkg/test_a.py::test_x"}, From: "test_requirements"},
		{ID: "files_created.1", Text: "a.go is made", Check: &Check{Created: "a.go"}, From: "files_created"},
		{ID: "files_modified.1", Text: "b.go is changed", Check: &Check{Modified: "b.go"}, From: "files_modified"},
		{ID: "constraints.1", Text: "no new file", From: "constraints"},
		{ID: "quality_thresholds.coverage", Text: "tests reach 80 percent of the changed lines", Check: &Check{Coverage: 80}, From: "quality_thresholds"},
	}
	once := Promised(c)
	if diff := cmp.Diff(want, once.AcceptanceCriteria); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, Promised(once).AcceptanceCriteria); diff != "" {
		t.Errorf("again: %s", diff)
	}
	once.TestRequirements, once.ExpectedOutputs, once.Constraints, once.QualityThresholds = nil, Outputs{}, nil, nil
	if diff := cmp.Diff(c.AcceptanceCriteria, Promised(once).AcceptanceCriteria); diff != "" {
		t.Errorf("taken back: %s", diff)
	}
}

// TestPromisesAreNoOnlyCriterion keeps what the tests of the run show for the only
// criterion that was written, whatever else is promised.
func TestPromisesAreNoOnlyCriterion(t *testing.T) {
	c := Promised(Contract{AcceptanceCriteria: []Criterion{{ID: "goal", Text: "it works"}}, ExpectedOutputs: Outputs{FilesCreated: []string{"a.go"}}})
	proofs := Prove(c.AcceptanceCriteria, nil, Checks{
		Fresh: []string{"TestA"}, Worth: map[string]TestWorth{"TestA": {Ground: GroundStood}}, Refs: map[Check]RefWorth{{Created: "a.go"}: {Why: "a.go is not there"}},
	})
	if proofs[0].Proof != ProofVerified || proofs[1].Proof != ProofOpen || proofs[1].Note != "a.go is not there" {
		t.Errorf("%+v", proofs)
	}
}

// TestPromiseFaults refuses what a contract promises and shows at once to be wrong.
func TestPromiseFaults(t *testing.T) {
	made := func(created, modified, writes []string) Contract {
		return Contract{Writes: writes, ExpectedOutputs: Outputs{FilesCreated: created, FilesModified: modified}}
	}
	list := func(s ...string) []string { return s }
	for name, tt := range map[string]struct {
		c    Contract
		want string
	}{
		"nothing":           {Contract{}, ""},
		"files":             {made(list("a.go"), list("b/c.go"), nil), ""},
		"within writes":     {made(list("a.go"), list("b/c.go", "d/e.go", "f.go"), list("*.go", "b", "d/", "f.go#F")), ""},
		"outside of writes": {made(list("a.go"), list("b/c.go"), list("b/**")), "files_created promises a.go, which its writes do not hold"},
		"a folder":          {made(list("b/"), nil, nil), `files_created holds "b/", and names files: folders, patterns and symbols belong in writes`},
		"a pattern":         {made(nil, list("*.go"), nil), `files_modified holds "*.go", and names files: folders, patterns and symbols belong in writes`},
		"a symbol":          {made(nil, list("a.go#A"), nil), `files_modified holds "a.go#A", and names files: folders, patterns and symbols belong in writes`},
		"both":              {made(list("a.go"), list("./a.go"), nil), "./a.go is to be made and to be changed: name it once"},
		"out of it":         {made(list("../a.go"), nil, nil), `files_created: path "../a.go" leaves the repository`},
		"no text":           {Contract{Constraints: list(" ")}, "constraints holds an empty text"},
		"a test of what":    {Contract{Type: TypeTest, Writes: list("a_test.go")}, "a contract of tests names what it tests"},
		"a test engineer's": {Contract{AssignedRole: RoleTestEngineer, Writes: list("a_test.go")}, "a contract of tests names what it tests"},
		"no test":           {Contract{AssignedRole: RoleTestEngineer, Type: TypeRefactor}, ""},
		"a test of a file":  {Contract{Type: TypeTest, RelevantFiles: list("a.go")}, ""},
		"a test by name":    {Contract{Type: TypeTest, AcceptanceCriteria: []Criterion{{ID: "a", Check: &Check{Test: "TestA"}}}}, ""},
		"a test of work":    {Contract{Type: TypeTest, DependsOn: []ContractID{"a"}}, ""},
		"a test by measure": {Contract{Type: TypeTest, QualityThresholds: map[string]float64{CoverageThreshold: 80}}, ""},
	} {
		got := strings.Join(PromiseFaults(tt.c), "; ")
		if got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestTestsOfAFile are all of it, and no others.
func TestTestsOfAFile(t *testing.T) {
	tests := map[string]TestStatus{
		"tests.test_auth.TestLogin.test_a": TestPassed, "tests.test_auth.TestLogin.test_b": TestSkipped, "tests.test_auth_more.TestX.test_c": TestFailed,
		"web/login.spec.ts > logs in": TestFailed, "ex.com/p/price.TestTotal": TestPassed,
	}
	for file, want := range map[string]TestStatus{
		"tests/test_auth.py": TestPassed, "web/login.spec.ts": TestFailed, "price/price_test.go": TestPassed, "tests/test_none.py": "", "other/other_test.go": "",
	} {
		if got, _ := LookUp(tests, file); got.Status != want {
			t.Errorf("%s: %q, want %q", file, got.Status, want)
		}
	}
}

// TestDepending reads what a contract depends on from its inputs, too.
func TestDepending(t *testing.T) {
	c := Depending(Contract{DependsOn: []ContractID{"a"}, Inputs: Inputs{DependenciesInput: json.RawMessage(`["b","a"]`)}})
	if diff := cmp.Diff([]ContractID{"a", "b"}, c.DependsOn); diff != "" {
		t.Error(diff)
	}
	if _, err := (Inputs{DependenciesInput: json.RawMessage(`{"lodash":"4"}`)}).Dependencies(); KindOf(err) != KindInvalid {
		t.Errorf("%v", err)
	}
}

// TestMeasuredByTheLastClaim shows of a claim that was refused what its checks found, and
// leaves open what none was made for.
func TestMeasuredByTheLastClaim(t *testing.T) {
	criteria := []Criterion{{ID: "met"}, {ID: "missed"}, {ID: "unseen"}, {ID: "new"}}
	c := Contract{Status: StatusInProgress, AcceptanceCriteria: criteria}
	last := Verdict{Proofs: []Proof{
		{Criterion: criteria[0], Proof: ProofVerified, Receipt: "r1", Note: "the run added a.go"},
		{Criterion: criteria[1], Proof: ProofOpen, Missed: true, Note: "b.go is not there"},
		{Criterion: criteria[2], Proof: ProofOpen, Note: "not checked"},
	}}
	want := []Proof{
		{Criterion: criteria[0], Proof: ProofVerified, Receipt: "r1", Note: "the run added a.go; in the last claim, which was not integrated"},
		last.Proofs[1], last.Proofs[2],
		{Criterion: criteria[3], Proof: ProofOpen},
	}
	got := Measured(ProveWithoutVerdict(c, nil), last)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, state := range []string{"verified", "missed", "open", "open"} {
		if got[i].State() != state {
			t.Errorf("%s is %s", got[i].ID, got[i].State())
		}
	}
}
