package verify_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
)

// TestProofByAChangedTest: most fixes add to a test that is there. It passed
// before under its name, so that its new form is run on the base's code.
func TestProofByAChangedTest(t *testing.T) {
	green := baseFiles()
	green["sub_test.go"] = strings.Replace(subTest, "Sub(3, 2) != 1", "Sub(3, 0) != 3", 1)
	w := newWorld(t, green)
	without := func(v agency.Verdict) int {
		n := 0
		for _, r := range w.receipts() {
			if slices.Contains(v.Receipts, r.ID) && r.Stage == string(check.StageWithout) {
				n++
			}
		}
		return n
	}
	spec := w.change(map[string]string{"sub.go": goodGo, "sub_test.go": subTest})
	spec.ClaimInfo.Evidence = []agency.Evidence{{Criterion: "goal", Kind: agency.CheckTest, Ref: "TestSub"}}
	v := w.verify(spec)
	wants(t, v, true)
	if p := v.Proofs[0]; p.Proof != agency.ProofVerified || !strings.Contains(p.Note, "fails without the change") || without(v) != 1 {
		t.Errorf("proof %+v, %d runs without the change", p, without(v))
	}

	spec = w.change(map[string]string{"sub.go": goodGo, "sub_test.go": strings.Replace(green["sub_test.go"], "difference", "other", 1)})
	spec.Criteria[0].Check = &agency.Check{Test: "TestSub"}
	v = w.verify(spec)
	if p := v.Proofs[0]; p.Proof != agency.ProofAsserted || without(v) != 1 {
		t.Errorf("a test that does not need the change: proof %+v, %d runs", p, without(v))
	}

	spec = w.change(map[string]string{"sub.go": goodGo})
	spec.Criteria[0].Check = &agency.Check{Test: "TestSub"}
	v = w.verify(spec)
	if p := v.Proofs[0]; p.Proof != agency.ProofAsserted || without(v) != 0 {
		t.Errorf("no test is changed: proof %+v, %d runs", p, without(v))
	}
}
