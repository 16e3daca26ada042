package overseer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
)

// TestSettingsCount changes each key of the settings, and what is found or done of the
// same story changes with it.
func TestSettingsCount(t *testing.T) {
	loop := func(s *story) {
		same := s.search("TODO")
		for range 12 {
			s.does(same)
		}
	}
	idle := func(s *story) {
		for i := range 12 {
			s.prompt = 4000
			s.does(step{tool: "send_message", args: fmt.Sprint(i, s.text(9)), answer: "sent"})
		}
	}
	fails := func(s *story) {
		for i := range 6 {
			s.does(s.edit(s.file(i)), s.tests(30-2*i, s.text(3), reds(1+2*i)...))
		}
	}
	big := func(s *story) {
		s.works(3)
		s.add(agency.TurnCompleted{Session: "s1", Turn: 4, In: 200_000, Out: 10})
	}
	harm := func(s *story) {
		s.works(2)
		s.add(agency.ToolCalled{Session: "s1", Turn: 3, Tool: "run_command", Danger: []agency.DangerKind{agency.DangerHistory}})
	}
	for _, tt := range []struct {
		key   string
		story func(*story)
		set   func(*config.Overseer)
	}{
		{"enabled", loop, func(o *config.Overseer) { o.Enabled = false }},
		{"patterns.loop_detection", loop, func(o *config.Overseer) { o.Patterns.LoopDetection = false }},
		{"patterns.stagnation_detection", idle, func(o *config.Overseer) { o.Patterns.StagnationDetection = false }},
		{"patterns.danger_detection", harm, func(o *config.Overseer) { o.Patterns.DangerDetection = false }},
		{"loop_detection_window", loop, func(o *config.Overseer) { o.LoopDetectionWindow = 9 }},
		{"failure_increase_threshold", fails, func(o *config.Overseer) { o.FailureIncreaseThreshold = 9 }},
		{"stagnation_token_threshold", idle, func(o *config.Overseer) { o.StagnationTokenThreshold = 30_000 }},
		{"max_tokens", big, func(o *config.Overseer) { o.MaxTokens = 1_000_000 }},
		{"token_warning_threshold", func(s *story) {
			s.works(3)
			s.add(agency.TurnCompleted{Session: "s1", Turn: 4, In: 115_000, Out: 10})
		}, func(o *config.Overseer) { o.TokenWarningThreshold = 149_000 }},
		{"timeout_seconds", func(s *story) { s.works(9) }, func(o *config.Overseer) { o.TimeoutSeconds = 5 }},
		{"warn_threshold", loop, func(o *config.Overseer) { o.WarnThreshold = string(High) }},
		{"force_stop_threshold", loop, func(o *config.Overseer) { o.ForceStopThreshold = string(Medium) }},
		{"halt_on_critical", loop, func(o *config.Overseer) { o.HaltOnCritical = false }},
		{"max_nudges_per_agent", loop, func(o *config.Overseer) { o.MaxNudgesPerAgent = 0 }},
		{"nudge_cooldown_seconds", func(s *story) {
			loop(s)
			for i := range 9 {
				s.does(s.edit("a.go"))
				s.does(step{tool: "send_message", args: fmt.Sprint(i, s.text(9)), answer: "sent"})
			}
			idle(s)
		}, func(o *config.Overseer) { o.NudgeCooldownSeconds = 0 }},
	} {
		t.Run(tt.key, func(t *testing.T) {
			s := newStory(tt.key, 1)
			tt.story(s)
			seen := func(o config.Overseer) (out []string) {
				w := NewWatch(o)
				for _, e := range s.events {
					found, _ := w.Observe(e)
					for _, d := range found {
						out = append(out, fmt.Sprint(d.Turn, d.Behaviour, d.Severity, d.Action))
					}
				}
				return out
			}
			o := config.Defaults().Overseer
			before := seen(o)
			tt.set(&o)
			if after := seen(o); slices.Equal(before, after) {
				t.Errorf("changes nothing: %q", after)
			}
		})
	}
	t.Run("snapshot_history_size", func(t *testing.T) {
		o := config.Defaults().Overseer
		o.SnapshotHistorySize = 3000
		if small, large := NewWatch(config.Defaults().Overseer).sessions.most, NewWatch(o).sessions.most; large != 3000 || small >= large {
			t.Errorf("%d calls are remembered, and %d", small, large)
		}
	})
	t.Run("check_interval_seconds", func(t *testing.T) { // what a clock may be ahead between two looks
		o := config.Defaults().Overseer
		o.CheckIntervalSeconds = 3600
		for _, c := range []struct {
			o    config.Overseer
			want time.Duration
		}{{config.Defaults().Overseer, 20 * time.Second}, {o, 2 * time.Hour}} {
			w := NewWatch(c.o)
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			w.Look(at)
			if w.Look(at.AddDate(1, 0, 0)); w.awake != c.want {
				t.Errorf("awake %s, want %s", w.awake, c.want)
			}
		}
	})
}

