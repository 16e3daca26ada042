package overseer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
)

// observe is what the watch says of a story: each detection.
func observe(t *testing.T, s *story) []Detection {
	t.Helper()
	w := NewWatch(config.Defaults().Overseer)
	var out []Detection
	for _, e := range s.events {
		found, faults := w.Observe(e)
		if len(faults) > 0 {
			t.Fatalf("%s: %v", s.name, faults)
		}
		out = append(out, found...)
	}
	return out
}

// tally is what a set of stories came to.
type tally struct {
	stories, found, turns, alarms, halts, delay int
}

// TestStories prints what is found of stuck agents and how soon, and what is said
// of healthy ones. Thresholds were chosen on stories with odd seeds; those with
// even seeds judge them.
func TestStories(t *testing.T) {
	const seeds = 4
	sum := map[string]*tally{}
	for _, name := range slices.Sorted(maps.Keys(stuck)) {
		for seed := range uint64(seeds) {
			s := newStory(name, seed)
			s.works(int(seed) * 3)
			stuck[name](s)
			half := sum[[]string{"judged", "chosen"}[seed%2]+" stuck"]
			if half == nil {
				half = &tally{}
				sum[[]string{"judged", "chosen"}[seed%2]+" stuck"] = half
			}
			half.stories++
			half.turns += s.from - 1
			at := 0
			for _, d := range observe(t, s) {
				turn := max(d.Turn, 1)
				if turn < s.from && d.Severity != Low {
					half.alarms++
					t.Logf("%s: turn %d, before %d: %s %v", s.name, turn, s.from, d.Behaviour, d.Evidence)
				} else if at == 0 && slices.Contains(s.wants, d.Behaviour) {
					at = turn
				}
			}
			if at == 0 || at-s.from+1 > 8 {
				t.Errorf("%s begins at turn %d, found at %d: %v", s.name, s.from, at, observe(t, s))
				continue
			}
			half.found++
			half.delay += at - s.from + 1
		}
	}
	for _, name := range slices.Sorted(maps.Keys(healthy)) {
		for seed := range uint64(seeds) {
			s := newStory(name, seed)
			healthy[name](s)
			key := []string{"judged", "chosen"}[seed%2] + " healthy"
			if sum[key] == nil {
				sum[key] = &tally{}
			}
			half := sum[key]
			half.stories++
			half.turns += s.turn
			for _, d := range observe(t, s) {
				half.alarms++
				t.Logf("%s: turn %d: %s %s %v", s.name, d.Turn, d.Severity, d.Behaviour, d.Evidence)
				if d.Severity == Critical {
					half.halts++
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sum)) {
		s := sum[key]
		t.Logf("%-15s %3d stories %5d turns: %3d found, %.1f turns later; %d false alarms, %d halts", key, s.stories, s.turns, s.found, float64(s.delay)/float64(max(s.found, 1)), s.alarms, s.halts)
		if s.halts > 0 || s.alarms*100 > s.turns {
			t.Errorf("%s: %d false alarms in %d turns, %d halts", key, s.alarms, s.turns, s.halts)
		}
	}
}

// TestTrajectories watches recorded sessions of another agent, which all ended
// well. They are read where AGENCY_TRAJECTORIES names their folder.
func TestTrajectories(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("AGENCY_TRAJECTORIES"), "*.traj"))
	if len(files) == 0 {
		t.Skip("AGENCY_TRAJECTORIES names no folder with recordings")
	}
	turns, alarms := 0, 0
	for _, f := range files {
		s := newStory(filepath.Base(f), 0)
		for _, p := range trajectory(t, f) {
			s.does(p)
		}
		turns += s.turn
		for _, d := range observe(t, s) {
			alarms++
			t.Logf("%s: turn %d: %s %s %v", filepath.Base(f), d.Turn, d.Severity, d.Behaviour, d.Evidence)
			if d.Severity == Critical {
				t.Errorf("%s would be halted", filepath.Base(f))
			}
		}
	}
	t.Logf("%d recordings, %d turns, %d false alarms", len(files), turns, alarms)
	if alarms*100 > turns {
		t.Errorf("%d false alarms in %d turns", alarms, turns)
	}
}

