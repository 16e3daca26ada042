package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/session"
	"agency/internal/store"
)

// notes are the lines of the log that begin so.
func (s *stage) notes(with string) (out []string) {
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		all, err := event.Since(q, 0, event.Filter{Run: run}, 0)
		for _, ev := range all {
			if strings.HasPrefix(ev.Summary, with) {
				out = append(out, ev.Summary)
			}
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	return out
}

func writing(id string, files ...string) agency.Contract {
	p := part(id)
	p.Writes = files
	return p
}

// apart asserts that of workstreams, each with how its work begins and ends, one has ended
// before the next begins.
func (s *stage) apart(ways ...[2]string) {
	s.t.Helper()
	at, by := "", 0
	for _, line := range s.said {
		for i, w := range ways {
			if strings.HasPrefix(line, w[0]) && at != "" && by != i {
				s.t.Errorf("%s while %s is at work in\n  %s", line, at, strings.Join(s.said, "\n  "))
			}
			if strings.HasPrefix(line, w[0]) {
				at, by = w[0], i
			}
			if strings.HasPrefix(line, w[1]) {
				at = ""
			}
		}
	}
}

// Workstreams that may change the same files work one after the other, also of different
// domains and where one of them is a single task.
func TestOneAtATimeOnTheSameFiles(t *testing.T) {
	s := newStage(t)
	plain := writing("p", "a.go")
	out := streams("w: t3 t4 t5 web", "v: t3 t4 t5 db", "u: t2 t3 t4 t5 ui", "p: t4 t5 x", "free: t3 t4 t5 web2")
	for i := range out.Plan {
		if out.Plan[i].Writes = nil; out.Plan[i].ID == "p" {
			out.Plan[i].Writes = plain.Writes
		}
	}
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1": out, "w-tasks 1.1": tasks(writing("a", "a.go")), "v-tasks 1.1": tasks(writing("b", "a.go")),
		"u-tasks 1.1": tasks(writing("c", "*.go")), "free-tasks 1.1": tasks(writing("d", "d.txt")),
	}
	if got := s.run(Tiered, tieredInput); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.apart([2]string{"session a 1.1", "rise workstream/w/1 on run"}, [2]string{"session b 1.1", "rise workstream/v/1 on run"},
		[2]string{"session c 1.1", "rise integration/ui on run"}, [2]string{"session p 1.1", "land p"})
	told := append(s.notes("the tasks of "), s.notes("p begins when")...)
	if slices.ContainsFunc(told, func(l string) bool { return strings.HasPrefix(l, "the tasks of free") }) {
		t.Errorf("the log says %q", told)
	}
	for _, line := range told {
		if !strings.Contains(line, " has ended: both may change ") {
			t.Errorf("the log says %q", line)
		}
	}
}

// The log says who waits for whom while it waits.
func TestTheLogSaysWhoWaits(t *testing.T) {
	s := newStage(t)
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1": streams("w: t3 t4 t5 web", "v: t3 t4 t5 db"), "w-tasks 1.1": tasks(writing("a", "a.go")), "v-tasks 1.1": tasks(writing("b", "a.go")),
		"a 1.1": asksFirst, "b 1.1": asksFirst,
	}
	var told []string
	s.hold = func(open []agency.Gate) bool {
		if len(open) == 1 && open[0].Kind == agency.GateQuestion && told == nil {
			told = s.notes("the tasks of ")
			return told == nil
		}
		return false
	}
	if got := s.run(Tiered, tieredInput); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	want := []string{"the tasks of w begin when v has ended: both may change a and b of v: a.go", "the tasks of v begin when w has ended: both may change b and a of w: a.go"}
	if len(told) != 1 || !slices.Contains(want, told[0]) {
		t.Errorf("the log says %q", told)
	}
}

// What is planned in the place of a task that failed waits for who is at work on the same
// files, and two that do so do not wait for each other.
func TestNewTasksWaitForTheirTurn(t *testing.T) {
	s := newStage(t)
	blocked := session.Outcome{Kind: session.Blocked, Reason: "no such table"}
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1": streams("w: t3 t4 t5 web", "v: t3 t4 t5 db"), "w-tasks 1.1": tasks(writing("a", "a.go")), "v-tasks 1.1": tasks(writing("b", "b.go")),
		"a 1.1": blocked, "w-retask 1.1": tasks(writing("c", "b.go")), "b 1.1": asksFirst, "b 1.2": blocked, "v-retask 1.1": tasks(writing("d", "a.go")),
	}
	s.hold = func(open []agency.Gate) bool {
		return slices.ContainsFunc(open, func(g agency.Gate) bool { return g.Kind == agency.GateQuestion }) &&
			len(s.notes("the new tasks of w begin when v has ended: both may change c and b of v: b.go")) == 0
	}
	if got := s.run(Tiered, tieredInput); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.order("session w-retask 1.1", "session v-retask 1.1", "land d: true", "session c 1.1", "land c: true", "session accept 1.1")
}

// Wherever the process dies, those who wait for their turn get it.
func TestTurnsDieAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.byAttempt = map[string]session.Outcome{
			"plan 1.1": streams("w: t3 t4 t5 web", "v: t3 t4 t5 db"), "w-tasks 1.1": tasks(writing("a", "a.go")), "v-tasks 1.1": tasks(writing("b", "a.go")),
		}
	}
	diesAtEach(t, Tiered, tieredInput, set, merged, 60, *stride, func(n int, s *stage) {
		s.apart([2]string{"session a 1.1", "rise workstream/w/1 on run"}, [2]string{"session b 1.1", "rise workstream/v/1 on run"})
		s.verified()
	})
}
