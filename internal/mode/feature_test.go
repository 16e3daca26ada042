package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/store"
)

var feature = agency.Feature{ID: "f1", Description: "the goal", VerificationSteps: []string{"it works"}, TestFile: "f_test.go"}

// The word that a feature is done lands after the work, before the merge gate,
// and never where the work did not land.
func TestFeatureIsMarked(t *testing.T) {
	for name, tt := range map[string]struct {
		mode  string
		set   func(*stage, *Input)
		want  Result
		order []string
		not   string
	}{
		"one agent": {
			"single", func(*stage, *Input) {}, merged,
			[]string{"land main: true", "mark f1 in features.json at c-main: []", "land features.json: true", "gate merge-1: approve"},
			"",
		},
		"a rejected merge is marked again, on top": {
			"single", func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "no"}}
			}, merged,
			[]string{"land features.json: true", "gate merge-1: reject", "land main-2: true", "land features.json-2: true", "gate merge-main-2-1: approve"},
			"",
		},
		"work that fails is not marked": {
			"single", func(s *stage, _ *Input) { s.judged = map[string]agency.Verdict{"main 1": red, "main 2": red} },
			Result{Reason: "the work does not hold: p.TestX fails; all 2 attempts are used"},
			nil, "mark f1",
		},
		"a backlog that cannot say it holds up nothing": {
			"single", func(s *stage, _ *Input) { s.unmarked = agency.Errorf(agency.KindInvalid, "it is broken") }, merged,
			[]string{"land main: true", "gate merge-1: approve"},
			"land features.json",
		},
		"a mark that does not land holds up nothing": {
			"single", func(s *stage, _ *Input) {
				s.landed = map[string]land.Outcome{"features.json 1": {Red: &land.Red{}, Reason: "red"}}
			}, merged,
			[]string{"land features.json: false", "gate merge-1: approve"},
			"",
		},
		"a team": {
			"team", func(s *stage, _ *Input) { s.plans = []session.Outcome{plan(part("a"), part("b", "a"))} }, merged,
			[]string{"land b: true", "land features.json: true", "gate merge-1: approve"},
			"",
		},
		"a plan of which a part failed is not the feature": {
			"team", func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"b 1": red, "b 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("b")), {Kind: session.Incomplete, Reason: "x"}, {Kind: session.Incomplete, Reason: "x"}}
			}, merged,
			[]string{"gate incomplete: approve", "gate merge-1: approve"},
			"mark f1",
		},
		"no feature": {"single", func(_ *stage, in *Input) { in.Feature = nil }, merged, []string{"land main: true", "gate merge-1: approve"}, "mark f1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, in, program := newStage(t), teamInput, Team
			if tt.mode == "single" {
				in, program = input, Single
			}
			in.Feature = &feature
			tt.set(s, &in)
			if got := s.run(program, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			s.order(tt.order...)
			if tt.not != "" && slices.ContainsFunc(s.said, func(l string) bool { return strings.HasPrefix(l, tt.not) }) {
				t.Errorf("%q in %v", tt.not, s.said)
			}
		})
	}
}

func TestFeatureAsContract(t *testing.T) {
	s, in := newStage(t), input
	in.Feature = &feature
	s.run(Single, in)
	c := s.contract("main")
	if c.FeatureID != "f1" || len(c.AcceptanceCriteria) != 2 || c.AcceptanceCriteria[0].Text != "it works" || c.AcceptanceCriteria[1].Check.File != "f_test.go" {
		t.Errorf("%+v", c)
	}
	s, in = newStage(t), teamInput
	in.Feature = &feature
	other := part("b")
	other.FeatureID = "f2"
	s.plans = []session.Outcome{plan(part("a"), other)}
	s.run(Team, in)
	if a, b := s.contract("a").FeatureID, s.contract("b").FeatureID; a != "f1" || b != "f2" {
		t.Errorf("features %q and %q", a, b)
	}
}

func TestAnUnmarkedFeatureIsTold(t *testing.T) {
	s, in := newStage(t), input
	in.Feature, s.unmarked = &feature, agency.Errorf(agency.KindNotFound, "no such feature")
	s.run(Single, in)
	var evs []agency.Event
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) (err error) {
		evs, err = event.Since(q, 0, event.Filter{Run: run, Types: []agency.EventType{"log"}}, 0)
		return err
	})
	if len(evs) != 1 || evs[0].Severity != agency.SeverityWarning || !strings.Contains(evs[0].Summary, "f1 is not marked as done: no such feature") {
		t.Errorf("%+v", evs)
	}
}