// trajectory reads a recording's calls.
func trajectory(t *testing.T, name string) []step {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var doc struct {
		Trajectory []struct{ Action, Observation string } `json:"trajectory"`
		History    []struct {
			Role, Content string
			Action        string
		} `json:"history"`
	}
	if err := json.NewDecoder(bufio.NewReader(f)).Decode(&doc); err != nil {
		t.Skipf("%s: %v", name, err)
	}
	var out []step
	for _, s := range doc.Trajectory {
		out = append(out, step{tool: "run_command", args: s.Action, answer: s.Observation})
	}
	return out
}

// TestPanicDisablesOne lets one detector panic: it is off for the run, with a word,
// and the others go on.
func TestPanicDisablesOne(t *testing.T) {
	old := detectors
	defer func() { detectors = old }()
	detectors = append([]detector{{Inefficiency, always, func(*history, config.Overseer) finding { panic("boom") }}}, old...)
	s := newStory("loop", 1)
	stuck["exact loop"](s)
	w := NewWatch(config.Defaults().Overseer)
	faults, found := 0, 0
	for _, e := range s.events {
		d, f := w.Observe(e)
		faults += len(f)
		for _, d := range d {
			if d.Behaviour == InfiniteLoop {
				found++
			}
		}
	}
	if faults != 1 || found == 0 {
		t.Errorf("%d faults, %d detections", faults, found)
	}
}

// TestClockJumps turns the clock back and far ahead within waits: neither is a
// timeout, and nothing is found in an agent that gets on.
func TestClockJumps(t *testing.T) {
	s := newStory("jumps", 1)
	s.works(6)
	for i := range s.events[len(s.events)/2:] {
		e := &s.events[len(s.events)/2+i]
		e.Time = e.Time.AddDate(-1, 0, 0)
	}
	if found := observe(t, s); len(found) > 0 {
		t.Error(found)
	}
}

// TestNudges executes the text of each behaviour.
func TestNudges(t *testing.T) {
	for _, d := range detectors {
		if d.behaviour == Oscillation || d.behaviour == ScopeCreep || d.behaviour == MissedHeartbeat {
			continue // TestReviewsAreToldAlone
		}
		text := Detection{Behaviour: d.behaviour, Evidence: []string{"seen <twice>"}}.Nudge()
		if !strings.Contains(text, "- seen <twice>\n") || strings.Contains(text, "{{") {
			t.Errorf("%s: %q", d.behaviour, text)
		}
	}
}

