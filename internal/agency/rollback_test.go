package agency

import "testing"

// TestAfterFailure begins the next attempt where the rule says, and where whoever says
// that the way was wrong asks for.
func TestAfterFailure(t *testing.T) {
	half := Tried{Attempt: 1, Tree: "one", Base: "b", Met: 2, Red: 1}
	worse := Tried{Attempt: 2, Tree: "two", Base: "b", Met: 1, Red: 4}
	elsewhere := Tried{Attempt: 1, Tree: "old", Base: "a", Pass: true, Met: 3}
	nothing := Tried{Attempt: 1, Tree: "red", Base: "b", Red: 1}
	for name, tt := range map[string]struct {
		rule, asked Rollback
		left        OID
		tried       []Tried
		want        OID
	}{
		"keep":                              {RollbackKeep, "", "two", []Tried{half, worse}, ""},
		"keep, and the way was wrong":       {RollbackKeep, RollbackBase, "two", []Tried{half, worse}, "b"},
		"keep, and the last good is wanted": {RollbackKeep, RollbackBest, "three", []Tried{half}, "one"},
		"nothing was ever good":             {RollbackKeep, RollbackBest, "three", nil, "b"},
		"what stands is the good one":       {RollbackKeep, RollbackBest, "one", []Tried{half}, ""},
		"best":                              {RollbackBest, "", "two", []Tried{half, worse}, "one"},
		"best is what stands":               {RollbackBest, "", "one", []Tried{worse, half}, ""},
		"best of equals is what stands":     {RollbackBest, "", "same", []Tried{half, {Attempt: 2, Tree: "same", Base: "b", Met: 2, Red: 1}}, ""},
		"best beside what nobody verified":  {RollbackBest, "", "three", []Tried{half, worse}, "one"},
		"the only claim stands, red":        {RollbackBest, "", "red", []Tried{nothing}, ""},
		"none is better than nothing":       {RollbackBest, "", "three", []Tried{nothing}, ""},
		"best was on another base":          {RollbackBest, "", "two", []Tried{elsewhere, worse}, ""},
		"passing is better than more met":   {RollbackBest, "", "two", []Tried{{Attempt: 1, Tree: "ok", Base: "b", Pass: true, Met: 1}, half}, "ok"},
		"by the review":                     {RollbackBest, "", "two", []Tried{{Tree: "good", Base: "b", Pass: true, Score: 90}, {Tree: "two", Base: "b", Pass: true, Score: 60}}, "good"},
		"best, and the way was wrong":       {RollbackBest, RollbackBase, "two", []Tried{half, worse}, "b"},
		"base":                              {RollbackBase, "", "two", []Tried{half, worse}, "b"},
		"base, whatever is asked":           {RollbackBase, RollbackBest, "two", []Tried{half, worse}, "b"},
	} {
		var got OID
		if back := AfterFailure(tt.rule, tt.asked, tt.left, "b", tt.tried); back != nil {
			got = back.To
			if back.What == "" || back.Why == "" {
				t.Errorf("%s: says neither what nor why: %+v", name, back)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestTriedBy counts what a verdict says.
func TestTriedBy(t *testing.T) {
	got := TriedBy(Verdict{Attempt: 2, Tree: "t", Proofs: []Proof{{Proof: ProofVerified}, {Proof: ProofOpen}, {Proof: ProofAsserted}}, Regressions: []string{"A"}, Reasons: []string{"regression: A"}}, "b")
	if got != (Tried{Attempt: 2, Tree: "t", Base: "b", Met: 2, Red: 2}) {
		t.Errorf("%+v", got)
	}
	if got := TriedBy(Verdict{Pass: true, Reasons: []string{"a note"}}, "b"); got.Red != 0 || !got.Pass {
		t.Errorf("%+v", got)
	}
}
