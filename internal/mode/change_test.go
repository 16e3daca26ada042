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
