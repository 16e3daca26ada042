package mode

import (
	"context"
	"math/rand/v2"
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
// files, until that one has ended.
func TestNewTasksWaitForTheirTurn(t *testing.T) {
	s := newStage(t)
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1": streams("w: t3 t4 t5 web", "v: t3 t4 t5 db"), "w-tasks 1.1": tasks(writing("a", "a.go")), "v-tasks 1.1": tasks(writing("b", "b.go")),
		"a 1.1": failing, "w-retask 1.1": tasks(writing("c", "b.go")), "b 1.1": asksFirst,
	}
	s.hold = func(open []agency.Gate) bool {
		return asks(open, "b") && len(s.notes("the new tasks of w begin when v has ended: both may change c and b of v: b.go")) == 0
	}
	if got := s.run(Tiered, tieredInput); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.order("session w-retask 1.1", "land b: true", "rise workstream/v/1 on run: true", "session c 1.1", "land c: true", "session accept 1.1")
}

// failing is a task that its lead plans anew.
var failing = session.Outcome{Kind: session.Blocked, Reason: "no such table"}

// asks tells whether a contract's question waits for a person.
func asks(open []agency.Gate, of agency.ContractID) bool {
	return slices.ContainsFunc(open, func(g agency.Gate) bool { return g.Kind == agency.GateQuestion && g.ContractID == of })
}

// crossed sets the stage for two workstreams at work that plan anew into each other's files:
// w what v's task y changes, after which v's task b fails, and v plans what w's task x changes.
func (s *stage) crossed() {
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1":    streams("w: t3 t4 t5 web", "v: t3 t4 t5 db"),
		"w-tasks 1.1": tasks(writing("a", "a.go"), writing("x", "x.go")), "v-tasks 1.1": tasks(writing("b", "b.go"), writing("y", "y.go")),
		"a 1.1": failing, "w-retask 1.1": tasks(writing("c", "y.go")), "x 1.1": asksFirst,
		"b 1.1": asksFirst, "b 1.2": failing, "v-retask 1.1": tasks(writing("d", "x.go")),
	}
	s.hold = func(open []agency.Gate) bool {
		crossed := len(s.notes("the new tasks of w begin when v has ended")) > 0
		for _, g := range open {
			switch over := s.happened("rise workstream/v/1 on run") || s.happened("land d"); {
			case g.Kind != agency.GateQuestion, g.ContractID == "b" && crossed, g.ContractID == "x" && over:
				s.answer(g)
			}
		}
		return len(open) > 0
	}
}

// happened tells whether something happened that begins so.
func (s *stage) happened(with string) bool {
	return slices.ContainsFunc(s.said, func(l string) bool { return strings.HasPrefix(l, with) })
}

// Two workstreams at work that plan anew into each other's files never work on one of them at
// once, and never wait for each other: the later one's new tasks are not begun, since they
// would wait for one that waits for it.
func TestCrossedTasksNeverMeet(t *testing.T) {
	s := newStage(t)
	s.crossed()
	got := s.run(Tiered, tieredInput)
	s.apart([2]string{"session x 1.1", "land x"}, [2]string{"session d 1.1", "land d"})
	s.apart([2]string{"session y 1.1", "land y"}, [2]string{"session c 1.1", "land c"})
	if told := s.notes("the new tasks of v are not begun: w waits until v has ended, and both may change d and x of w: x.go"); len(told) != 1 {
		t.Errorf("the log says %q", s.notes("the new tasks of"))
	}
	if s.happened("session d") || !s.happened("land c: true") || got != merged {
		t.Errorf("ended %+v:\n  %s", got, strings.Join(s.said, "\n  "))
	}
}

// Whoever asks, in whatever order, those who wait at work never wait in a circle, and somebody
// goes on.
func TestNobodyWaitsInACircle(t *testing.T) {
	files := []string{"a", "b", "c", "d"}
	order := rand.New(rand.NewPCG(1, 2))
	for n := range 2000 {
		ts := &turns{}
		for _, f := range files {
			ts.line = append(ts.line, &turn{of: agency.ContractID("w" + f), begun: true, tasks: []agency.Contract{writing("t"+f, f)}})
		}
		for range 12 {
			own := ts.line[order.IntN(len(ts.line))]
			if own.more != nil {
				if len(ts.ahead(own)) == 0 {
					own.tasks, own.more = append(own.tasks, own.more...), nil
				}
				continue
			}
			ts.asks++
			own.asked, own.more = ts.asks, []agency.Contract{writing("m", files[order.IntN(len(files))])}
			if ts.circle(own) != nil {
				own.more = nil
			}
			if !slices.ContainsFunc(ts.line, func(o *turn) bool { return len(ts.ahead(o)) == 0 }) {
				t.Fatalf("round %d: all wait", n)
			}
			for _, o := range ts.line {
				if len(ts.ahead(o)) > 0 && ts.circle(o) != nil {
					t.Fatalf("round %d: %s waits for itself", n, o.of)
				}
			}
		}
	}
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

// So it is where workstreams at work plan anew into each other's files.
func TestCrossedTasksDieAtEachStep(t *testing.T) {
	diesAtEach(t, Tiered, tieredInput, (*stage).crossed, merged, 60, *stride, func(n int, s *stage) {
		s.apart([2]string{"session x 1.1", "land x"}, [2]string{"session d 1.1", "land d"})
		s.verified()
	})
}
