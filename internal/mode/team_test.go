package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/contractrun"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func part(id string, after ...agency.ContractID) agency.Contract {
	return agency.Contract{
		ID: agency.ContractID(id), Title: "Do " + id, Description: "It is done.", AssignedRole: "scaffolder", DependsOn: after,
		Writes: []string{id + ".go"}, AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "done"}},
	}
}

func plan(parts ...agency.Contract) session.Outcome {
	return session.Outcome{Kind: session.Planned, Plan: parts}
}

var teamInput = Input{
	Facts: contractrun.Facts{Run: run, Goal: "the goal", Base: "base", RetryBudget: 2}, Target: "trunk", Land: agency.LandMerge, Parallel: 2, MaxWaitingGates: 5,
}

// order asserts that what happened holds these in this order.
func (s *stage) order(want ...string) {
	s.t.Helper()
	at := 0
	for _, w := range want {
		i := slices.Index(s.said[at:], w)
		if i < 0 {
			s.t.Fatalf("no %q after %q in\n  %s", w, s.said[:at], strings.Join(s.said, "\n  "))
		}
		at += i + 1
	}
}

func (s *stage) contract(id agency.ContractID) (c agency.Contract) {
	s.t.Helper()
	err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) {
		c, err = registry.Contract(q, run, id)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// pause is what a person's pause writes.
func (s *stage) pause() {
	s.t.Helper()
	if err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		return registry.SetControl(tx, run, registry.Control{Pause: true, By: "tester"})
	}); err != nil {
		s.t.Fatal(err)
	}
}

// Where a run is paused, those at work rest in their slots: nobody begins in their
// place, only to rest, too.
func TestNobodyBeginsInAPause(t *testing.T) {
	s, in := newStage(t), teamInput
	in.Parallel = 2
	var plans []agency.Contract
	s.byAttempt = map[string]session.Outcome{}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		plans = append(plans, part(id))
		if id < "c" {
			s.byAttempt[id+" 1.1"] = session.Outcome{Kind: session.Parked, For: session.ForPause}
		}
	}
	s.plans = []session.Outcome{plan(plans...)}
	s.pause()
	if got := s.run(Team, in); got != merged {
		t.Errorf("ended %+v", got)
	}
	at := slices.Index(s.said, "resume")
	if at < 0 {
		t.Fatalf("it was not paused: %q", s.said)
	}
	for _, line := range s.said[:at] {
		if id, ok := strings.CutPrefix(line, "session "); ok && id[0] >= 'c' && id[1] == ' ' {
			t.Errorf("%s although the run is paused", line)
		}
	}
}

