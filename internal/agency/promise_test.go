package agency

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPromised makes a criterion of each thing that a contract's other fields promise,
// once, also where it is done again or the contract says other things since.
func TestPromised(t *testing.T) {
	c := Contract{
		AcceptanceCriteria: []Criterion{{ID: "own", Text: "it works", Check: &Check{Test: "TestOwn"}}},
		TestRequirements:   []string{"TestNope", "covers the empty list", "unit-tests", "pkg/test_a.py::test_x"},
		ExpectedOutputs:    Outputs{FilesCreated: []string{"a.go"}, FilesModified: []string{"b.go"}, TestsPassing: []string{"TestOwn", "TestNope"}},
	}
	want := []Criterion{
		c.AcceptanceCriteria[0],
		{ID: "tests_passing.2", Text: "the test TestNope passes", Check: &Check{Test: "TestNope"}, From: "tests_passing"},
		{ID: "test_requirements.2", Text: "covers the empty list", From: "test_requirements"},
		{ID: "test_requirements.3", Text: "unit-tests", From: "test_requirements"},
		{ID: "test_requirements.4", Text: "the test pkg/test_a.py::test_x passes", Check: &Check{Test: "pkg/test_a.py::test_x"}, From: "test_requirements"},
		{ID: "files_created.1", Text: "a.go is made", Check: &Check{Created: "a.go"}, From: "files_created"},
		{ID: "files_modified.1", Text: "b.go is changed", Check: &Check{Modified: "b.go"}, From: "files_modified"},
	}
	once := Promised(c)
	if diff := cmp.Diff(want, once.AcceptanceCriteria); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, Promised(once).AcceptanceCriteria); diff != "" {
		t.Errorf("again: %s", diff)
	}
	once.TestRequirements, once.ExpectedOutputs = nil, Outputs{}
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
