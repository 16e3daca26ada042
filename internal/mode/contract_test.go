package mode

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

var (
	record = flag.Bool("record", false, "write the recorded histories anew")
	stride = flag.Int("stride", 7, "of the points at which a process dies, each so many-th; 1: all")
)

func planned() session.Outcome {
	return session.Outcome{Kind: session.Planned, Plan: []agency.Contract{{
		ID: "fix", Title: "Fix it", Description: "It is fixed.", AssignedRole: "scaffolder",
		AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "fixed", Check: &agency.Check{Test: "TestX"}}}, Constraints: []string{"no new file"},
	}}}
}

func faulty() session.Outcome {
	out := planned()
	out.Faults = []agency.PlanFault{{Contract: "fix", What: "has no title"}}
	return out
}

// weaker is a verdict on a claim that deletes a test.
func weaker(pass bool) agency.Verdict {
	return agency.Verdict{Pass: pass, Reasons: []string{"weakened"}, Weakened: []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestOld"}}}
}

var (
	red    = agency.Verdict{Reasons: []string{"p.TestX fails"}}
	merged = Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"}
	// plain is how a formal contract goes on when nothing goes wrong.
	plain = "session fix 1.1; verify fix 1: true; land fix: true; gate merge-fix-1: approve; merge into trunk, verified false: true"
)

// contractCases are also those whose histories are recorded.
var contractCases = map[string]struct {
	set  func(*stage, *Input)
	want Result
	said string
}{
	"straight": {func(*stage, *Input) {}, merged, "session plan 1.1; " + plain},
	"plan gate, approved": {
		func(_ *stage, in *Input) { in.PlanGate = true }, merged, "session plan 1.1; gate plan-1: approve; " + plain,
	},
	"plan gate, rejected once": {
		func(s *stage, in *Input) {
			in.PlanGate = true
			s.answers = map[string]agency.Decision{"plan-1": {Verb: agency.Reject, Note: "smaller"}}
		}, merged, "session plan 1.1; gate plan-1: reject; session plan 2.1; gate plan-2: approve; " + plain,
	},
	"plan gate, rejected twice": {
		func(s *stage, in *Input) {
			in.PlanGate, in.RetryBudget = true, 1
			s.answers = map[string]agency.Decision{"plan-1": {Verb: agency.Reject, Note: "smaller"}, "plan-2": {Verb: agency.Reject, Note: "still not"}}
		}, Result{Reason: "a person rejected it: smaller"}, "session plan 1.1; gate plan-1: reject; session plan 2.1; gate plan-2: reject",
	},
	"faulty plan, one more attempt": {
		func(s *stage, _ *Input) { s.plans = []session.Outcome{faulty()} }, merged,
		"session plan 1.1; gate plan-faults-1: approve; session plan 2.1; " + plain,
	},
	"faulty plan given up, one agent instead": {
		func(s *stage, in *Input) {
			in.OnError = "single"
			s.plans = []session.Outcome{faulty()}
			s.answers = map[string]agency.Decision{"plan-faults-1": {Verb: agency.Reject}}
		}, merged,
		"session plan 1.1; gate plan-faults-1: reject; session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true",
	},
	"no plan comes, stop": {
		func(s *stage, in *Input) {
			in.OnError = "stop"
			s.plans = []session.Outcome{{Kind: session.Incomplete, Reason: "30 turns"}, {Kind: session.Incomplete, Reason: "30 turns"}}
		}, Result{Reason: "no valid plan came: 30 turns; all 2 attempts at a plan are used"}, "session plan 1.1; session plan 2.1",
	},
	"red once": {
		func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{red} }, merged,
		"session plan 1.1; session fix 1.1; verify fix 1: false; session fix 2.1; verify fix 2: true; land fix: true; gate merge-fix-1: approve; merge into trunk, verified false: true",
	},
	"red for good": {
		func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{red, red} },
		Result{Reason: "the work does not hold: p.TestX fails; all 2 attempts are used"},
		"session plan 1.1; session fix 1.1; verify fix 1: false; session fix 2.1; verify fix 2: false",
	},
	"weakened, accepted by a person": {
		func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{weaker(false), weaker(true)} }, merged,
		"session plan 1.1; session fix 1.1; verify fix 1: false; session fix 2.1; verify fix 2: true; gate weakened-fix-2: approve; " +
			"land fix: true; gate merge-fix-1: approve; merge into trunk, verified false: true",
	},
	"weakened, not accepted": {
		func(s *stage, in *Input) {
			in.RetryBudget = 3
			s.verdicts = []agency.Verdict{weaker(false), weaker(true)}
			s.answers = map[string]agency.Decision{"weakened-fix-2": {Verb: agency.Reject, Note: "keep TestOld"}}
		}, merged,
		"session plan 1.1; session fix 1.1; verify fix 1: false; session fix 2.1; verify fix 2: true; gate weakened-fix-2: reject; " +
			"session fix 3.1; verify fix 3: true; land fix: true; gate merge-fix-1: approve; merge into trunk, verified false: true",
	},
	"merge rejected once": {
		func(s *stage, _ *Input) {
			s.answers = map[string]agency.Decision{"merge-fix-1": {Verb: agency.Reject, Note: "handle zero"}}
		}, merged,
		"session plan 1.1; session fix 1.1; verify fix 1: true; land fix: true; gate merge-fix-1: reject; " +
			"session fix-2 1.1; verify fix-2 1: true; land fix-2: true; gate merge-fix-2-1: approve; merge into trunk, verified false: true",
	},
	"cancelled while planning": {
		func(s *stage, in *Input) {
			in.OnError = "single"
			s.plans = []session.Outcome{{Kind: session.Stopped, Reason: "cancelled"}}
		}, Result{Reason: "cancelled"}, "session plan 1.1",
	},
}

