package mode

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// What is not as its gate showed it is shown again, by a gate of its own, and
// an approval is of the head of its gate.
func TestWhatChangedIsShownAgain(t *testing.T) {
	const begin = "session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; verify tree mix on base; "
	for name, c := range map[string]struct {
		moved land.Moved
		said  string
		heads string
		noYes bool
	}{
		"the target, as shown": {
			land.Moved{Target: "new", Head: "c-main", Tree: "mix"},
			begin + "merge into trunk, verified true: true", "c-main c-main", false,
		},
		"the target, otherwise": {
			land.Moved{Target: "new", Head: "c-main", Tree: "mix", Why: "other files: a.go"},
			begin + "gate merge-2: approve; merge into trunk, verified true: true", "c-main c-main", false,
		},
		"the branch": {
			land.Moved{Target: "new", Head: "hers", Tree: "mix", Why: "somebody moved it", ByHand: true},
			begin + "gate merge-2: approve; merge into trunk, verified true: true", "c-main hers", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.merges = []land.MergeOutcome{{Moved: &c.moved}}
			if got := s.play(input); got != merged {
				t.Errorf("ended %+v", got)
			}
			if got := strings.Join(s.said, "; "); got != c.said {
				t.Errorf("happened:\n  %s\nwant:\n  %s", got, c.said)
			}
			var heads []string
			for _, m := range s.merged {
				heads = append(heads, string(m.Head))
			}
			if got := strings.Join(heads, " "); got != c.heads {
				t.Errorf("merged %s, want %s", got, c.heads)
			}
			gates := s.allGates()
			last := gates[len(gates)-1]
			if c.moved.Why != "" && (!strings.Contains(last.Body, c.moved.Why) || last.NoYes != c.noYes || last.Head != c.moved.Head || last.Base != "new") {
				t.Errorf("the gate is %+v", last)
			}
			if d := gates[0].Decision; d.Head != "c-main" || d.Base != "base" {
				t.Errorf("the approval is of %s from %s", d.Head, d.Base)
			}
			err := s.db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := registry.Decide(tx, gates[0].ID, agency.Decision{Verb: agency.Approve, By: "late"})
				return err
			})
			if agency.KindOf(err) != agency.KindConflict {
				t.Errorf("an answer to a gate that was answered: %v", err)
			}
		})
	}
}

func (s *stage) allGates() (out []agency.Gate) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(q *store.Snapshot) (err error) {
		out, err = registry.Gates(q, run)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// A branch that is to keep the work and is held back asks again.
func TestHeldBranchAsksAgain(t *testing.T) {
	s, in := newStage(t), input
	in.Land = agency.LandBranch
	s.held = []string{"it is checked out in ../linked"}
	if got := s.play(in); !got.Succeeded || got.Reason != "left on its branch, not merged" {
		t.Errorf("ended %+v", got)
	}
	gates := s.allGates()
	if len(gates) != 2 || !strings.Contains(gates[1].Body, "checked out in ../linked") {
		t.Errorf("%d gates, the last %+v", len(gates), gates[len(gates)-1])
	}
}

// A retry stands on what it needs and has landed since its base was taken.
func TestRetryStandsOnWhatLandedSince(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), tests("t", "a"), part("u", "a"))}
	s.byAttempt = map[string]session.Outcome{
		"t 1.1": bug(), "u 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"},
	}
	s.judged = map[string]agency.Verdict{"u 1": red}
	s.landed = map[string]land.Outcome{}
	s.heads = func() agency.OID { return agency.OID("head-" + strings.Repeat("x", len(s.lands))) }
	s.hold = func(open []agency.Gate) bool { return false }
	in := teamInput
	in.Parallel = 2
	if got := s.run(Team, in); got != merged {
		t.Fatalf("ended %+v", got)
	}
	s.order("land a: true", "verify u 1: false", "verify u 2: true", "land u: true")
	bases := map[int]agency.OID{}
	for _, v := range s.claims {
		if v.Contract == "u" {
			bases[v.Attempt] = v.Base
		}
	}
	s.order("land a-fix-1: true", "verify u 1: false")
	if bases[1] == "" || bases[2] == bases[1] {
		t.Errorf("the attempts stand on %v", bases)
	}
}

// stays leaves the run's branch where the run landed last.
func stays(s *stage) {
	s.heads = func() agency.OID {
		if n := len(s.lands); n > 0 {
			return agency.OID("c-" + s.lands[n-1].Contract)
		}
		return "base"
	}
}

