package verdicts

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// The log says of a claim what proves it, and of what is red since when.
func TestEventOfAVerdict(t *testing.T) {
	proofs := func(kinds ...agency.ProofKind) (out []agency.Proof) {
		for _, k := range kinds {
			out = append(out, agency.Proof{Proof: k})
		}
		return out
	}
	old := agency.Red{Kind: agency.CheckTest, Tests: []agency.RedTest{{Name: "TestOld", Before: true}, {Name: "TestNew"}}}
	lint := agency.Red{Kind: agency.CheckLint, Findings: []string{"a.go:3: unused"}}
	for name, tt := range map[string]struct {
		verdict agency.Verdict
		red     []agency.Red
		want    string
	}{
		"verified": {
			agency.Verdict{Pass: true, Proofs: proofs(agency.ProofVerified, agency.ProofAsserted, agency.ProofAsserted)},
			nil,
			"claim passed its checks: 1 verified, 2 asserted",
		},
		"asserted":    {agency.Verdict{Pass: true, Proofs: proofs(agency.ProofAsserted)}, nil, "claim passed its checks: 1 asserted"},
		"no criteria": {agency.Verdict{Pass: true}, nil, "claim passed its checks: no criteria"},
		"refused": {
			agency.Verdict{Reasons: []string{"regression: TestNew passed before and fails now", "more"}},
			[]agency.Red{old},
			"claim refused: regression: TestNew passed before and fails now; failed tests: TestOld (failed before), TestNew",
		},
		"red before too": {
			agency.Verdict{Pass: true, Proofs: proofs(agency.ProofVerified)},
			[]agency.Red{lint},
			"claim passed its checks: 1 verified; new in lint: a.go:3: unused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ev := eventOf("r", tt.verdict, tt.red)
			if ev.Summary != tt.want {
				t.Errorf("%q, want %q", ev.Summary, tt.want)
			}
			d, err := agency.DecodeDetail(ev)
			if v, ok := d.(*agency.VerdictSubmitted); err != nil || !ok || len(v.Red) != len(tt.red) {
				t.Errorf("%+v %v", d, err)
			}
			if strings.Contains(ev.Summary, "claim verified") {
				t.Error("a claim is not verified, its criteria are")
			}
		})
	}
}