func TestContract(t *testing.T) {
	for name, tt := range contractCases {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), input
			tt.set(s, &in)
			if got := s.run(Contract, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			if got := strings.Join(s.said, "; "); got != tt.said {
				t.Errorf("happened:\n  %s\nwant:\n  %s", got, tt.said)
			}
			s.settled(tt.want.Succeeded)
		})
	}
}

// settled asserts that a run that is over has no contract that could go on.
func (s *stage) settled(succeeded bool) {
	s.t.Helper()
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		all, err := registry.Contracts(q, run)
		for _, c := range all {
			if succeeded && c.Status != agency.StatusComplete && c.Status != agency.StatusCancelled {
				s.t.Errorf("the run succeeded and contract %s is %s", c.ID, c.Status)
			}
		}
		return err
	})
}

// What the plan says reaches the one who works, with what the run decides.
func TestThePlanReachesTheWork(t *testing.T) {
	s := newStage(t)
	s.verdicts = []agency.Verdict{red}
	s.run(Contract, input)
	plan, work, again := s.specs[0], s.specs[1], s.specs[2]
	if plan.Role != aManager || plan.Agent != aManager || plan.MaxContracts != 1 || plan.Staged {
		t.Errorf("the plan's session is %+v", plan)
	}
	if work.Role != aGeneralist || !work.Staged || work.MaxContracts != 0 || work.From != "" {
		t.Errorf("the work's session is %+v", work)
	}
	if f := again.Feedback; f == nil || f.Reason != "p.TestX fails" || f.Verdict == nil || !again.Staged {
		t.Errorf("the second attempt is told %+v", f)
	}
	if got := s.claims[0].Criteria; len(got) != 1 || got[0].Check == nil || got[0].Check.Test != "TestX" {
		t.Errorf("verified against %+v", got)
	}
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		c, err := registry.Contract(q, run, "fix")
		if c.AssignedRole != aGeneralist || c.GoalAnchor != "the goal" || c.RetryBudget != 2 || c.Constraints[0] != "no new file" || c.Type != agency.TypeFeature {
			t.Errorf("the contract is %+v", c)
		}
		return err
	})
}

