package overseer

import (
	"slices"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
)

// stepIn has a story told with what a host does about it: each detection is an
// event behind the one that shows it.
func stepIn(s *story, t *Trail, w *Watch) (changes []Change) {
	take := func(e agency.Event) {
		if c, changed := t.Observe(e); changed {
			changes = append(changes, c)
		}
	}
	id := int64(0)
	for _, e := range s.events {
		id += 10
		e.ID, e.Summary = id, string(e.Type)
		take(e)
		found, _ := w.Observe(e)
		for n, d := range found {
			seen := agency.Overseen{Cause: string(d.Behaviour), Session: d.Session, Severity: string(d.Severity), Confidence: d.Confidence, Evidence: d.Evidence}
			var of agency.Detail = agency.Log{Overseen: &seen}
			switch d.Action {
			case ActionNudge:
				of = agency.Nudged{Overseen: seen, Text: d.Nudge()}
			case ActionPause:
				of = agency.Escalated{Overseen: &seen}
			case ActionHalt:
				of = agency.Halted{Overseen: seen}
			}
			told := agency.NewEvent(e.RunID, agency.SeverityWarning, "told", of)
			told.ID, told.Time, told.AgentID, told.Role, told.ContractID = id+int64(n)+1, e.Time, d.Agent, d.Role, d.Contract
			take(told)
			w.Observe(told)
		}
	}
	return changes
}

func conditions(changes []Change) (out []Condition) {
	for _, c := range changes {
		out = append(out, c.Now.Condition)
	}
	return out
}

// TestAftermath follows what an agent does after it was nudged: it takes another way,
// it claims to be done, it goes on as before until it is halted and another attempt
// begins; and before any of it nothing is known.
func TestAftermath(t *testing.T) {
	same := func(s *story, n int) {
		for range n {
			s.does(step{tool: "search_files", args: `{"pattern":"nowhere"}`, answer: "no match"})
		}
	}
	for _, tt := range []struct {
		name string
		then func(*story)
		want []agency.AftermathKind
		what string // the last one did then
		is   []Condition
	}{
		{"changes", func(s *story) { same(s, 5); s.works(2); s.add(agency.Claimed{Session: "s1"}) }, []agency.AftermathKind{agency.AfterChanged}, "tool_called", []Condition{Working, Looping, Working, ""}},
		{"claims", func(s *story) { same(s, 5); s.add(agency.Claimed{Session: "s1"}) }, []agency.AftermathKind{agency.AfterEnded}, "claimed", []Condition{Working, Looping, ""}},
		{"waits", func(s *story) { same(s, 5); s.add(agency.SessionParked{Session: "s1", For: "human"}) }, []agency.AftermathKind{agency.AfterPending}, "", []Condition{Working, Looping, Waiting}},
		{"nothing yet", func(s *story) { same(s, 6) }, []agency.AftermathKind{agency.AfterPending}, "", []Condition{Working, Looping}},
		{"goes on", func(s *story) {
			same(s, 8)
			s.add(agency.Failed{Session: "s1", Reason: "halted"})
			s.add(agency.Spawned{Session: "s2", Attempt: 2})
		}, []agency.AftermathKind{agency.AfterSame, agency.AfterEnded}, "spawned", []Condition{Working, Looping, Halted, "", Working}},
	} {
		s := newStory(tt.name, 1)
		tt.then(s)
		o := config.Defaults().Overseer
		o.Patterns.StagnationDetection = false
		trail := NewTrail(o)
		is := conditions(stepIn(s, trail, NewWatch(o)))
		var got []agency.AftermathKind
		for _, i := range trail.Interventions() {
			got = append(got, i.After.Outcome)
			if i.Cause != string(InfiniteLoop) || len(i.Evidence) == 0 || i.Agent == "" || i.Session != "s1" || i.By != agency.ByOverseer || i.Reason == "" || i.Severity == "" {
				t.Errorf("%s: %+v", tt.name, i)
			}
		}
		if !slices.Equal(got, tt.want) || !slices.Equal(is, tt.is) {
			t.Errorf("%s: %q, want %q; %q, want %q: %+v", tt.name, got, tt.want, is, tt.is, trail.Interventions())
		}
		last := trail.Interventions()[len(got)-1].After
		if tt.what != "" && last.What != tt.what || tt.name == "changes" && last.Turns != 1 {
			t.Errorf("%s: %+v", tt.name, last)
		}
	}
}

// TestNoSign is an agent whose heartbeats are missed, until it is heard of again.
func TestNoSign(t *testing.T) {
	s := newStory("silent", 1)
	s.works(1)
	s.add(agency.Log{Missed: 3})
	s.works(1)
	o := config.Defaults().Overseer
	if got := conditions(stepIn(s, NewTrail(o), NewWatch(o))); !slices.Equal(got, []Condition{Working, NoSign, Working}) {
		t.Errorf("%q", got)
	}
}

// TestReviewAfterItsSession is a review that is told when its session is over: the
// reviewer is not taken for one at work, whose time runs out.
func TestReviewAfterItsSession(t *testing.T) {
	s := newStory("review", 1)
	s.works(2)
	s.add(agency.Completed{Session: "s1", Outcome: "reviewed"})
	s.add(agency.ReviewSubmitted{})
	w := NewWatch(config.Defaults().Overseer)
	for _, e := range s.events {
		w.Observe(e)
	}
	if found, _ := w.Look(s.at.Add(29 * time.Minute)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// Of what was seen in a session that has ended, or whose run has, nothing is pending.
func TestNothingIsPendingAfterTheEnd(t *testing.T) {
	seen := func() agency.Detail {
		return agency.Log{Overseen: &agency.Overseen{Cause: string(Looping), Session: "s1", Severity: string(Medium), Cooldown: 60}}
	}
	for name, then := range map[string][]agency.Detail{
		"seen after a claim": {agency.Claimed{Session: "s1"}, seen()},
		"the run fails":      {seen(), agency.RunFailed{Reason: "x"}},
		"the run is stopped": {seen(), agency.RunCancelled{}},
		"claims":             {seen(), agency.Claimed{Session: "s1"}},
	} {
		s := newStory(name, 1)
		s.works(1)
		for _, d := range then {
			s.add(d)
		}
		trail := NewTrail(config.Defaults().Overseer)
		for _, e := range s.events {
			e.Summary = string(e.Type)
			trail.Observe(e)
		}
		all := trail.Interventions()
		if len(all) != 1 || all[0].After.Outcome != agency.AfterEnded || all[0].After.What == "" || all[0].Cooldown != 60 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// A run whose configuration was kept without settings of the overseer is followed by the
// default ones.
func TestNoSettings(t *testing.T) {
	s := newStory("none", 1)
	for range 30 {
		s.does(step{tool: "search_files", args: `{"pattern":"nowhere"}`, answer: "no match"})
	}
	trail := NewTrail(config.Overseer{})
	for i, e := range s.events {
		e.ID = int64(i + 1)
		trail.Observe(e)
	}
	if got, want := filled(config.Overseer{Enabled: true}), config.Defaults().Overseer; got.LoopDetectionWindow != want.LoopDetectionWindow || got.SnapshotHistorySize != want.SnapshotHistorySize || got.MaxTokens != want.MaxTokens {
		t.Errorf("%+v", got)
	}
	if kept := filled(config.Overseer{LoopDetectionWindow: 3}); kept.LoopDetectionWindow != 3 {
		t.Error("what is set is not kept")
	}
}