// TestLadder goes on with an agent whom nudges do not change: each has time to
// change something, then the agent is paused; a fresh session begins anew, but the
// agent's nudges count on, and one too many calls for whoever leads it.
func TestLadder(t *testing.T) {
	o := config.Defaults().Overseer
	o.MaxNudgesPerAgent = 3
	w := NewWatch(o)
	s := newStory("ladder", 1)
	for range 2 {
		for range 30 {
			s.does(step{tool: "send_message", args: s.text(40), answer: "sent"})
			s.at = s.at.Add(15 * time.Second)
		}
		s.turn = 0
		s.add(agency.Spawned{Session: "s1", Attempt: 2, Model: "m"})
	}
	var got []string
	for _, e := range s.events {
		found, _ := w.Observe(e)
		for _, d := range found {
			if d.Behaviour == Stagnation {
				got = append(got, fmt.Sprint(d.Turn, " ", d.Severity, " ", d.Action))
			}
		}
	}
	want := []string{"4 medium nudge", "10 medium nudge", "12 high pause", "4 medium nudge", "10 medium pause"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCooldown keeps nudges of one agent apart: the second waits, and is not lost.
func TestCooldown(t *testing.T) {
	o := config.Defaults().Overseer
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := newHistory(agency.Event{Time: at}, key{}, 10, &nudges{})
	told := func(b Behaviour, after time.Duration) (Action, bool) {
		h.clock.last = at.Add(after)
		_, a, due := h.ladder(b, finding{severity: Medium}, o)
		return a, due
	}
	for _, c := range []struct {
		behaviour Behaviour
		after     time.Duration
		action    Action
		due       bool
	}{
		{Timeout, 0, ActionNudge, true},
		{InfiniteLoop, 59 * time.Second, ActionLog, true},
		{InfiniteLoop, 60 * time.Second, ActionNudge, true},
		{Timeout, 9 * time.Hour, "", false},
	} {
		if a, due := told(c.behaviour, c.after); a != c.action || due != c.due {
			t.Errorf("%s after %s: %q %t", c.behaviour, c.after, a, due)
		}
	}
}

// TestCooldownHoldsNothingUp has an agent take its turns within one cooldown: what
// lasts is ended all the same, and not after its last turn.
func TestCooldownHoldsNothingUp(t *testing.T) {
	o := config.Defaults().Overseer
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := newHistory(agency.Event{Time: at}, key{}, 10, &nudges{n: 1, last: at})
	h.clock.last = at.Add(time.Second)
	var got []string
	for h.turn = 1; h.turn <= 40; h.turn++ {
		if _, a, due := h.ladder(InfiniteLoop, finding{severity: Medium, seq: h.turn}, o); due {
			got = append(got, fmt.Sprint(h.turn, " ", a))
		}
	}
	if want := []string{"1 log", "7 log", "13 log", "19 halt"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTimeAtWork counts the time that a session was at work: not while it was
// parked, ended, or nobody carried the run out; and a session of which nothing is
// heard runs out of time all the same.
func TestTimeAtWork(t *testing.T) {
	o := config.Defaults().Overseer
	w := NewWatch(o)
	s := newStory("time", 1)
	s.works(3)
	for _, e := range s.events {
		w.Observe(e)
	}
	is := func(want Condition, why string) {
		t.Helper()
		if h, at := w.Health("s1"); !at || h.Condition != want || h.Why != why {
			t.Errorf("%+v %t", h, at)
		}
	}
	quiet := func(name string) {
		t.Helper()
		if found, _ := w.Look(s.at); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
	next := func(d agency.Detail) {
		s.add(d)
		e := s.events[len(s.events)-1]
		if d, ok := d.(agency.ResumedAfterCrash); ok {
			e.AgentID = ""
			_ = d
		}
		if found, _ := w.Observe(e); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	}
	s.at = s.at.Add(10 * time.Minute)
	quiet("at work for ten minutes")
	is(Working, "")
	next(agency.SessionParked{Session: "s1", For: "human"})
	s.at = s.at.Add(10 * time.Hour)
	quiet("parked")
	is(Waiting, "for human")
	next(agency.TurnCompleted{Session: "s1", Turn: 4})
	s.at = s.at.Add(10 * time.Hour)
	next(agency.ResumedAfterCrash{Epoch: 2})
	quiet("resumed")
	s.at = s.at.Add(13 * time.Minute)
	found, _ := w.Look(s.at)
	if len(found) != 1 || found[0].Behaviour != Timeout || found[0].Action != ActionNudge {
		t.Errorf("after 23 minutes of 30: %+v", found)
	}
	s.at = s.at.Add(5 * time.Minute)
	found, _ = w.Look(s.at)
	if len(found) != 1 || found[0].Action != ActionHalt {
		t.Errorf("after 28 minutes of 30: %+v", found)
	}
	is(Halted, "timeout: 28m21s of 30m0s are over")
}

// TestWhoGetsOnHasUntilTheEnd warns an agent that makes something in each turn of its
// limits, and leaves their end to them; one that makes nothing is halted before.
func TestWhoGetsOnHasUntilTheEnd(t *testing.T) {
	for _, works := range []bool{true, false} {
		s := newStory("nearly over", 1)
		for i := range 28 {
			s.at, s.cached = s.at.Add(time.Minute), -1
			if s.prompt = 5000; works || i < 10 {
				s.does(s.edit(s.file(i)))
			} else {
				s.does(s.call("send_message", s.text(9), "sent"))
			}
		}
		halted := false
		for _, d := range seenIn(t, s) {
			halted = halted || d.Action == ActionHalt || d.Action == ActionPause
		}
		if halted == works {
			t.Errorf("works %t: ended %t", works, halted)
		}
	}
}

// TestEndedKeepsLittle forgets the calls of sessions that have ended: a run may have
// thousands of them.
func TestEndedKeepsLittle(t *testing.T) {
	s := newStory("ended", 1)
	s.works(9)
	s.add(agency.Completed{Session: "s1", Outcome: "claimed"})
	w := NewWatch(config.Defaults().Overseer)
	for _, e := range s.events {
		w.Observe(e)
	}
	if len(w.sessions.known)+len(w.sessions.latest)+len(w.sessions.nudged) > 0 {
		t.Errorf("%+v", w.sessions)
	}
	if _, at := w.Health("s1"); at {
		t.Error("it is at work")
	}
}

// TestOldEvidenceIsNotRenewed nudges for changes that are undone and made again, and
// once more for those that followed the nudge: who does other things since is not told
// again, nor halted for it.
func TestOldEvidenceIsNotRenewed(t *testing.T) {
	s := newStory("renewed", 1)
	there, back := s.edit("a.go"), s.edit("a.go")
	back.old, back.with = there.with, there.old
	for range 3 {
		s.does(there)
		s.does(back)
	}
	for i := range 14 {
		s.does(s.edit(s.file(i)))
		s.prompt = 3000
		s.at = s.at.Add(15 * time.Second)
	}
	var got []Action
	for _, d := range observe(t, s) {
		if d.Behaviour == InfiniteLoop {
			got = append(got, d.Action)
		}
	}
	if !slices.Equal(got, []Action{ActionNudge, ActionNudge}) {
		t.Error(got)
	}
}

// TestWaitsAreNoWork takes the time that an agent waits out of its time, whatever
// event ends the wait.
func TestWaitsAreNoWork(t *testing.T) {
	for _, end := range []agency.Detail{
		agency.MessageDelivered{Message: "m", To: "scaffolder-1"}, agency.TestsRun{Command: "go test", Passed: 1, Stage: "claim"}, agency.TurnCompleted{Session: "s1", Turn: 4},
	} {
		s := newStory("wait", 1)
		s.works(3)
		s.add(agency.SessionParked{Session: "s1", For: "agents"})
		s.at = s.at.Add(5 * time.Hour)
		s.add(end)
		s.works(3)
		if found := observe(t, s); len(found) > 0 {
			t.Errorf("%T: %+v", end, found)
		}
	}
}

// TestWaitsForResource takes the time in which a command waits for what is scarce out of
// its agent's time, and says what it waits for.
func TestWaitsForResource(t *testing.T) {
	s := newStory("scarce", 1)
	s.works(3)
	s.add(agency.ResourceWaited{Resource: "gpu", InUse: 1, Of: 1})
	w := NewWatch(config.Defaults().Overseer)
	for _, e := range s.events {
		w.Observe(e)
	}
	if h, ok := w.Health("s1"); !ok || h.Condition != Waiting || h.Why != "for gpu (1 of 1 in use)" {
		t.Errorf("%+v", h)
	}
	if found, _ := w.Look(s.at.Add(29 * time.Minute)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	s.at = s.at.Add(29 * time.Minute)
	before := len(s.events)
	s.add(agency.ResourceTaken{Resources: []string{"gpu"}})
	s.works(3)
	for _, e := range s.events[before:] {
		if found, _ := w.Observe(e); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	}
	if h, _ := w.Health("s1"); h.Condition != Working {
		t.Errorf("%+v", h)
	}
}

// TestReviewsAreToldAlone leaves what reviews repeat to their loop: whoever gave the
// review has ended, and is neither nudged nor paused.
func TestReviewsAreToldAlone(t *testing.T) {
	for _, name := range []string{"reviews by turns", "reviews that find more"} {
		s := newStory(name, 1)
		stuck[name](s)
		seen := 0
		for _, d := range observe(t, s) {
			if d.Behaviour == Oscillation || d.Behaviour == ScopeCreep {
				if seen++; d.Action != ActionLog {
					t.Errorf("%s: %+v", name, d)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s: nothing was told", name)
		}
	}
}

// TestSessionsApart lets one agent have two sessions at once that read the same, and
// two agents one session each by the same name: nobody repeats what another did. One of
// two sessions goes round in a circle, and it is the one that is told of.
func TestSessionsApart(t *testing.T) {
	w := NewWatch(config.Defaults().Overseer)
	id := int64(0)
	see := func(agent agency.AgentID, d agency.Detail) []Detection {
		id++
		e := agency.NewEvent("run-1", agency.SeverityInfo, "", d)
		e.ID, e.Time, e.AgentID = id, time.Date(2026, 1, 2, 3, 4, int(id), 0, time.UTC), agent
		found, _ := w.Observe(e)
		return found
	}
	read := func(session agency.SessionID, turn int, file string) agency.ToolCalled {
		return agency.ToolCalled{Session: session, Turn: turn, Tool: "read_file", CallDigests: DigestsOf([]byte(file), "text of "+file)}
	}
	for turn := 1; turn <= 4; turn++ {
		for _, agent := range []agency.AgentID{"a", "b"} {
			for _, session := range []agency.SessionID{"s1", "s2"} {
				if found := see(agent, read(session, turn, "main.go")); len(found) > 0 {
					t.Fatalf("%+v", found)
				}
			}
		}
	}
	var found []Detection
	for turn := 5; turn <= 9; turn++ {
		found = append(found, see("a", read("s1", turn, fmt.Sprint("other", turn)))...)
		found = append(found, see("a", read("s2", turn, "main.go"))...)
	}
	if len(found) == 0 {
		t.Error("the circle is not seen")
	}
	for _, d := range found {
		if d.Agent != "a" || d.Session != "s2" {
			t.Errorf("%+v", d)
		}
	}
}

// TestManySessions keeps a bounded number: what has ended goes first, then what is
// longest silent. Whoever is still at work is known on.
func TestManySessions(t *testing.T) {
	w := NewWatch(config.Defaults().Overseer)
	for i := range 3 * mostSessions {
		e := agency.NewEvent("run-1", agency.SeverityInfo, "", agency.TurnCompleted{Session: "s", Turn: 1})
		e.ID, e.AgentID = int64(2*i+1), agency.AgentID(fmt.Sprint("agent-", i))
		w.Observe(e)
		e.ID, e.AgentID = int64(2*i+2), "busy"
		w.Observe(e)
	}
	s := w.sessions
	if len(s.known) > mostSessions || len(s.latest) > mostSessions || len(s.nudged) > mostSessions {
		t.Error(len(s.known), len(s.latest), len(s.nudged))
	}
	for _, agent := range []agency.AgentID{"busy", agency.AgentID(fmt.Sprint("agent-", 3*mostSessions-1))} {
		if h := s.known[key{agent, "s"}]; h == nil {
			t.Errorf("%s is forgotten", agent)
		}
	}
}

// TestFoldedAgain folds a log again that holds what was done: no warning comes twice,
// and nudges made by the clock alone count on.
func TestFoldedAgain(t *testing.T) {
	o := config.Defaults().Overseer
	w := NewWatch(o)
	s := newStory("again", 1)
	s.works(3)
	for _, e := range s.events {
		w.Observe(e)
	}
	s.at = s.at.Add(24 * time.Minute)
	found, _ := w.Look(s.at)
	if len(found) != 1 || found[0].Behaviour != Timeout {
		t.Fatalf("%+v", found)
	}
	s.add(agency.Nudged{Overseen: agency.Overseen{Cause: string(Timeout), Session: "s1", Severity: string(Medium), Evidence: found[0].Evidence}})
	again := NewWatch(o)
	for _, e := range s.events {
		if found, _ := again.Observe(e); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	}
	if found, _ := again.Look(s.at.Add(time.Second)); len(found) > 0 {
		t.Errorf("told twice: %+v", found)
	}
	if n := again.sessions.nudged["scaffolder-1"].n; n != 1 {
		t.Errorf("%d nudges are known", n)
	}
}

// TestHugeCounts takes counts that no model has: they overflow nothing.
func TestHugeCounts(t *testing.T) {
	s := newStory("huge", 1)
	for i := range 9 {
		s.add(agency.TurnCompleted{Session: "s1", Turn: -i, In: 1<<63 - 1, Cached: -1 << 62, Out: 1<<63 - 1})
	}
	if found := observe(t, s); len(found) == 0 || found[0].Behaviour != TokenExhaustion {
		t.Errorf("%+v", found)
	}
}

// TestWaitsForProvider takes the time for which a provider limits the rate out of its
// agent's, and hears no silence in it.
func TestWaitsForProvider(t *testing.T) {
	s := newStory("limited", 1)
	s.works(3)
	s.add(agency.Retried{Session: "s1", Attempt: 1, Of: 2, Provider: "anthropic", Cause: "rate_limited", Until: s.at.Add(55 * time.Minute)})
	w := NewWatch(config.Defaults().Overseer)
	for _, e := range s.events {
		w.Observe(e)
	}
	look := func(until time.Duration) {
		t.Helper()
		for end := s.at.Add(until); s.at.Before(end); s.at = s.at.Add(10 * time.Second) {
			if found, _ := w.Look(s.at); len(found) > 0 {
				t.Fatalf("%+v", found)
			}
		}
	}
	look(54 * time.Minute)
	before := len(s.events)
	s.works(3)
	for _, e := range s.events[before:] {
		if found, _ := w.Observe(e); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	}
}
