package agency_test

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// Each kind of failure is one sentence for a person, and says what to look at and how to go on.
func TestFailuresSayWhatToDo(t *testing.T) {
	on := func(words string) string { return `agency run --continue r1 "` + words + `"` }
	landing, undo := &agency.Follows{Run: "r0", What: agency.FollowLand}, &agency.Follows{Run: "r0", What: agency.FollowUndo}
	rebase := &agency.Follows{Run: "r0", What: agency.FollowLand, Rebase: true}
	for _, tc := range []struct {
		f              agency.Failure
		run            agency.Run
		says, look, on string // on is empty: nothing goes on
	}{
		{agency.Failure{Kind: agency.FailedChecks, Cause: "TestAdd fails.\n", Contract: "main", Used: 3}, agency.Run{}, "the work does not hold: TestAdd fails; all 3 attempts are used", " --checks", on("how to mend it")},
		{agency.Failure{Kind: agency.FailedChecks, Cause: "TestAdd fails", Contract: "add", Team: true}, agency.Run{}, "add: the work does not hold: TestAdd fails", " --checks", on("how to mend it")},
		{agency.Failure{Kind: agency.FailedSession, Cause: "its turns are used up", Contract: "main", Attempt: 2}, agency.Run{}, "the agent ended without a claim: its turns are used up", " --transcript main/attempt-2", on("go on")},
		{agency.Failure{Kind: agency.FailedBlocked, Cause: "no key", Contract: "main", Attempt: 1}, agency.Run{}, "the agent could not go on: no key", " --transcript main/attempt-1", on("what it lacked")},
		{agency.Failure{Kind: agency.FailedDanger, Cause: "rm -rf", Contract: "main", Attempt: 1}, agency.Run{}, "the agent was halted: rm -rf", " --transcript main/attempt-1", on("what to do about it")},
		{agency.Failure{Kind: agency.FailedReview, Cause: "one major issue"}, agency.Run{}, "the work was not accepted: one major issue", "", on("what counts")},
		{agency.Failure{Kind: agency.FailedConflict, Cause: "a.go"}, agency.Run{}, "the work meets what others changed: a.go", "", on("what to do about it")},
		{agency.Failure{Kind: agency.FailedDependencies, Cause: "left-pad"}, agency.Run{}, "what the work needs cannot be installed: left-pad", "", on("what to do about it")},
		{agency.Failure{Kind: agency.FailedNothing, Cause: "its agent changed nothing", Contract: "main", Attempt: 1}, agency.Run{}, "its agent changed nothing", " --transcript main/attempt-1", on("what is missing")},
		{agency.Failure{Kind: agency.FailedRejected, Cause: "not worth it"}, agency.Run{}, "a person rejected it: not worth it", "", on("what to do instead")},
		{agency.Failure{Kind: agency.FailedBudget, Cause: "$0.10 is left", BudgetUSD: 1.25}, agency.Run{}, "the budget does not hold the next request: $0.10 is left", " --report", on("go on") + " --budget 1.25"},
		{agency.Failure{Kind: agency.FailedBudget, Cause: "9 tokens are left"}, agency.Run{}, "the budget does not hold the next request: 9 tokens are left", " --report", on("go on")},
		{agency.Failure{Kind: agency.FailedChecks, Cause: "weakened: TestAdd is gone", Contract: "main", Used: 3, Last: "TestSub fails"}, agency.Run{}, "the work does not hold: weakened: TestAdd is gone; all 3 attempts are used, the last one: TestSub fails", " --checks", on("how to mend it")},
		{agency.Failure{Kind: agency.FailedPlan, Cause: "a cycle", Contract: "plan", Attempt: 1, Used: 2}, agency.Run{}, "no valid plan came: a cycle; all 2 attempts at a plan are used", " --transcript plan/attempt-1", on("the goal in smaller steps")},
		{agency.Failure{Kind: agency.FailedTarget, Cause: "main has changed"}, agency.Run{Follows: landing}, "main has changed", "", "agency merge r0"},
		{agency.Failure{Kind: agency.FailedTarget, Cause: "main has changed"}, agency.Run{Follows: rebase}, "main has changed", "", "agency resume r0 --rebase"},
		{agency.Failure{Kind: agency.FailedTarget, Cause: "main has changed"}, agency.Run{Follows: undo}, "main has changed", "", ""},
		{agency.Failure{Kind: agency.FailedAnswer, Cause: "stage 1 of a -> b: silence"}, agency.Run{Mode: agency.ModeAgent, Agent: "a"}, "no answer came: stage 1 of a -> b: silence", "", `agency run --agent a "the input"`},
		{agency.Failure{Kind: agency.FailedAnswer, Cause: "silence"}, agency.Run{Mode: agency.ModeAgent, Agent: agency.GuideAgent}, "no answer came: silence", "", `agency ask "the question"`},
		{agency.Failure{Kind: agency.FailedBudget, Cause: "$0.10 is left"}, agency.Run{Mode: agency.ModeAgent, Agent: agency.GuideAgent}, "the budget does not hold the next request: $0.10 is left", " --report", `agency ask "the question" --budget USD`},
		{agency.Failure{Kind: agency.FailedFault, Cause: "the record and this build disagree"}, agency.Run{}, "a person ended it at a fault: the record and this build disagree", "", on("what to do about it")},
		{agency.Failure{Kind: agency.FailedOther}, agency.Run{Dry: true}, "it failed, and nothing says why", "", ""},
	} {
		if got := tc.f.Sentence(); got != tc.says {
			t.Errorf("%s: says %q, want %q", tc.f.Kind, got, tc.says)
		}
		run := tc.run
		run.ID, run.State, run.Failure = "r1", agency.StateFailed, &tc.f
		next := run.Next()
		if got, want := next[0].Command, "agency inspect r1"+tc.look; got != want {
			t.Errorf("%s: looks by %q, want %q", tc.f.Kind, got, want)
		}
		got := ""
		if len(next) > 1 {
			got = next[1].Command
		}
		if got != tc.on {
			t.Errorf("%s: goes on by %q, want %q", tc.f.Kind, got, tc.on)
		}
	}
	long := agency.Failure{Kind: agency.FailedChecks, Cause: strings.Repeat("x", 5000)}
	if n := len(long.Sentence()); n > 600 {
		t.Errorf("a sentence of %d bytes", n)
	}
}

// What stands still or was ended by a person says how to go on, too.
func TestStoppedRunsSayWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		run  agency.Run
		want string
	}{
		{agency.Run{State: agency.StateInterrupted}, "agency inspect r1; agency resume r1"},
		{agency.Run{State: agency.StatePaused}, "agency resume r1"},
		{agency.Run{State: agency.StateCancelled}, `agency inspect r1; agency run --continue r1 "what is wanted now"`},
		{agency.Run{State: agency.StateCancelled, Mode: agency.ModeAgent}, "agency inspect r1"},
		{agency.Run{State: agency.StateRunning}, ""},
	} {
		run := tc.run
		run.ID = "r1"
		var got []string
		for _, s := range run.Next() {
			got = append(got, s.Command)
		}
		if got := strings.Join(got, "; "); got != tc.want {
			t.Errorf("%s: %s, want %s", run.State, got, tc.want)
		}
	}
}
