package mode

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/session"
)

// A critic that wants a discussion gets the manager's decision first; what the
// manager cannot decide, or may not, is a person's.
func TestManagerRulesOnReviews(t *testing.T) {
	report := func(d agency.Ruling, text string) session.Outcome {
		return session.Outcome{Kind: session.Reported, Decided: agency.Decided{Ruling: d}, Report: text}
	}
	const asks, manages = "gate review-a-1: approve", "session ask-a-review-1 1.1"
	for name, tt := range map[string]struct {
		review session.Outcome
		says   session.Outcome
		order  []string
		gate   bool
	}{
		"it may land":              {reviewed(talk), report(agency.RulingLand, "It is fine."), []string{manages, "land a: true"}, false},
		"not over a major finding": {reviewed(talk, "major held"), report(agency.RulingLand, "It is fine."), []string{manages, asks, "land a: true"}, true},
		"it is changed":            {reviewed(talk), report(agency.RulingRework, "Use the second reading."), []string{manages, "session a 1.2", "critic a 1 round 2.1: approve", "land a: true"}, false},
		"only a person can know":   {reviewed(talk), report(agency.RulingPerson, "Euros or dollars?"), []string{manages, asks}, true},
		"prose":                    {reviewed(talk), report("", "Decision: land"), []string{manages, asks}, true},
		"no decision":              {reviewed(talk), session.Outcome{Kind: session.Incomplete, Reason: "30 turns"}, []string{manages, asks}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.Review = agency.ReviewRules{MaxIterations: 3}
			s.plans = []session.Outcome{plan(part("a"))}
			s.judged = map[string]agency.Verdict{"a 1": greenOf("ta")}
			s.reviews = map[agency.ContractID][]session.Outcome{"a": {tt.review}}
			s.managers = map[agency.ContractID]session.Outcome{"a": tt.says}
			if got := s.run(Team, in); got != merged {
				t.Errorf("ended %+v", got)
			}
			s.order(tt.order...)
			if slices.Contains(s.said, asks) != tt.gate {
				t.Errorf("a person is asked: %v\n%s", !tt.gate, strings.Join(s.said, "\n"))
			}
			i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Answers != "" })
			in1 := s.contract(s.specs[i].Contract).Inputs
			if !strings.Contains(in1.Text("engineer"), "done") || !strings.Contains(in1.Text("critic"), "needs_discussion") || !strings.Contains(string(in1["contract"]), `"id":"a"`) {
				t.Errorf("the manager sees %v", in1)
			}
			if tt.gate && tt.says.Kind == session.Reported {
				if body := s.gateBody("review-a-1"); !strings.Contains(body, "who was asked first") {
					t.Errorf("the gate does not say what the manager said:\n%s", body)
				}
			}
			for _, sp := range s.specs {
				if sp.Contract == "a" && sp.Part == 2 && (sp.Answer.Review == nil || !strings.Contains(strings.Join(sp.Answer.Review.Conditions, " "), "Use the second reading.")) {
					t.Errorf("the engineer is told %+v", sp.Answer)
				}
			}
		})
	}
}

// One agent alone has no manager to ask.
func TestNobodyRulesWithoutATeam(t *testing.T) {
	s, in := newStage(t), input
	in.Review = agency.ReviewRules{MaxIterations: 3}
	s.verdicts = []agency.Verdict{greenOf("t1")}
	s.reviews = map[agency.ContractID][]session.Outcome{"fix": {reviewed(talk)}}
	s.run(ProducerCritic, in)
	s.order("gate review-fix-1: approve", "land fix: true")
}
