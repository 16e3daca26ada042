package mode

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/session"
)

// Where producer and critic do not come together, the manager decides before a person
// is asked: it may have the work done once more, reword, reassign or split it, and let
// land what the harness would let a critic approve of. A second dispute, and what cannot
// be done, is a person's.
func TestManagerRulesOnDisputes(t *testing.T) {
	const asks, again, manages = "gate review-a-1: approve", "gate review-a-2: approve", "session ask-a-review-1 1.1"
	report := func(d agency.Decided) session.Outcome {
		return session.Outcome{Kind: session.Reported, Decided: d, Report: "The first reading is right."}
	}
	for name, tt := range map[string]struct {
		says    agency.Decided
		finding string
		budget  int
		second  session.Outcome // review
		order   []string
		persons []string // gates that a person answers
	}{
		"done once more": {agency.Decided{Ruling: agency.RulingRework}, "major held", 2, reviewed(ok), []string{manages, "session a 2.1", "critic a 2 round 1.1: approve", "land a: true"}, nil},
		"reworded":       {agency.Decided{Ruling: agency.RulingReword, Wording: "the other thing"}, "major held", 2, reviewed(ok), []string{manages, "session a 2.1", "land a: true"}, nil},
		"reassigned":     {agency.Decided{Ruling: agency.RulingReassign, Role: agency.RoleCleanup}, "major held", 2, reviewed(ok), []string{manages, "session a 2.1", "land a: true"}, nil},
		"split":          {agency.Decided{Ruling: agency.RulingSplit}, "major held", 2, reviewed(ok), []string{manages, "session replan 1.1", "land half: true"}, nil},
		"may not land":   {agency.Decided{Ruling: agency.RulingLand}, "major held", 2, reviewed(ok), []string{manages, asks, "land a: true"}, []string{"review-a-1"}},
		"may land":       {agency.Decided{Ruling: agency.RulingLand}, "minor held", 2, reviewed(ok), []string{manages, "land a: true"}, nil},
		"no attempt":     {agency.Decided{Ruling: agency.RulingRework}, "major held", 1, reviewed(ok), []string{manages, asks, "land a: true"}, []string{"review-a-1"}},
		"same role":      {agency.Decided{Ruling: agency.RulingReassign, Role: agency.RoleScaffolder}, "major held", 2, reviewed(ok), []string{manages, asks}, []string{"review-a-1"}},
		"a second time":  {agency.Decided{Ruling: agency.RulingRework}, "major held", 2, reviewed(no, "major held"), []string{manages, "session a 2.1", again, "land a: true"}, []string{"review-a-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.Review = agency.ReviewRules{MaxIterations: 1, Perfect: true}
			in.RetryBudget = tt.budget
			s.plans = []session.Outcome{plan(part("a")), plan(part("half"))}
			s.judged = map[string]agency.Verdict{"a 1": greenOf("ta"), "a 2": greenOf("ta2"), "half 1": greenOf("th")}
			s.reviews = map[agency.ContractID][]session.Outcome{"a": {reviewed(no, tt.finding), tt.second}}
			s.managers = map[agency.ContractID]session.Outcome{"a": report(tt.says)}
			if got := s.run(Team, in); got != merged {
				t.Errorf("ended %+v\n%s", got, strings.Join(s.said, "\n"))
			}
			s.order(tt.order...)
			var persons []string
			for _, line := range s.said {
				if g, found := strings.CutPrefix(line, "gate "); found && strings.HasPrefix(g, "review-a") {
					persons = append(persons, strings.SplitN(g, ":", 2)[0])
				}
			}
			if !slices.Equal(persons, tt.persons) {
				t.Errorf("a person is asked %q, want %q\n%s", persons, tt.persons, strings.Join(s.said, "\n"))
			}
			s.carriedOut(tt.says)
		})
	}
}

// carriedOut looks at what the next attempt at contract a is told, and by whom it is
// made.
func (s *stage) carriedOut(d agency.Decided) {
	s.t.Helper()
	i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "a" && sp.Attempt == 2 })
	if i < 0 {
		return
	}
	spec, c := s.specs[i], s.contract("a")
	if !strings.Contains(spec.Feedback.Reason, "The first reading is right.") || len(spec.Feedback.Reviews) == 0 {
		s.t.Errorf("it is told %+v", spec.Feedback)
	}
	if d.Ruling == agency.RulingReassign && (spec.Role != d.Role || c.AssignedAgentID != agency.MemberID(d.Role, "a")) {
		s.t.Errorf("%s works, %s holds it", spec.Role, c.AssignedAgentID)
	}
	if want := d.Wording; want != "" && (c.Description != want || c.AcceptanceCriteria[0].Text != part("a").AcceptanceCriteria[0].Text) {
		s.t.Errorf("it says %q, %v", c.Description, c.AcceptanceCriteria)
	}
}