func TestTriggers(t *testing.T) {
	all := []string{onLargeGoal, onWish, OnFailure}
	const team = "session a 1.1; verify a 1: true; land a: true; session report 1.1; gate merge-1: approve; merge into trunk, verified false: true"
	large := "Rework the client:\n- a.go\n- b.go\n- c.go\n- d.go\n- e.go\n- f.go\n1. one\n2. two\n"
	for name, tt := range map[string]struct {
		set  func(*stage, *Input)
		want Result
		said string
		why  string
	}{
		"a small goal stays": {
			func(_ *stage, in *Input) { in.Triggers = all }, merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true", "",
		},
		"large": {
			func(s *stage, in *Input) {
				in.Triggers, in.Goal = all, large
				s.plans = []session.Outcome{plan(part("a"))}
			}, merged, "session plan 1.1; " + team, "single to multi_agent, feature_size_large: the goal is large",
		},
		"a large feature": {
			func(s *stage, in *Input) {
				in.Triggers, in.Feature = all, &agency.Feature{ID: "f", Description: "d", Size: agency.Large}
				s.plans, s.unmarked = []session.Outcome{plan(part("a"))}, agency.Errorf(agency.KindInvalid, "no backlog")
			}, merged, "session plan 1.1; " + team, "single to multi_agent, feature_size_large: the backlog says",
		},
		"a wish for a critic": {
			func(s *stage, in *Input) {
				s.verdicts = []agency.Verdict{{Pass: true, Base: "base", Tree: "tree"}}
				in.Triggers, in.Goal, in.Review = all, "Fix the parser in mode `producer_critic`", agency.ReviewRules{MaxIterations: 2}
			}, merged,
			"session plan 1.1; session fix 1.1; verify fix 1: true; critic fix 1 round 1.1: approve; land fix: true; gate merge-fix-1: approve; merge into trunk, verified false: true",
			"single to producer_critic, manual_request",
		},
		"a wish for a team": {
			func(s *stage, in *Input) {
				in.Triggers, in.Goal = all, "Fix the parser, using multi-agent mode"
				s.plans = []session.Outcome{plan(part("a"))}
			}, merged, "session plan 1.1; " + team, "single to multi_agent, manual_request",
		},
		"a wish for tiers": {
			func(s *stage, in *Input) {
				in.Triggers, in.Goal = all, "Fix the parser in mode tiered"
				s.byAttempt = map[string]session.Outcome{"plan 1.1": streams("a: t4 t5 -")}
			}, merged,
			"session plan 1.1; gate plan-1: approve; session a 1.1; verify a 1: true; critic a 1 round 1.1: approve; land a: true; session accept 1.1; gate merge-1: approve; merge into trunk, verified false: true",
			"single to tiered, manual_request",
		},
		"large, not configured": {
			func(_ *stage, in *Input) { in.Triggers, in.Goal = []string{OnFailure}, large }, merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true", "",
		},
		"wish": {
			func(_ *stage, in *Input) { in.Triggers, in.Goal = all, "Fix the parser. Use contract mode." }, merged, "session plan 1.1; " + plain,
			"single to contract, manual_request",
		},
		"a goal about contracts is no wish": {
			func(_ *stage, in *Input) { in.Triggers, in.Goal = all, "Write the smart contract of the sale" }, merged,
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true", "",
		},
		"failure": {
			func(s *stage, in *Input) {
				in.Triggers = all
				left := claimed()
				left.Tree = "left"
				s.sessions = []session.Outcome{claimed(), left}
				s.verdicts = []agency.Verdict{red, red}
			}, merged,
			"session main 1.1; verify main 1: false; session main 2.1; verify main 2: false; session plan 1.1; " + plain,
			"single to contract, single_agent_failure: all 2 attempts are used; the last one: p.TestX fails",
		},
		"failure, once only": {
			func(s *stage, in *Input) {
				other := red
				other.Reasons = []string{"p.TestY fails"}
				in.Triggers, s.verdicts = all, []agency.Verdict{red, red, red, other}
			},
			Result{Reason: "the work does not hold: p.TestX fails; all 2 attempts are used"},
			"session main 1.1; verify main 1: false; session main 2.1; verify main 2: false; session plan 1.1; session fix 1.1; verify fix 1: false; session fix 2.1; verify fix 2: false",
			"single to contract, single_agent_failure",
		},
		"incomplete is no failed verification": {
			func(s *stage, in *Input) {
				in.Triggers = all
				s.sessions = []session.Outcome{{Kind: session.Incomplete, Reason: "50 turns"}, {Kind: session.Incomplete, Reason: "50 turns"}}
			}, Result{Reason: "the agent ended without a claim: 50 turns; all 2 attempts are used"}, "session main 1.1; session main 2.1", "",
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
			why := s.escalations()
			if tt.why == "" && len(why) > 0 || tt.why != "" && (len(why) != 1 || !strings.HasPrefix(why[0], tt.why)) {
				t.Errorf("escalated %q, want %q", why, tt.why)
			}
			want, _, _ := strings.Cut(strings.TrimPrefix(tt.why, "single to "), ",")
			if to := s.movedTo(); string(to) != want {
				t.Errorf("the record says that it moved to %q, want %q", to, want)
			}
			s.settled(tt.want.Succeeded)
			if name == "failure" {
				i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "fix" })
				if sp := s.specs[i]; sp.From != "left" || sp.Feedback == nil || sp.Feedback.Reason != "p.TestX fails" {
					t.Errorf("the formal contract begins with %+v", sp)
				}
			}
		})
	}
}

func (s *stage) movedTo() (to agency.Mode) {
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		r, err := registry.Run(q, run)
		to = r.MovedTo
		return err
	})
	return to
}

