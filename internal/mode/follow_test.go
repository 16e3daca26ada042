package mode

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/verify"
)

func following(f agency.Follows) Input {
	in := input
	in.Mode = agency.ModeSingle
	f.Run, f.Goal, f.State, f.Said = "old", "the old goal", agency.StateFailed, "old/main/attempt-1"
	in.Follows = &f
	return in
}

// A run that begins where another one stands has what it takes over verified before anything
// is done on top of it or lands, and works in the other's conversation.
func TestFollow(t *testing.T) {
	on := agency.Follows{What: agency.FollowOn, Base: "base", Commit: "c-old"}
	for name, tt := range map[string]struct {
		follows agency.Follows
		mode    agency.Mode
		set     func(*stage)
		want    Result
		said    string
	}{
		"goes on": {
			on, agency.ModeSingle, func(*stage) {}, merged,
			"files of c-old on base; verify before 1: true; land before: true; session more 1.1; verify more 1: true; land more: true; " +
				"gate merge-more-1: approve; merge into trunk, verified false: true",
		},
		"what was taken over is red": {
			on, agency.ModeSingle, func(s *stage) { s.judged = map[string]agency.Verdict{"before 1": red} },
			Result{Reason: "the work does not hold: " + red.Reasons[0]},
			"files of c-old on base; verify before 1: false",
		},
		"goes on from what was merged": {
			agency.Follows{What: agency.FollowOn, Merged: true},
			agency.ModeSingle, func(*stage) {}, merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
		},
		"lands what there was, after it was sent back": {
			agency.Follows{What: agency.FollowLand, Base: "base", Commit: "c-old", Contract: "main"},
			agency.ModeSingle,
			func(s *stage) {
				s.answers = map[string]agency.Decision{"merge-before-1": {Verb: agency.Reject, Note: "without the noise"}}
			}, merged,
			"files of c-old on base; verify before 1: true; land before: true; gate merge-before-1: reject; " +
				"session before-2 1.1; verify before-2 1: true; land before-2: true; gate merge-before-2-1: approve; merge into trunk, verified false: true",
		},
		"takes back": {
			agency.Follows{What: agency.FollowUndo, Commit: "c-old", Merged: true},
			agency.ModeSingle, func(*stage) {}, merged,
			"files of without c-old on base; verify undo 1: true; land undo: true; gate merge-undo-1: approve; merge into trunk, verified false: true",
		},
		"takes back what is not there": {
			agency.Follows{What: agency.FollowUndo, Commit: "c-old", Merged: true},
			agency.ModeSingle,
			func(s *stage) { s.landings = []land.Outcome{{Landed: &land.Landed{Commit: "base", Empty: true}}} },
			Result{Reason: "nothing is left of it to take back: trunk has none of its changes"},
			"files of without c-old on base; verify undo 1: true; land undo: true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), following(tt.follows)
			in.Mode = tt.mode
			tt.set(s)
			if got := s.run(Follow, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			if got := strings.Join(s.said, "; "); got != tt.said {
				t.Errorf("happened:\n  %s\nwant:\n  %s", got, tt.said)
			}
			for _, sp := range s.specs {
				if sp.GoesOn != "old/main/attempt-1" {
					t.Errorf("session %s goes on with %q", sp.Contract, sp.GoesOn)
				}
			}
		})
	}
}

// A conflict is told with its files and the way by hand, and nothing is asked.
func TestUndoConflict(t *testing.T) {
	s := newStage(t)
	s.files = []land.Files{{Tree: "marked", Conflicts: []string{"a.go", "b.go"}}}
	got := s.run(Follow, following(agency.Follows{What: agency.FollowUndo, Commit: "c-old", Merged: true}))
	for _, want := range []string{"trunk has changed since where run old did, too: a.go, b.go", "git revert -m 1 c-old"} {
		if got.Succeeded || !strings.Contains(got.Reason, want) {
			t.Errorf("ended %+v without %q", got, want)
		}
	}
	if len(s.claims)+len(s.lands)+len(s.allGates()) > 0 {
		t.Errorf("happened: %v", s.said)
	}
}

// Where a person asks for a mode, its plan is made with what came before, and done on top of what
// was taken over; a plan that fails falls back to one agent there.
func TestFollowPlanned(t *testing.T) {
	on := agency.Follows{What: agency.FollowOn, Base: "base", Commit: "c-old", Planned: true}
	merged := agency.Follows{What: agency.FollowOn, Merged: true, Planned: true}
	for name, tt := range map[string]struct {
		follows agency.Follows
		mode    agency.Mode
		plans   []session.Outcome
		order   []string
		onto    agency.OID // on which the first work stands
	}{
		"a team": {
			on, agency.ModeMultiAgent,
			[]session.Outcome{plan(part("a"), part("b", "a"))},
			[]string{"land before: true", "session plan 1.1", "land a: true", "land b: true"},
			"head", // of the run's branch
		},
		"a team, of what was merged": {
			merged, agency.ModeMultiAgent, []session.Outcome{plan(part("a"))}, []string{"session plan 1.1", "land a: true"}, "head",
		},
		"one contract": {
			on, agency.ModeContract, []session.Outcome{plan(part("a"))}, []string{"land before: true", "session plan 1.1", "land a: true"}, "c-before",
		},
		"a failed plan": {
			on, agency.ModeMultiAgent,
			[]session.Outcome{{Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}},
			[]string{"land before: true", "session more 1.1", "land more: true"},
			"c-before",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.Mode, in.OnError, in.Follows = tt.mode, "single", following(tt.follows).Follows
			s.plans = tt.plans
			if got := s.run(Follow, in); !got.Succeeded {
				t.Errorf("ended %+v after %v", got, s.said)
			}
			s.order(tt.order...)
			if d := s.contract(agency.PlanContract).Description; !strings.HasPrefix(d, in.Goal) || !strings.Contains(d, "the old goal") {
				t.Errorf("its planner is told %q", d)
			}
			for _, c := range s.claims {
				if c.Contract != "before" {
					if c.Base != tt.onto {
						t.Errorf("%s stands on %s", c.Contract, c.Base)
					}
					break
				}
			}
		})
	}
}

