package mode

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/session"
)

// Where somebody can be asked, a run of one agent moves up only after they were: at its start,
// and where its attempts are used up. Who says no keeps what they started.
func TestMovesUpWhenAllowed(t *testing.T) {
	large := input
	large.Triggers, large.Asks = []string{"manual_request"}, true
	large.Goal = "Do it in mode multi_agent"
	failing := input
	failing.Triggers, failing.Asks, failing.RetryBudget = []string{OnFailure}, true, 1
	for name, tt := range map[string]struct {
		in    Input
		gate  string
		verb  agency.Verb
		order []string
		want  string // of the reason
	}{
		"at the start, no":    {large, "escalate-start", agency.Reject, []string{"gate escalate-start: reject", "session main 1.1"}, "merged into trunk"},
		"at the start, yes":   {large, "escalate-start", agency.Approve, []string{"gate escalate-start: approve", "session plan 1.1"}, "merged into trunk"},
		"at its failure, no":  {failing, "escalate-" + OnFailure, agency.Reject, []string{"session main 1.1", "verify main 1: false", "gate escalate-" + OnFailure + ": reject"}, "the only attempt is used"},
		"at its failure, yes": {failing, "escalate-" + OnFailure, agency.Approve, []string{"verify main 1: false", "gate escalate-" + OnFailure + ": approve", "session plan 1.1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.plans = []session.Outcome{plan(part("a"))}
			s.judged = map[string]agency.Verdict{}
			if tt.in.RetryBudget == 1 {
				s.judged["main 1"] = red
			}
			s.answers = map[string]agency.Decision{tt.gate: {Verb: tt.verb}}
			got := s.play(tt.in)
			if !strings.Contains(got.Reason, tt.want) {
				t.Errorf("ended %+v", got)
			}
			s.order(tt.order...)
			for _, g := range s.allGates() {
				if strings.Contains(string(g.ID), "escalate-") && !strings.Contains(g.Body, "escalate: never") {
					t.Errorf("the gate says %q", g.Body)
				}
			}
		})
	}
}