// movedApart is a target that changed where the run did, and what an agent is given of both.
func movedApart(s *stage) {
	stays(s)
	s.merges = []land.MergeOutcome{{Refused: &land.Refusal{Cause: land.CauseConflict, Paths: []string{"a.go"}}, Reason: "trunk has changed where the run has, too: a.go", Mend: "x"}}
	s.files = []land.Files{{Tree: "marked", Conflicts: []string{"a.go"}, From: "base", Conflict: &agency.Conflict{Head: "moved", Paths: []string{"a.go"}, Theirs: "run other: be loud"}}}
	s.answers = map[string]agency.Decision{"merge-2": {Verb: agency.Approve, Note: "rebase"}}
}

// Work that conflicts with its target is brought together by an agent, judged by what the
// target had, and merged as it was shown.
func TestBroughtTogether(t *testing.T) {
	for name, tt := range map[string]struct {
		mode  func(flow.Ctx, Input) (Result, error)
		in    Input
		set   func(*stage)
		want  Result
		order []string
	}{
		"by one agent": {
			Single, input, movedApart, merged,
			[]string{"merge into trunk, verified false: false", "gate merge-2: approve", "files of trunk on c-main", "session rebase-2 1.1", "verify rebase-2 1: true", "land rebase-2: true", "gate merge-rebase-2-1: approve", "merge into trunk, verified true: true"},
		},
		"of a team": {
			Team, teamInput, func(s *stage) {
				movedApart(s)
				s.plans = []session.Outcome{plan(part("a"))}
			}, merged,
			[]string{"gate merge-2: approve", "session rebase-2 1.1", "land rebase-2: true", "gate merge-rebase-2-1: approve", "merge into trunk, verified true: true"},
		},
		"marks that are left go back": {
			Single, input, func(s *stage) {
				movedApart(s)
				s.resolutions = []land.Resolution{{Marked: []string{"a.go"}}}
			}, merged,
			[]string{"session rebase-2 1.1", "session rebase-2 2.1", "land rebase-2: true"},
		},
		"without a conflict nobody is asked": {
			Single, input, func(s *stage) {
				stays(s)
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Approve, Note: " Rebase"}}
				s.files = []land.Files{{Tree: "both", From: "base", Conflict: &agency.Conflict{Head: "moved"}}}
			}, merged,
			[]string{"gate merge-1: approve", "files of trunk on c-main", "verify rebase-2 1: true", "land rebase-2: true", "gate merge-rebase-2-1: approve", "merge into trunk, verified true: true"},
		},
		"not what somebody put on the branch": {
			Single, input, func(s *stage) {
				movedApart(s)
				s.heads = func() agency.OID { return "theirs" }
			}, merged,
			[]string{"gate merge-2: approve", "gate merge-3: approve", "merge into trunk, verified false: true"},
		},
		"where it fails the gate asks again": {
			Single, input, func(s *stage) {
				movedApart(s)
				s.judged = map[string]agency.Verdict{"rebase-2 1": red, "rebase-2 2": red}
			}, merged,
			[]string{"verify rebase-2 2: false", "gate merge-3: approve"},
		},
		"where there is nothing to bring it together with the gate asks again": {
			Single, input, func(s *stage) {
				movedApart(s)
				s.files = []land.Files{{Refused: "branch trunk does not exist (any more)", Mend: "git branch trunk base"}}
			}, merged,
			[]string{"files of trunk on c-main", "gate merge-3: approve"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if name != "of a team" {
				s.heads = func() agency.OID { return "c-main" }
			}
			tt.set(s)
			if got := s.run(tt.mode, tt.in); got != tt.want {
				t.Errorf("ended %+v", got)
			}
			s.order(tt.order...)
			for _, c := range s.claims {
				if c.Contract == "rebase-2" && c.Base != "moved" {
					t.Errorf("judged by %s", c.Base)
				}
			}
			for _, l := range s.lands {
				if l.Contract == "rebase-2" && l.Of != "moved" {
					t.Errorf("landed as %+v", l)
				}
			}
			for _, g := range s.allGates() {
				if g.ContractID == "rebase-2" && g.Base != "moved" {
					t.Errorf("the gate shows what changed since %s", g.Base)
				}
			}
		})
	}
}

