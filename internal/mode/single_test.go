package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

func TestSingle(t *testing.T) {
	weak := []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestOld"}}
	left := []agency.Leftover{{Path: "x.orig", Why: "a backup"}}
	red := agency.Verdict{Reasons: []string{"p.TestX fails"}}
	for name, tt := range map[string]struct {
		set  func(*stage, *Input)
		want Result
		said string
	}{
		"straight": {
			func(*stage, *Input) {},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"red once": {
			func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{red} },
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: false; session main 2.1; verify main 2: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"red for good": {
			func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{red, red} },
			Result{Reason: "the work does not hold: p.TestX fails; all 2 attempts are used"},
			"session main 1.1; verify main 1: false; session main 2.1; verify main 2: false",
		},
		"incomplete": {
			func(s *stage, _ *Input) {
				s.sessions = []session.Outcome{{Kind: session.Incomplete, Reason: "50 turns"}, {Kind: session.Incomplete, Reason: "50 turns"}}
			},
			Result{Reason: "the agent ended without a claim: 50 turns; all 2 attempts are used"},
			"session main 1.1; session main 2.1",
		},
		"weakened to the end": {
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				s.verdicts = []agency.Verdict{{Reasons: []string{"weakened"}, Weakened: weak}, {Pass: true, Weakened: weak}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: false; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"left behind to the end": {
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				s.verdicts = []agency.Verdict{{Reasons: []string{"left behind"}, Leftovers: left}, {Pass: true, Leftovers: left}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: false; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"blocked, rejected": {
			func(s *stage, _ *Input) {
				s.sessions = []session.Outcome{{Kind: session.Blocked, Reason: "no spec"}}
				s.answers = map[string]agency.Decision{"escalation-main-1": {Verb: agency.Reject}}
			},
			Result{Reason: "the agent could not go on: no spec"},
			"session main 1.1; gate escalation-main-1: reject",
		},
		"blocked at the last attempt, approved": {
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				s.sessions = []session.Outcome{{Kind: session.Blocked, Reason: "no spec"}}
				s.answers = map[string]agency.Decision{"escalation-main-1": {Verb: agency.Approve, Note: "use RFC 3339"}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; gate escalation-main-1: approve; session main 2.1; verify main 2: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"budget, rejected": {
			func(s *stage, _ *Input) {
				s.sessions = []session.Outcome{{Kind: session.Parked, For: session.ForBudget, Reason: "usd left $0"}}
				s.answers = map[string]agency.Decision{"budget-main-1-1": {Verb: agency.Reject}}
			},
			Result{Reason: "the budget does not hold the next request: usd left $0"},
			"session main 1.1; gate budget-main-1-1: reject",
		},
		"paused": {
			func(s *stage, _ *Input) {
				s.sessions = []session.Outcome{{Kind: session.Parked, For: session.ForPause}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; resume; session main 1.2; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"conflict goes back": {
			func(s *stage, _ *Input) {
				s.landings = []land.Outcome{{Conflict: &agency.Conflict{Paths: []string{"a.go"}}, Reason: "a.go conflicts"}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: false; session main 2.1; verify main 2: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"left on its branch": {
			func(_ *stage, in *Input) { in.Land = agency.LandBranch },
			Result{Succeeded: true, Reason: "left on its branch, not merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve",
		},
		"overlap, then the branch is enough": {
			func(s *stage, _ *Input) {
				s.merges = []land.MergeOutcome{{Refused: &land.Refusal{Cause: land.CauseOverlap}, Reason: "a.go has local edits"}}
				s.answers = map[string]agency.Decision{"merge-2": {Verb: agency.Approve, Note: "Branch"}}
			},
			Result{Succeeded: true, Reason: "left on its branch, not merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; gate merge-2: approve",
		},
		"target moved": {
			func(s *stage, _ *Input) {
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; verify tree mix on base; merge into trunk, verified true: true",
		},
		"target moved and is red, a person wants it": {
			func(s *stage, _ *Input) {
				s.verdicts = []agency.Verdict{{Pass: true}, {Pass: true}, red}
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; verify tree mix on base; " +
				"gate merge-2: approve; merge into trunk, verified true: true",
		},
		"target moved and is red, and is mended": {
			func(s *stage, _ *Input) {
				s.verdicts = []agency.Verdict{{Pass: true}, {Pass: true}, red}
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}, {Moved: &land.Moved{Target: "newer", Tree: "mix2"}}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; verify tree mix on base; " +
				"gate merge-2: approve; merge into trunk, verified true: false; verify tree mix2 on newer; verify tree mix2 on base; merge into trunk, verified true: true",
		},
		"target moved, merge is red": {
			func(s *stage, _ *Input) {
				s.verdicts = []agency.Verdict{{Pass: true}, red}
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}}
				s.answers = map[string]agency.Decision{"merge-2": {Verb: agency.Approve, Note: "branch"}}
			},
			Result{Succeeded: true, Reason: "left on its branch, not merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; gate merge-2: approve",
		},
		"merge rejected once": {
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "handle zero"}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: reject; " +
				"session main-2 1.1; verify main-2 1: true; land main-2: true; gate merge-main-2-1: approve; merge into trunk, verified false: true",
		},
		"merge rejected twice": {
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{
					"merge-1": {Verb: agency.Reject, Note: "no"}, "merge-main-2-1": {Verb: agency.Reject, Note: "still no"}, "merge-main-3-1": {Verb: agency.Reject, Note: "nearly"},
				}
			},
			merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: reject; " +
				"session main-2 1.1; verify main-2 1: true; land main-2: true; gate merge-main-2-1: reject; " +
				"session main-3 1.1; verify main-3 1: true; land main-3: true; gate merge-main-3-1: reject; " +
				"session main-4 1.1; verify main-4 1: true; land main-4: true; gate merge-main-4-1: approve; merge into trunk, verified false: true",
		},
		"what was there before stands where it fails": {
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "no"}, "merge-2": {Verb: agency.Reject, Note: "once more"}}
				s.judged = map[string]agency.Verdict{"main-2 1": red}
			},
			merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: reject; " +
				"session main-2 1.1; verify main-2 1: false; gate merge-2: reject; " +
				"session main-3 1.1; verify main-3 1: true; land main-3: true; gate merge-main-3-1: approve; merge into trunk, verified false: true",
		},
		"a person grants no more for what is done again": {
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "no"}, "budget-main-2-1-1": {Verb: agency.Reject}}
				s.byAttempt = map[string]session.Outcome{"main-2 1.1": {Kind: session.Parked, For: session.ForBudget, Reason: "usd left $0"}}
			},
			merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: reject; session main-2 1.1; gate budget-main-2-1-1: reject; " +
				"gate merge-2: approve; merge into trunk, verified false: true",
		},
		"a person ends what is done again": {
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "no"}}
				s.byAttempt = map[string]session.Outcome{"main-2 1.1": {Kind: session.Stopped, Reason: "the run was cancelled"}}
			},
			Result{Reason: "the run was cancelled"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: reject; session main-2 1.1",
		},
		"cancelled": {
			func(s *stage, _ *Input) { s.sessions = []session.Outcome{{Kind: session.Stopped, Reason: "cancelled"}} },
			Result{Reason: "cancelled"},
			"session main 1.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), input
			tt.set(s, &in)
			if got := s.play(in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			if got := strings.Join(s.said, "; "); got != tt.said {
				t.Errorf("happened:\n  %s\nwant:\n  %s", got, tt.said)
			}
		})
	}
}

func TestAnswersReachTheSession(t *testing.T) {
	s := newStage(t)
	s.sessions = []session.Outcome{{Kind: session.Parked, For: session.ForHuman, Question: "which?", Options: []string{"left", "right"}, ToolUse: "call-7"}}
	s.answers = map[string]agency.Decision{"question-main-1-1": {Verb: agency.Approve, Note: "2"}}
	s.play(input)
	if got := s.specs[1].Answer; got == nil || got.ToolUse != "call-7" || got.Text != "right" {
		t.Errorf("the session was answered %+v", got)
	}
}

func TestFeedbackReachesTheNextAttempt(t *testing.T) {
	s := newStage(t)
	s.verdicts = []agency.Verdict{{Reasons: []string{"p.TestX fails"}, Weakened: []agency.Weakening{{Kind: agency.WeakSkipped, Name: "p.TestY"}}, Leftovers: []agency.Leftover{{Path: "x.orig", Why: "a backup"}}}}
	s.play(input)
	if f := s.specs[1].Feedback; f == nil || f.Attempt != 1 || f.Reason != "p.TestX fails" || f.Verdict == nil {
		t.Errorf("the second attempt was told %+v", f)
	}
	if got := s.claims[1].WeakenedBefore; len(got) != 1 || got[0].Name != "p.TestY" {
		t.Errorf("the second verification tolerates %v", got)
	}
	if got := s.claims[1].LeftBefore; len(got) != 1 || got[0] != "x.orig" {
		t.Errorf("the second verification tolerates %v", got)
	}
}

func TestBudgetIsRaised(t *testing.T) {
	start := budget.Limits{Money: agency.Dollar, Tokens: 100}
	for _, tt := range []struct {
		limit string
		usd   float64
		want  budget.Limits
	}{
		{"usd", 0, budget.Limits{Money: 2 * agency.Dollar, Tokens: 100}},
		{"usd", 5, budget.Limits{Money: 5 * agency.Dollar, Tokens: 100}},
		{"usd", 0.5, start}, // a lower sum takes nothing back
		{"tokens", 0, budget.Limits{Money: agency.Dollar, Tokens: 200}},
		{"tokens", 5, budget.Limits{Money: 5 * agency.Dollar, Tokens: 200}},
	} {
		s := newStage(t)
		s.sessions = []session.Outcome{{
			Kind: session.Parked, For: session.ForBudget, Reason: "r", Exhausted: &budget.Exhausted{Node: budget.Root, Limit: tt.limit},
		}}
		s.answers = map[string]agency.Decision{"budget-main-1-1": {Verb: agency.Approve, BudgetUSD: tt.usd}}
		s.play(input)
		_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
			st, err := budget.Read(q, run, budget.Root)
			if err != nil || st.Limits != tt.want {
				t.Errorf("%s %v: limits %+v, want %+v, %v", tt.limit, tt.usd, st.Limits, tt.want, err)
			}
			return err
		})
	}
}

// A merge gate says what a reject does there, which is another thing once the work was sent
// back.
func TestSecondMergeGateSaysSo(t *testing.T) {
	s := newStage(t)
	s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "no"}}
	s.play(input)
	var says []string
	err := s.db.Read(t.Context(), func(q *store.Snapshot) error {
		gates, err := registry.Gates(q, run)
		for _, g := range gates {
			says = append(says, g.Rejecting)
		}
		return err
	})
	want := []string{"send it back, with your reason; as often as you want", "send it back once more, with your reason; agency cancel run-1 ends the run"}
	if err != nil || !slices.Equal(says, want) {
		t.Errorf("%v: %q, want %q", err, says, want)
	}
}

// What is done again goes on with the conversation before, holds to all that was asked for,
// and builds on what landed last.
func TestDoneAgainGoesOn(t *testing.T) {
	s := newStage(t)
	s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "shorter"}, "merge-main-2-1": {Verb: agency.Reject, Note: "and faster"}}
	s.play(input)
	var on []string
	for _, sp := range s.specs {
		on = append(on, string(sp.GoesOn))
	}
	if want := []string{"", "run-1/main/attempt-1", "run-1/main-2/attempt-1"}; !slices.Equal(on, want) {
		t.Errorf("the sessions go on with %q, want %q", on, want)
	}
	last := s.claims[len(s.claims)-1]
	if n := len(last.Criteria); last.Base != "c-main-2" || last.After != "main-2" || n < 2 || last.Criteria[n-2].Text != "shorter" || last.Criteria[n-1].Text != "and faster" {
		t.Errorf("the last claim is judged by %+v", last)
	}
	if g := s.contract("main-3"); !strings.Contains(g.Description, "and faster") || strings.Contains(g.Description, "shorter") {
		t.Errorf("it is told %q", g.Description)
	}
}

// A process that dies between any two steps of work that is sent back three times, and fails
// once, comes to the same.
func TestDeathsOfWorkDoneAgain(t *testing.T) {
	in := input
	in.RetryBudget = 1
	set := func(s *stage) {
		s.answers = map[string]agency.Decision{
			"merge-1": {Verb: agency.Reject, Note: "no"}, "merge-main-2-1": {Verb: agency.Reject, Note: "still no"}, "merge-main-2-2": {Verb: agency.Reject, Note: "once more"},
		}
		s.judged = map[string]agency.Verdict{"main-3 1": red}
	}
	diesAtEach(t, Single, in, set, merged, 40, *stride, func(n int, s *stage) {
		lands := 0
		for _, l := range s.lands {
			lands += len(l.Contract)
		}
		if lands != len("main")+len("main-2")+len("main-4") {
			t.Errorf("death %d: landed %+v", n, s.lands)
		}
	})
}