// A critic reads what goes on from a run in a mode that has one; it stands on what landed.
func TestFollowReviewed(t *testing.T) {
	s, in := newStage(t), following(agency.Follows{What: agency.FollowOn, Base: "base", Commit: "c-old"})
	in.Mode, in.Review = agency.ModeProducerCritic, agency.ReviewRules{MaxIterations: 2}
	s.judged = map[string]agency.Verdict{"more 1": {Pass: true, Tree: "tree", Base: "before"}}
	if got := s.run(Follow, in); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("land before: true", "critic more 1 round 1.1: approve", "land more: true")
	var of verify.Spec
	for _, c := range s.claims {
		if c.Contract == "more" {
			of = c
		}
	}
	if of.Base != "c-before" || of.After != "before" || s.lands[0].Of != "c-old" {
		t.Errorf("verified %+v, landed %+v", of, s.lands[0])
	}
}

// Where nothing of the other run landed its goal is still what is to be done, and judged;
// where something did, that is judged as what was taken over.
func TestFirstGoalIsJudged(t *testing.T) {
	for _, tt := range []struct {
		follows agency.Follows
		judged  string
	}{
		{agency.Follows{What: agency.FollowOn}, "goal before"},
		{agency.Follows{What: agency.FollowOn, Merged: true}, "goal"},
		{agency.Follows{What: agency.FollowOn, Undone: true}, "goal"},
	} {
		s := newStage(t)
		s.run(Follow, following(tt.follows))
		var ids []string
		for _, c := range s.contract("main").AcceptanceCriteria {
			if ids = append(ids, c.ID); c.ID == "before" && c.Text != "the old goal" {
				t.Errorf("what was to be done is %q", c.Text)
			}
		}
		if got := strings.Join(ids, " "); got != tt.judged {
			t.Errorf("%+v: judged by %q, want %q", tt.follows, got, tt.judged)
		}
	}
}

// Of runs that go on from each other each is told all that was wanted before, oldest first, and
// what has become of it; what is open is judged, and what was taken over is named as what it is.
func TestAllGoalsAreTold(t *testing.T) {
	goals := func(first, last agency.GoalFate) []agency.FormerGoal {
		return []agency.FormerGoal{
			{Run: "older", Goal: "the first goal", State: agency.StateFailed, Now: first}, {Run: "old", State: agency.StateFailed, Now: last},
		}
	}
	describe := func(s *stage, id agency.ContractID) string {
		c := s.contract(id)
		out := c.Title + "\n" + c.Description
		for _, k := range c.AcceptanceCriteria {
			out += "\n" + k.ID + "=" + k.Text
		}
		return out
	}
	for name, tt := range map[string]struct {
		follows  agency.Follows
		contract agency.ContractID
		want     []string // in this order
		not      string
	}{
		"nothing landed": {
			agency.Follows{Goals: goals(agency.GoalOpen, agency.GoalOpen)},
			"main",
			[]string{"the first goal", "1. Run older, which has failed", "the first goal", "files are as they were", "2. Run old,", "the old goal", "before=the first goal", "before-2=the old goal"},
			"keep it working",
		},
		"the first landed": {
			agency.Follows{Base: "base", Commit: "c-old", Goals: goals(agency.GoalLanded, agency.GoalOpen)},
			"more",
			[]string{"the first goal", "keep it working", "the old goal", "it is to be done, too", "before=the old goal"},
			"before=the first goal",
		},
		"what is taken over": {
			agency.Follows{Base: "base", Commit: "c-old", Goals: goals(agency.GoalLanded, agency.GoalOpen)},
			"before",
			[]string{"the first goal", "Run older:", "the first goal"},
			"the old goal",
		},
		"both landed": {
			agency.Follows{Base: "base", Commit: "c-old", Goals: goals(agency.GoalLanded, agency.GoalLanded)},
			"before",
			[]string{"the old goal", "Run older:", "the first goal", "Run old:", "the old goal"},
			"nothing",
		},
		"merged, and taken back": {
			agency.Follows{Undone: true, Goals: goals(agency.GoalMerged, agency.GoalUndone)},
			"main",
			[]string{"the first goal", "keep it working", "the old goal", "in the files no more"},
			"before=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := newStage(t), tt.follows
			f.What = agency.FollowOn
			s.run(Follow, following(f))
			said := describe(s, tt.contract)
			rest := said
			for _, want := range tt.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("no %q where it is due in:\n%s", want, said)
				}
				rest = after
			}
			if strings.Contains(said, tt.not) {
				t.Errorf("%q in:\n%s", tt.not, said)
			}
		})
	}
}

// A process that dies between any two steps comes to the same.
func TestFollowAfterDeath(t *testing.T) {
	for _, f := range []agency.Follows{{What: agency.FollowOn, Base: "base", Commit: "c-old"}, {What: agency.FollowUndo, Commit: "c-old", Merged: true}} {
		diesAtEach(t, Follow, following(f), func(*stage) {}, merged, 15, *stride, func(n int, s *stage) {
			if want := map[agency.Following]int{agency.FollowOn: 2, agency.FollowUndo: 1}[f.What]; len(s.lands) != want {
				t.Errorf("%s, death %d: landed %+v", f.What, n, s.lands)
			}
		})
	}
}