// TestClockForward sets the clock a year ahead, in the middle of a turn and while
// nothing happens: no time at work has passed, and nobody is silent for it.
func TestClockForward(t *testing.T) {
	s := newStory("ahead", 1)
	s.works(6)
	half := len(s.events) / 2
	for i := range s.events[half:] {
		s.events[half+i].Time = s.events[half+i].Time.AddDate(1, 0, 0)
	}
	w := NewWatch(config.Defaults().Overseer)
	for _, e := range s.events {
		if found, _ := w.Observe(e); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	}
	last := s.events[len(s.events)-1].Time
	if found, _ := w.Look(last.AddDate(1, 0, 0)); len(found) > 0 {
		t.Errorf("a look a year later: %+v", found)
	}
	if v := w.Views()[0]; v.Elapsed > 120 || v.Silent > 60 {
		t.Errorf("at work for %.0f s, silent for %.0f s", v.Elapsed, v.Silent)
	}
}

// TestSnapshot is what is known of an agent at work, and what stays of it.
func TestSnapshot(t *testing.T) {
	s := newStory("snapshot", 1)
	s.does(s.read("a.go"))
	s.does(s.edit("a.go"), s.edit("b.go"))
	s.does(step{tool: "run_command", args: "make", answer: "error: exit code 2"})
	s.add(agency.ToolRefused{Session: "s1", Turn: 3, Tool: "delete_file", Reason: "no"})
	s.add(agency.MessageSent{Message: "m1", From: "scaffolder-1", To: "project_manager"})
	s.add(agency.MessageDelivered{Message: "m2", To: "scaffolder-1"})
	s.add(agency.SessionParked{Session: "s1", For: "human"})
	w := NewWatch(config.Defaults().Overseer)
	for _, e := range s.events {
		w.Observe(e)
	}
	is := w.Snapshots()[0]
	if is.Agent != "scaffolder-1" || is.Session != "s1" || is.Contract != "c1" || is.Turns != 3 || is.Files != 2 || is.Calls != 5 || is.Errors == 0 ||
		is.Sent != 1 || is.Received != 1 || is.Tool != "delete_file" || is.File != "b.go" || is.Tokens == 0 || is.Ended || is.Started.IsZero() || is.Active.Before(is.Started) {
		t.Errorf("%+v", is)
	}
	if v := w.Views(); len(v) != 1 || v[0].Condition != Waiting || v[0].Why != "for human" || v[0].Turns != 3 {
		t.Errorf("%+v", v)
	}
	s.add(agency.Completed{Session: "s1", Outcome: "claimed"})
	w.Observe(s.events[len(s.events)-1])
	if all := w.Snapshots(); len(all) != 1 || !all[0].Ended || all[0].Turns != 3 || len(w.Views()) != 0 {
		t.Errorf("%+v", all)
	}
}

// TestMassDeletion is a turn after which most files are gone; tidying up is none.
func TestMassDeletion(t *testing.T) {
	for _, tt := range []struct {
		gone agency.FilesGone
		want bool
	}{{agency.FilesGone{Before: 40, Gone: 30}, true}, {agency.FilesGone{Before: 400, Gone: 30}, false}, {agency.FilesGone{Before: 6, Gone: 5}, false}} {
		s := newStory("gone", 1)
		s.works(2)
		s.add(agency.TurnCompleted{Session: "s1", Turn: 3, In: 100, Out: 1, Files: tt.gone})
		found := observe(t, s)
		if is := len(found) == 1 && found[0].Behaviour == Danger; is != tt.want {
			t.Errorf("%+v: %+v", tt.gone, found)
		}
	}
}

// FuzzObserve feeds lines of a log, whatever they hold: nothing panics, and the same
// lines give the same answers.
func FuzzObserve(f *testing.F) {
	s := newStory("seed", 1)
	stuck["exact loop"](s)
	var whole []string
	for _, e := range s.events {
		line, _ := json.Marshal(e)
		whole = append(whole, string(line))
	}
	f.Add(strings.Join(whole, "\n"))
	f.Add(`{"id":1,"type":"turn_completed","agent_id":"a","details":{"turn":-9223372036854775808,"tokens_in":9223372036854775807}}`)
	f.Add(`{"id":-4,"type":"tool_called","agent_id":"a","details":{"session_id":"s","turn":1,"tool":"run_command"},"time":"9999-01-01T00:00:00Z"}`)
	f.Fuzz(func(t *testing.T, log string) {
		var was []string
		for round := range 2 {
			w, trail := NewWatch(config.Defaults().Overseer), NewTrail(config.Defaults().Overseer)
			var now []string
			for line := range strings.SplitSeq(log, "\n") {
				var e agency.Event
				if json.Unmarshal([]byte(line), &e) != nil {
					continue
				}
				trail.Observe(e)
				found, faults := w.Observe(e)
				more, others := w.Look(e.Time)
				if len(faults)+len(others) > 0 {
					t.Fatalf("%+v %+v", faults, others)
				}
				for _, d := range append(found, more...) {
					now = append(now, fmt.Sprint(d.Event, d.Behaviour, d.Severity, d.Action, d.Evidence))
				}
				w.Views()
			}
			if round == 1 && !slices.Equal(was, now) {
				t.Fatalf("%q, and then %q", was, now)
			}
			was = now
		}
	})
}