func TestTeam(t *testing.T) {
	conflict := land.Outcome{Conflict: &agency.Conflict{Head: "head", Paths: []string{"b.go"}, Ours: "b", Theirs: "a"}, Reason: "it conflicts"}
	parked := session.Outcome{Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "call-1"}
	for name, tt := range map[string]struct {
		set   func(*stage, *Input)
		want  Result
		order []string
	}{
		"straight": {
			func(*stage, *Input) {}, merged,
			[]string{"session plan 1.1", "land a: true", "session c 1.1", "land c: true", "gate merge-1: approve", "merge into trunk, verified false: true"},
		},
		"a first attempt fails": {
			func(s *stage, _ *Input) { s.judged = map[string]agency.Verdict{"b 1": red} }, merged,
			[]string{"verify b 1: false", "session b 2.1", "verify b 2: true", "land b: true", "session c 1.1"},
		},
		"a conflict is worked out": {
			func(s *stage, _ *Input) {
				s.landed = map[string]land.Outcome{"b 1": conflict}
			}, merged,
			[]string{"land b: false", "session b 2.1", "land b: true", "session c 1.1"},
		},
		"a question holds up nobody": {
			func(s *stage, in *Input) {
				in.Parallel = 1
				s.byAttempt = map[string]session.Outcome{"a 1.1": parked}
			}, merged,
			[]string{"session a 1.1", "land b: true", "gate question-a-1-1: approve", "session a 1.2", "land a: true", "session c 1.1"},
		},
		"one resume for all": {
			func(s *stage, _ *Input) {
				s.pause()
				s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForPause}, "b 1.1": {Kind: session.Parked, For: session.ForPause}}
			}, merged,
			[]string{"resume", "land c: true", "gate merge-1: approve"},
		},
		"one budget gate for all": {
			func(s *stage, _ *Input) {
				out := session.Outcome{Kind: session.Parked, For: session.ForBudget, Reason: "r", Exhausted: &budget.Exhausted{Node: budget.Root, Limit: "usd"}}
				s.byAttempt = map[string]session.Outcome{"a 1.1": out, "b 1.1": out}
			}, merged,
			[]string{"gate budget-1: approve", "land c: true", "gate merge-1: approve"},
		},
		"no more money": {
			func(s *stage, _ *Input) {
				s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForBudget, Reason: "r"}}
				s.answers = map[string]agency.Decision{"budget-1": {Verb: agency.Reject}}
			},
			Result{Reason: "the budget does not hold the next request: r"},
			[]string{"gate budget-1: reject"},
		},
		"no report comes": {
			func(s *stage, _ *Input) {
				s.reports = []session.Outcome{{Kind: session.Incomplete, Reason: "30 turns"}}
			}, merged, []string{"land c: true", "session report 1.1", "gate merge-1: approve"},
		},
		"no money is left for a report": {
			func(s *stage, _ *Input) {
				s.reports = []session.Outcome{{Kind: session.Parked, For: session.ForBudget, Reason: "r"}}
			}, merged, []string{"session report 1.1", "gate merge-1: approve"},
		},
		"nobody is asked at the end": {
			func(s *stage, _ *Input) {
				s.reports = []session.Outcome{{Kind: session.Parked, For: session.ForHuman, Question: "well?", ToolUse: "call-9"}}
			}, merged, []string{"session report 1.1", "session report 1.2", "gate merge-1: approve"},
		},
		"paused before the report": {
			func(s *stage, _ *Input) {
				s.reports = []session.Outcome{{Kind: session.Parked, For: session.ForPause}}
				s.pause()
			}, merged, []string{"session report 1.1", "resume", "session report 1.2", "gate merge-1: approve"},
		},
		"cancelled in the report": {
			func(s *stage, _ *Input) {
				s.reports = []session.Outcome{{Kind: session.Stopped, Reason: "cancelled"}}
			}, Result{Reason: "cancelled"}, []string{"land c: true", "session report 1.1"},
		},
		"planned anew": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b")), plan(part("a2"), part("c2", "a2"))}
			}, merged,
			[]string{"verify a 2: false", "session replan 1.1", "land a2: true", "session c2 1.1", "land c2: true", "gate merge-1: approve"},
		},
		"planned anew on what landed and is at work": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b")), plan(part("a2"), part("c2", "a2", "b"))}
			}, merged,
			[]string{"verify a 2: false", "session replan 1.1", "land a2: true", "session c2 1.1", "land c2: true", "gate merge-1: approve"},
		},
		"a new plan builds on what fails meanwhile": {
			func(s *stage, in *Input) {
				in.Parallel = 3
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red, "b 1": red, "b 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("b"), part("c")), plan(part("a2"), part("b2", "b"))}
			}, merged,
			[]string{"session replan 1.1", "land a2: true", "gate incomplete: approve", "gate merge-1: approve"},
		},
		"another fails while it is planned anew": {
			func(s *stage, in *Input) {
				in.Parallel = 3
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red, "b 1": red, "b 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("b"), part("c")), plan(part("a2"))}
			}, merged,
			[]string{"land a2: true", "gate incomplete: approve", "gate merge-1: approve"},
		},
		"failed for good, the rest is wanted": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{
					plan(part("a"), part("b"), part("c", "a", "b")),
					{Kind: session.Incomplete, Reason: "no idea"},
					{Kind: session.Incomplete, Reason: "no idea"},
				}
			}, merged,
			[]string{"land b: true", "gate incomplete: approve", "gate merge-1: approve"},
		},
		"failed for good, nobody wants the rest": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{
					plan(part("a"), part("b"), part("c", "a", "b")),
					{Kind: session.Incomplete, Reason: "no idea"},
					{Kind: session.Incomplete, Reason: "no idea"},
				}
				s.answers = map[string]agency.Decision{"incomplete": {Verb: agency.Reject}}
			},
			Result{Reason: "a: the work does not hold: p.TestX fails; all 2 attempts are used"},
			[]string{"gate incomplete: reject"},
		},
		"the merge is rejected once": {
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "handle zero"}}
			}, merged,
			[]string{"gate merge-1: reject", "session rework 1.1", "land rework: true", "gate merge-rework-1: approve"},
		},
		"the merge is rejected again and again": {
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{
					"merge-1": {Verb: agency.Reject, Note: "handle zero"}, "merge-rework-1": {Verb: agency.Reject, Note: "and one"}, "merge-rework-2-1": {Verb: agency.Approve, Note: "rebase"},
				}
				s.files = []land.Files{{Tree: "both", From: "base", Conflict: &agency.Conflict{Head: "moved"}}}
			}, merged,
			[]string{"gate merge-rework-1: reject", "session rework-2 1.1", "land rework-2: true", "gate merge-rework-2-1: approve", "land rebase-4: true", "gate merge-rebase-4-1: approve"},
		},
		"no plan comes": {
			func(s *stage, in *Input) {
				in.OnError = "stop"
				s.plans = []session.Outcome{{Kind: session.Incomplete, Reason: "30 turns"}, {Kind: session.Incomplete, Reason: "30 turns"}}
			}, Result{Reason: "no valid plan came: 30 turns; all 2 attempts at a plan are used"}, []string{"session plan 2.1"},
		},
		"nothing of a plan landed": {
			func(s *stage, in *Input) {
				in.OnError = "single"
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red, "b 1": red, "b 2": red}
				s.plans = []session.Outcome{
					plan(part("a"), part("c", "a")), plan(part("b")),
				}
			}, merged,
			[]string{"session replan 1.1", "verify b 2: false", "session main 1.1", "land main: true", "gate merge-1: approve"},
		},
		"nothing of a plan landed, nor by one agent": {
			func(s *stage, in *Input) {
				in.OnError = "single"
				other := red
				other.Reasons = []string{"p.TestY fails"}
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red, "main 1": other, "main 2": other}
				s.plans = []session.Outcome{plan(part("a")), {Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}}
			},
			Result{Reason: "a: the work does not hold: p.TestX fails; all 2 attempts are used"},
			[]string{"session replan 2.1", "session main 1.1"},
		},
		"nothing of a plan landed, and that is the end": {
			func(s *stage, in *Input) {
				in.OnError = "stop"
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("c", "a")), {Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}}
			},
			Result{Reason: "a: the work does not hold: p.TestX fails; all 2 attempts are used"},
			[]string{"session replan 2.1", "session report 1.1"},
		},
		"what landed is not lost over what failed": {
			func(s *stage, in *Input) {
				in.OnError = "single"
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{plan(part("a"), part("b")), {Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"}}
			}, merged,
			[]string{"land b: true", "gate incomplete: approve", "gate merge-1: approve"},
		},
		"one agent instead of a plan": {
			func(s *stage, in *Input) {
				in.OnError = "single"
				s.plans = []session.Outcome{{Kind: session.Incomplete, Reason: "30 turns"}, {Kind: session.Incomplete, Reason: "30 turns"}}
			}, merged, []string{"session plan 2.1", "session main 1.1", "land main: true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b"))}
			tt.set(s, &in)
			if got := s.run(Team, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			s.order(tt.order...)
			if n := strings.Count(strings.Join(s.said, "\n"), "budget-"); n > 1 {
				t.Errorf("asked for money %d times", n)
			}
		})
	}
}

