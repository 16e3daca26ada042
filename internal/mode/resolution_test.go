package mode

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/land"
	"agency/internal/session"

	"github.com/google/go-cmp/cmp"
)

// A resolution that loses what the other side brought goes back once, one with
// conflict marks each time; what stays is recorded with the landing.
func TestResolutionsOfConflicts(t *testing.T) {
	lost := land.Resolution{Theirs: []string{"x.go: round()"}, Ours: []string{"x.go: trim()"}}
	marked := land.Resolution{Marked: []string{"x.go"}}
	for name, tt := range map[string]struct {
		budget      int
		resolutions []land.Resolution
		feedback    []session.Feedback // of the attempts after the one that conflicted
		landed      []string           // lost lines of the landing; nil: nothing landed
	}{
		"whole":        {3, nil, nil, []string{}},
		"lost once":    {3, []land.Resolution{lost}, []session.Feedback{{Attempt: 2, Lost: lost.Theirs, Reason: "the resolution of the conflict has no trace of 1 line of the other side, such as x.go: round()"}}, []string{}},
		"lost twice":   {4, []land.Resolution{lost, lost}, []session.Feedback{{Attempt: 2, Lost: lost.Theirs, Reason: "the resolution of the conflict has no trace of 1 line of the other side, such as x.go: round()"}}, []string{"x.go: round()", "x.go: trim()"}},
		"at the last":  {2, []land.Resolution{lost}, nil, []string{"x.go: round()", "x.go: trim()"}},
		"its own only": {3, []land.Resolution{{Ours: lost.Ours}}, nil, []string{"x.go: trim()"}},
		"marks":        {4, []land.Resolution{marked, marked}, []session.Feedback{{Attempt: 2, Reason: "conflict marks are left in x.go"}, {Attempt: 3, Reason: "conflict marks are left in x.go"}}, []string{}},
		"marks to the end": {
			3, []land.Resolution{marked, marked}, []session.Feedback{{Attempt: 2, Reason: "conflict marks are left in x.go"}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.landed = map[string]land.Outcome{"b 1": {Conflict: &agency.Conflict{Head: "head", Paths: []string{"x.go"}, With: []agency.ContractID{"a"}}, Reason: "it conflicts"}}
			s.plans = []session.Outcome{plan(part("a"), part("b", "a"))}
			s.resolutions = tt.resolutions
			in := teamInput
			in.RetryBudget = tt.budget
			s.run(Team, in)
			s.order("resolution tree of tree and head from head in [x.go]")
			var got []session.Feedback
			for _, spec := range s.specs {
				if spec.Contract == "b" && spec.Attempt > 2 {
					got = append(got, *spec.Feedback)
				}
			}
			if diff := cmp.Diff(tt.feedback, got); diff != "" {
				t.Errorf("feedback (-want +got):\n%s", diff)
			}
			var landed []string
			for _, spec := range s.lands {
				if spec.Contract == "b" {
					landed = append([]string{}, spec.Lost...)
				}
			}
			if s.contract("b").Status != agency.StatusComplete {
				landed = nil
			}
			if diff := cmp.Diff(tt.landed, landed); diff != "" {
				t.Errorf("landed without (-want +got):\n%s", diff)
			}
		})
	}
}