func (s *stage) escalations() (out []string) {
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		evs, err := event.Since(q, 0, event.Filter{Run: run}, 0)
		for _, ev := range evs {
			if d, ok := must(agency.DecodeDetail(ev)).(*agency.Escalated); ok {
				out = append(out, d.Reason)
			}
		}
		return err
	})
	return out
}

func must(d agency.Detail, err error) agency.Detail {
	if err != nil {
		panic(err)
	}
	return d
}

// A process that dies before or after any effect of a run, before its result is
// recorded, takes the same way again and ends the same; nothing is done twice.
func TestDeathAtEachStep(t *testing.T) {
	in := input
	in.Triggers, in.PlanGate = []string{OnFailure}, true
	set := func(s *stage) { s.verdicts = []agency.Verdict{red, red} }
	calm := newStage(t)
	set(calm)
	want := calm.play(in)
	diesAtEach(t, Single, in, set, want, 40, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(calm.said, s.said); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		if diff := cmp.Diff(calm.escalations(), s.escalations()); diff != "" {
			t.Errorf("death %d: escalations\n%s", n, diff)
		}
		s.settled(true)
	})
}

// teamCases are runs of teams as older code carried them out.
var teamCases = map[string]func(*stage){
	"that is led": func(s *stage) {
		s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
		b := part("b", "other")
		b.Priority = 2
		s.plans = []session.Outcome{
			asking(spawn(part("a")), spawn(part("other")), spawn(part("b", "other")), session.AgentsAsk{Amend: &b}, wait("a", "b")),
			asking(collect("a", "b"), spawn(part("a2"))), plan(part("d", "a2", "b")),
		}
	},
	"that fails beside its plan": func(s *stage) {
		s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
		s.plans = []session.Outcome{
			asking(spawn(part("a")), spawn(part("b"))),
			{Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"},
			plan(part("c", "b")), plan(part("a2")),
		}
	},
	"that asks": func(s *stage) {
		s.managers = map[agency.ContractID]session.Outcome{"b": {Kind: session.Blocked, Reason: "no idea"}}
		s.plans = []session.Outcome{plan(part("a"), part("b"))}
		s.byAttempt = map[string]session.Outcome{"a 1.1": question("a"), "b 1.1": question("b")}
	},
	"that has a bug mended": func(s *stage) {
		s.plans = []session.Outcome{plan(part("a"), tests("t", "a"), part("b"))}
		s.byAttempt = map[string]session.Outcome{"t 1.1": bug()}
	},
	"that is out of money": func(s *stage) {
		out := session.Outcome{Kind: session.Parked, For: session.ForBudget, Reason: "r", Exhausted: &budget.Exhausted{Node: budget.Root, Limit: "usd"}}
		s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b"))), {Kind: session.Planned}}
		s.byAttempt = map[string]session.Outcome{"a 1.1": out, "b 1.1": out}
	},
}

// Runs that were recorded take the same way with this code.
func TestRecordedHistories(t *testing.T) {
	replay := func(name string, mode func(flow.Ctx, Input) (Result, error), set func(*stage, *Input), want Result) {
		file := filepath.Join("testdata", strings.NewReplacer(" ", "-", ",", "").Replace(name)+".json")
		in := input
		if strings.HasPrefix(name, "team ") {
			in = teamInput
		}
		s := newStage(t)
		set(s, &in)
		if *record {
			s.run(mode, in)
			h, err := local.ReadHistory(t.Context(), s.db, run)
			if err == nil {
				var b []byte
				if b, err = json.MarshalIndent(h, "", " "); err == nil {
					err = errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(file, append(b, '\n'), 0o644))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var h local.History
		if err := json.Unmarshal(b, &h); err != nil {
			t.Fatal(err)
		}
		var got Result
		err = local.Replay(t.Context(), "test", h, func(c flow.Ctx) (err error) {
			got, err = mode(c, in)
			return err
		})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"straight", "plan gate, rejected once", "faulty plan given up, one agent instead", "merge rejected once"} {
		replay("contract "+name, Contract, contractCases[name].set, contractCases[name].want)
	}
	replay("single straight", Single, func(*stage, *Input) {}, merged)
	replay("single red once", Single, func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{red} }, merged)
	for name, set := range teamCases {
		replay("team "+name, Team, func(s *stage, _ *Input) { set(s) }, merged)
	}
	replay("single moved up", Single, func(s *stage, in *Input) {
		in.Triggers, s.verdicts = []string{OnFailure}, []agency.Verdict{red, red}
	}, merged)
}