// A contract of a new plan that builds on what fails while the plan is made is
// blocked, whichever comes first.
func TestNewPlanOnWhatFails(t *testing.T) {
	s, in := newStage(t), teamInput
	in.Parallel = 3
	s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red, "b 1": red, "b 2": red}
	s.plans = []session.Outcome{plan(part("a"), part("b")), plan(part("a2"), part("b2", "b"))}
	s.run(Team, in)
	if c := s.contract("b2"); c.Status != agency.StatusBlocked || c.Error == "" {
		t.Errorf("it is %s: %q", c.Status, c.Error)
	}
}

// What a contract came to is measured: the files of its landing, and the tests
// that pass by the verdict on the claim that landed.
func TestResultsOfATeam(t *testing.T) {
	s, in := newStage(t), teamInput
	s.plans = []session.Outcome{plan(part("a"))}
	verdict := greenOf("ta")
	verdict.NewlyPass = []string{"TestA"}
	s.judged = map[string]agency.Verdict{"a 1": verdict}
	s.run(Team, in)
	want := agency.Measure("c-a", agency.Files{Modified: []string{"a.go"}}, []string{"TestA"})
	if diff := cmp.Diff(want, s.contract("a").ActualOutputs); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// A conflict stands on the board until a landing holds both sides, or the
// contract that did not go with the other has failed for good. The manager is
// told of a landing that does not, and of attempts that are used up.
func TestConflictsOfATeam(t *testing.T) {
	conflict := land.Outcome{Conflict: &agency.Conflict{Head: "head", Paths: []string{"x.go"}, With: []agency.ContractID{"a"}}, Reason: "it conflicts"}
	for name, tt := range map[string]struct {
		set  func(*stage)
		want board.Conflict
	}{
		"landed on top": {func(*stage) {}, board.Conflict{
			Status: board.ConflictResolved, By: agency.FromSystem, How: "contract b was integrated on top of the other's work", Proof: board.Proof{Kind: board.ProofCommit, Ref: "c-b"},
		}},
		"git does not show it": {
			func(s *stage) { s.unproved = agency.Errorf(agency.KindInvalid, "not in it") },
			board.Conflict{Status: board.ConflictEscalated},
		},
		"no attempt is left": {
			func(s *stage) {
				s.landed["b 2"] = conflict
				s.plans = append(s.plans, session.Outcome{Kind: session.Incomplete, Reason: "no idea"}, session.Outcome{Kind: session.Incomplete, Reason: "no idea"})
			},
			board.Conflict{
				Status: board.ConflictResolved, By: agency.FromSystem, How: "contract b ended and changed nothing on the run's branch",
				Proof: board.Proof{Kind: board.ProofContract, Ref: "b"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.landed = map[string]land.Outcome{"b 1": conflict}
			s.plans = []session.Outcome{plan(part("a"), part("b", "a"))}
			tt.set(s)
			s.run(Team, teamInput)
			var got []board.Conflict
			if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { got, err = board.Conflicts(q, run); return err }); err != nil {
				t.Fatal(err)
			}
			tt.want.Run, tt.want.Kind, tt.want.Resource, tt.want.Agents = run, board.FileWrite, "x.go", []agency.AgentID{"scaffolder-b", "scaffolder-a"}
			tt.want.LandingFailed = true
			opts := cmpopts.IgnoreFields(board.Conflict{}, "ID", "CreatedAt", "DecidedAt", "Evidence", "EscalatedTo")
			if diff := cmp.Diff([]board.Conflict{tt.want}, got, opts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What a member of a team is told, and where it stands.
func TestMembersOfATeam(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), part("c", "a"))}
	s.run(Team, teamInput)
	work := s.specs[slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "c" })]
	want := session.Spec{Run: run, Contract: "c", Attempt: 1, Part: 1, Role: "scaffolder", Agent: "scaffolder-c", Leader: aManager, Staged: true, Onto: "head"}
	if diff := cmp.Diff(want, work); diff != "" {
		t.Errorf("the session (-want +got):\n%s", diff)
	}
	if m := s.specs[0]; m.MaxContracts != 0 || m.Onto != "" || m.Role != aManager {
		t.Errorf("the manager's session is %+v", m)
	}
	if c := s.contract("c"); c.Status != agency.StatusComplete || c.GoalAnchor != "the goal" || c.RetryBudget != 2 {
		t.Errorf("the contract is %+v", c)
	}
}

func TestBlockedContractsSayWhy(t *testing.T) {
	s := newStage(t)
	s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
	s.plans = []session.Outcome{
		plan(part("a"), part("b"), part("c", "a", "b")), {Kind: session.Incomplete, Reason: "no idea"}, {Kind: session.Incomplete, Reason: "no idea"},
	}
	s.run(Team, teamInput)
	if c := s.contract("c"); c.Status != agency.StatusBlocked || !strings.Contains(c.Error, "a failed") {
		t.Errorf("c is %s: %s", c.Status, c.Error)
	}
	if c := s.contract("a"); c.Status != agency.StatusFailed {
		t.Errorf("a is %s", c.Status)
	}
}

// A team whose process dies at any step, with contracts beside each other, does
// the same work and ends the same; nothing is done twice.
func TestTeamDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
		s.byAttempt = map[string]session.Outcome{"b 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "call-1"}}
		s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b")), plan(part("a2"), part("c2", "a2"))}
	}
	in := teamInput
	in.Routing = routing
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, in)
	diesAtEach(t, Team, in, set, want, 60, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(slices.Sorted(slices.Values(calm.said)), slices.Sorted(slices.Values(s.said))); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		if diff := cmp.Diff(calm.routes(), s.routes()); diff != "" {
			t.Errorf("death %d, decisions (-undisturbed +died):\n%s", n, diff)
		}
	})
}