// The gate offers it, and its agent is told what either side meant.
func TestOffersRebase(t *testing.T) {
	s := newStage(t)
	movedApart(s)
	s.heads = func() agency.OID { return "c-main" }
	s.play(input)
	if g := s.allGates()[1]; !strings.Contains(g.Body, "agency resume run-1 --rebase") || !strings.Contains(g.Body, "There are four answers") {
		t.Errorf("the gate says %q", g.Body)
	}
	last := s.specs[len(s.specs)-1]
	if f := last.Feedback; last.From != "marked" || f == nil || f.Conflict == nil || f.Conflict.Theirs != "run other: be loud" || f.Conflict.Ours != "the goal" {
		t.Errorf("it begins with %+v", last)
	}
}

// What hinders a rebase stands at the gate after it: it is no failure of the agent's.
func TestRebaseRefused(t *testing.T) {
	gone := land.Files{Refused: "branch trunk does not exist (any more)", Mend: "git branch trunk base"}
	s := newStage(t)
	stays(s)
	s.files = []land.Files{gone}
	s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Approve, Note: "rebase"}}
	s.play(input)
	g := s.allGates()[1]
	if g.Summary != "the merge was not done: "+gone.Refused || !g.NoYes || g.Approving != "try the merge again" || !strings.Contains(g.Body, "mend: "+gone.Mend) {
		t.Errorf("the gate is %+v", g)
	}
	s = newStage(t)
	stays(s)
	s.files = []land.Files{{Tree: "theirs"}, gone}
	got := s.run(Follow, following(agency.Follows{What: agency.FollowLand, Base: "base", Commit: "c-old", Rebase: true}))
	if want := gone.Refused + "; mend: " + gone.Mend; got.Succeeded || got.Reason != want || len(s.allGates()) > 0 {
		t.Errorf("ended %+v", got)
	}
}

// A failed rebase is offered again, for what hindered the merge still does.
func TestRebaseFailed(t *testing.T) {
	s := newStage(t)
	movedApart(s)
	s.judged = map[string]agency.Verdict{"rebase-2 1": red, "rebase-2 2": red}
	s.play(input)
	g := s.allGates()[2]
	if !strings.Contains(g.Body, "agency resume run-1 --rebase") || g.Approving != "try the merge again" || !strings.Contains(g.Summary, "trunk has changed where the run has, too: a.go; and what you asked for failed") {
		t.Errorf("the gate is %+v", g)
	}
}

// What a person asked for and did not get stays open over a rebase: it is no criterion of
// that, and the gate after it says so.
func TestRebaseKeepsWhatFailed(t *testing.T) {
	s := newStage(t)
	stays(s)
	s.answers = map[string]agency.Decision{
		"merge-1": {Verb: agency.Reject, Note: "handle zero"}, "merge-2": {Verb: agency.Approve, Note: "rebase"}, "merge-rebase-3-1": {Verb: agency.Reject, Note: "once more"},
	}
	s.judged = map[string]agency.Verdict{"main-2 1": red, "main-2 2": red}
	s.files = []land.Files{{Tree: "both", From: "base", Conflict: &agency.Conflict{Head: "moved"}}}
	s.play(input)
	s.order("verify main-2 2: false", "gate merge-2: approve", "land rebase-3: true", "gate merge-rebase-3-1: reject", "land main-4: true", "gate merge-main-4-1: approve")
	asks := func(of agency.ContractID) (out []string) {
		for _, c := range s.claims {
			if c.Contract == of {
				out = nil
				for _, cr := range c.Criteria {
					out = append(out, cr.Text)
				}
			}
		}
		return out
	}
	if got := asks("rebase-3"); slices.Contains(got, "handle zero") {
		t.Errorf("the rebase is held to %q", got)
	}
	if got := asks("main-4"); !slices.Contains(got, "handle zero") || !slices.Contains(got, "once more") {
		t.Errorf("what comes after is held to %q", got)
	}
	for _, g := range s.allGates() {
		if failed := strings.Contains(g.Summary, "what you asked for failed"); failed != (strings.HasSuffix(string(g.ID), "merge-2") || strings.HasSuffix(string(g.ID), "merge-rebase-3-1")) {
			t.Errorf("gate %s says %q", g.ID, g.Summary)
		}
	}
}

// A process that dies between any two steps comes to the same.
func TestBroughtTogetherAfterDeath(t *testing.T) {
	apart := func(s *stage) {
		movedApart(s)
		s.heads = func() agency.OID { return "c-main" }
	}
	diesAtEach(t, Single, input, apart, merged, 25, *stride, func(n int, s *stage) {
		if len(s.lands) != 2 {
			t.Errorf("death %d: landed %+v", n, s.lands)
		}
	})
}
