package mode

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/land"
	"agency/internal/session"

	"github.com/google/go-cmp/cmp"
)

func bug() session.Outcome {
	return session.Outcome{
		Kind: session.Parked, For: session.ForInbox, Question: "it wraps", ToolUse: "call-1", Awaits: "change/t/1/1/1", Tree: "half",
		Change: &session.Change{Bug: "it wraps", Test: "TestWrap", Receipt: "r1", Files: []string{"t_test.go"}},
	}
}

func tests(id string, after ...agency.ContractID) agency.Contract {
	c := part(id, after...)
	c.AssignedRole = "test_engineer"
	return c
}

// A bug that a test shows is mended by the role that wrote the code, from the
// tester's files, and the tester goes on upon the result.
func TestImplementationChange(t *testing.T) {
	for name, tt := range map[string]struct {
		set   func(*stage)
		moved bool
		want  string
		order []string
	}{
		"mended": {
			func(*stage) {}, true, "The implementation was changed by contract a-fix-1, landed as c-a-fix-1.",
			[]string{"session t 1.1", "session a-fix-1 1.1", "verify a-fix-1 1: true", "land a-fix-1: true", "session t 1.2", "land t: true", "gate merge-1: approve"},
		},
		"mended at the second attempt": {
			func(s *stage) { s.judged = map[string]agency.Verdict{"a-fix-1 1": red} }, true, "The implementation was changed by contract a-fix-1",
			[]string{"verify a-fix-1 1: false", "session a-fix-1 2.1", "land a-fix-1: true", "session t 1.2", "land t: true"},
		},
		"nobody can": {
			func(s *stage) { s.judged = map[string]agency.Verdict{"a-fix-1 1": red, "a-fix-1 2": red} }, true,
			"error: the implementation was not changed: contract a-fix-1 failed: all 2 attempts are used",
			[]string{"session a-fix-1 2.1", "session t 1.2", "land t: true", "gate merge-1: approve"},
		},
		"nobody wrote code": {
			func(s *stage) { s.plans = []session.Outcome{plan(part("a"), tests("t"))} }, false, "error: refused: nobody's implementation is under test here",
			[]string{"session t 1.1", "session t 1.2", "land t: true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.plans = []session.Outcome{plan(part("a"), tests("t", "a"))}
			s.byAttempt = map[string]session.Outcome{"t 1.1": bug()}
			s.landed = map[string]land.Outcome{}
			tt.set(s)
			in := teamInput
			in.Parallel = 1
			if got := s.run(Team, in); got != merged {
				t.Errorf("ended %+v", got)
			}
			s.order(tt.order...)
			got := s.given("t")
			if !strings.HasPrefix(got.Text, tt.want) || got.Moved != tt.moved || got.Message != "change/t/1/1/1/answer" {
				t.Errorf("the answer is %+v", got)
			}
			if i := slices.IndexFunc(s.posts(), func(p string) bool { return strings.Contains(p, "the question is") }); i >= 0 {
				t.Errorf("messages: %v", s.posts())
			}
			if !tt.moved {
				return
			}
			fix := s.contract("a-fix-1")
			if fix.AssignedRole != "scaffolder" || fix.ParentID != "t" || fix.AcceptanceCriteria[0].Check.Test != "TestWrap" || !fix.Status.Final() {
				t.Errorf("the fix is %+v", fix)
			}
			if diff := cmp.Diff([]string{"a.go", "t_test.go"}, fix.Writes); diff != "" {
				t.Errorf("it writes (-want +got):\n%s", diff)
			}
			i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "a-fix-1" })
			if sp := s.specs[i]; sp.From != "half" || sp.Onto != "head" || sp.Agent != "scaffolder-a-fix-1" {
				t.Errorf("its session is %+v", sp)
			}
		})
	}
}

// A team that dies at any step of a fix does the same work and ends the same.
func TestImplementationChangeDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.plans = []session.Outcome{plan(part("a"), tests("t", "a"))}
		s.byAttempt = map[string]session.Outcome{"t 1.1": bug()}
	}
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, teamInput)
	diesAtEach(t, Team, teamInput, set, want, 40, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(calm.said, s.said); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		if diff := cmp.Diff(calm.posts(), s.posts()); diff != "" {
			t.Errorf("death %d, messages (-undisturbed +died):\n%s", n, diff)
		}
	})
}

// A fix begins when nobody else at work may change its files, and what may is
// not begun meanwhile.
func TestFixWaitsForItsFiles(t *testing.T) {
	s := newStage(t)
	beside, later := part("beside", "a"), part("later", "a")
	beside.Writes, later.Writes = []string{"a.go"}, []string{"a.go"}
	s.plans = []session.Outcome{plan(part("a"), tests("t", "a"), beside, later)}
	s.byAttempt = map[string]session.Outcome{
		"t 1.1": bug(), "beside 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"},
	}
	in := teamInput
	in.Parallel = 3
	if got := s.run(Team, in); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("session t 1.1", "gate question-beside-1-1: approve", "land beside: true", "session a-fix-1 1.1", "land a-fix-1: true", "session later 1.1", "gate merge-1: approve")
}

// Two whose fixes want each other's files do not wait for each other.
func TestFixesDoNotWaitForEachOther(t *testing.T) {
	s := newStage(t)
	a, b, first, second := part("a"), part("b"), tests("t", "a"), tests("u", "b")
	a.Writes, second.Writes = []string{"y/a.go"}, []string{"y/"}
	b.Writes, first.Writes = []string{"x/b.go"}, []string{"x/"}
	s.plans = []session.Outcome{plan(a, b, first, second)}
	other := bug()
	other.Awaits = "change/u/1/1/1"
	s.byAttempt = map[string]session.Outcome{"t 1.1": bug(), "u 1.1": other}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("land t: true", "gate merge-1: approve")
}

// A fix takes an id that the plan leaves free.
func TestFixHasAnIdOfItsOwn(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), tests("t", "a"), part("A-fix-1"))}
	s.byAttempt = map[string]session.Outcome{"t 1.1": bug()}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("land a-fix-2: true", "session t 1.2")
}

// Two bugs of code whose author declared no files are mended one after the
// other: there is nothing to widen, and nothing to give up twice.
func TestTwoFixesOfWhoDeclaredNothing(t *testing.T) {
	s := newStage(t)
	free := part("a")
	free.Writes = nil
	s.plans = []session.Outcome{plan(free, tests("t", "a"))}
	second := bug()
	second.ToolUse, second.Awaits = "call-2", "change/t/1/2/1"
	s.byAttempt = map[string]session.Outcome{"t 1.1": bug(), "t 1.2": second}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("land a-fix-1: true", "land a-fix-2: true", "session t 1.3", "land t: true")
}
