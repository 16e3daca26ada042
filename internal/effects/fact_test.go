package effects

import (
	"encoding/json"
	"testing"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
)

// A fact comes out of the journal as what it went in as, by its kind.
func TestFactsCrossTheJournal(t *testing.T) {
	for kind, f := range factKinds {
		b, err := json.Marshal(NewStep("r", "c", f))
		if err != nil {
			t.Fatal(err)
		}
		var raw struct {
			Fact struct{ Kind string }
		}
		if err := json.Unmarshal(b, &raw); err != nil || raw.Fact.Kind != kind {
			t.Errorf("%T is journaled as %s: %v", f, b, err)
		}
		var back Step
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, back.Fact.Fact); diff != "" {
			t.Errorf("%T (-in +out):\n%s", f, diff)
		}
	}
	var s Step
	if err := json.Unmarshal([]byte(`{"fact": {"kind": "wished", "payload": {}}}`), &s); agency.KindOf(err) != agency.KindInternal {
		t.Errorf("a fact of no kind: %v", err)
	}
	if _, err := json.Marshal(NewStep("r", "c", agency.Unblocked{})); err == nil {
		t.Error("a fact that no program tells was journaled")
	}
	want := agency.ClaimMade{Outputs: agency.Outputs{FilesCreated: []string{"a.go"}}}
	b, err := json.Marshal(NewStep("r", "c", want))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(agency.Fact(want), s.Fact.Fact); diff != "" {
		t.Errorf("-in +out:\n%s", diff)
	}
}
