package mode

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/deps"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/verify"
)

const run = agency.RunID("run-1")

// stage plays the parts that act: sessions, verification and landings answer
// from lists, a person from a table; engine, store and registry are real.
type stage struct {
	t  *testing.T
	db *store.DB

	mu       sync.Mutex
	plans    []session.Outcome // of the manager
	sessions []session.Outcome
	verdicts []agency.Verdict
	landings []land.Outcome
	merges   []land.MergeOutcome
	needs    []deps.Need
	installs []deps.Installed
	answers  map[string]agency.Decision // by the gate's name
	said     []string                   // what happened, in order
	specs    []session.Spec
	claims   []verify.Spec
	// die is asked before and after each effect: an error is a process that
	// dies there.
	die func() error
	did map[agency.StepKey]any
}

func (s *stage) log(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func take[T any](s *stage, list *[]T, otherwise T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*list) == 0 {
		return otherwise
	}
	v := (*list)[0]
	*list = (*list)[1:]
	return v
}

func claimed() session.Outcome {
	return session.Outcome{Kind: session.Claimed, Claim: &agency.Claim{Contract: "main", Summary: "done", Tree: "tree"}}
}

func (s *stage) registry() *flow.Registry {
	r := flow.NewRegistry()
	bind(s, r, land.BranchActivity, func(context.Context, agency.StepKey, land.BranchSpec) (land.Branch, error) {
		return land.Branch{Ref: "refs/heads/agency/run-1/main"}, nil
	})
	bind(s, r, session.Activity, func(_ context.Context, _ agency.StepKey, in session.Spec) (session.Outcome, error) {
		s.specs = append(s.specs, in)
		s.log("session %s %d.%d", in.Contract, in.Attempt, in.Part)
		if in.Role == manager {
			return take(s, &s.plans, planned()), nil
		}
		return take(s, &s.sessions, claimed()), nil
	})
	bind(s, r, verify.Activity, func(_ context.Context, _ agency.StepKey, in verify.Spec) (agency.Verdict, error) {
		s.claims = append(s.claims, in)
		v := take(s, &s.verdicts, agency.Verdict{Pass: true, Proofs: []agency.Proof{{Criterion: agency.Criterion{ID: "goal", Text: "the goal"}, Proof: agency.ProofVerified}}})
		s.log("verify %s %d: %v", in.Contract, in.Attempt, v.Pass)
		return v, nil
	})
	bind(s, r, verify.TreeActivity, func(_ context.Context, _ agency.StepKey, in verify.Spec) (agency.Verdict, error) {
		s.log("verify tree %s on %s", in.Claim, in.Base)
		return take(s, &s.verdicts, agency.Verdict{Pass: true}), nil
	})
	bind(s, r, deps.LookActivity, func(_ context.Context, _ agency.StepKey, _ deps.Spec) (deps.Need, error) {
		return take(s, &s.needs, deps.Need{}), nil
	})
	bind(s, r, deps.InstallActivity, func(_ context.Context, _ agency.StepKey, in deps.InstallSpec) (deps.Installed, error) {
		out := take(s, &s.installs, deps.Installed{OK: true})
		s.log("install %s by %q from %v: %v", in.Tree, in.Line, in.Hosts, out.OK)
		return out, nil
	})
	bind(s, r, land.Activity, func(_ context.Context, _ agency.StepKey, in land.Spec) (land.Outcome, error) {
		out := take(s, &s.landings, land.Outcome{Landed: &land.Landed{Commit: "c-" + agency.OID(in.Contract), Tree: in.Tree}})
		s.log("land %s: %v", in.Contract, out.Landed != nil)
		return out, nil
	})
	bind(s, r, land.MergeActivity, func(_ context.Context, _ agency.StepKey, in land.MergeSpec) (land.MergeOutcome, error) {
		out := take(s, &s.merges, land.MergeOutcome{Merged: &land.Merged{Commit: "merged"}})
		s.log("merge into %s, verified %v: %v", in.Target, in.Verified != nil, out.Merged != nil)
		return out, nil
	})
	steps := NewSteps(s.db, agency.Fence{}, shop{})
	if s.die == nil {
		steps.Bind(r)
		return r
	}
	mortal(s, r, createContract, steps.create)
	mortal(s, r, advanceContract, steps.advance)
	mortal(s, r, openGate, steps.gate)
	mortal(s, r, openMergeGate, steps.mergeGate)
	mortal(s, r, raiseBudget, steps.raise)
	mortal(s, r, noteEscalation, steps.escalate)
	mortal(s, r, noteMove, steps.moved)
	return r
}

// bind binds a played activity: done again, it finds what it did.
func bind[I, O any](s *stage, r *flow.Registry, a flow.Activity[I, O], fn func(context.Context, agency.StepKey, I) (O, error)) {
	mortal(s, r, a, func(ctx context.Context, key agency.StepKey, in I) (O, error) {
		if old, ok := s.did[key]; ok {
			return old.(O), nil
		}
		out, err := fn(ctx, key, in)
		if s.did == nil {
			s.did = map[agency.StepKey]any{}
		}
		s.did[key] = out
		return out, err
	})
}

// mortal binds an activity whose process may die before it, or after its
// effect and before its result is recorded.
func mortal[I, O any](s *stage, r *flow.Registry, a flow.Activity[I, O], fn func(context.Context, agency.StepKey, I) (O, error)) {
	flow.Bind(r, a, func(ctx context.Context, key agency.StepKey, in I) (out O, err error) {
		if s.die == nil {
			return fn(ctx, key, in)
		}
		if err := s.die(); err != nil {
			return out, err
		}
		if out, err = fn(ctx, key, in); err != nil {
			return out, err
		}
		return out, s.die()
	})
}

type shop struct{ off bool }

func (s shop) SandboxOff(context.Context, agency.RunID) (bool, error) { return s.off, nil }

func (shop) Signing(context.Context, agency.RunID) (string, error) { return "", nil }

func (shop) Stat(context.Context, agency.RunID, agency.OID, agency.OID) (string, error) {
	return " a.go | 2 +-\n", nil
}

// answer is the host's part: a decision and its signal in one transaction.
func (s *stage) answer(g agency.Gate) {
	name := strings.TrimPrefix(string(g.ID), string(run)+".")
	d, ok := s.answers[name]
	if !ok {
		d = agency.Decision{Verb: agency.Approve}
	}
	d.By = "tester"
	s.log("gate %s: %s", name, d.Verb)
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		g, err := registry.Decide(tx, g.ID, d)
		if err != nil {
			return err
		}
		return local.SendTo(tx, run, GateSignal(g.ID), string(g.ID), g.Decision)
	})
	if err != nil {
		s.t.Error(err)
	}
}

func (s *stage) quiet(idle bool) {
	if !idle {
		return
	}
	var open []agency.Gate
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) (err error) {
		open, err = registry.OpenGates(q, run)
		return err
	})
	if len(open) == 0 { // nothing asks: the run is paused
		s.log("resume")
		if err := s.db.Write(context.Background(), func(tx *store.Tx) error {
			return local.SendTo(tx, run, resume, fmt.Sprint(len(s.said)), struct{}{})
		}); err != nil {
			s.t.Error(err)
		}
	}
	for _, g := range open {
		s.answer(g)
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"),
		Sets: []store.Set{
			event.Migrations(), lease.Migrations(), local.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(),
			check.Migrations(), verify.Migrations(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.Write(context.Background(), func(tx *store.Tx) error {
		r := agency.Run{ID: run, Goal: "the goal", Mode: agency.ModeSingle, State: agency.StateRunning, Branch: "agency/run-1/main"}
		if err := registry.CreateRun(tx, r, json.RawMessage("{}")); err != nil {
			return err
		}
		return budget.Open(tx, run, budget.Root, "", budget.Limits{Money: agency.Dollar, Tokens: 100})
	})
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, db: db}
}

var input = Input{Run: run, Goal: "the goal", Base: "base", Target: "trunk", Land: agency.LandMerge, RetryBudget: 2}

func (s *stage) play(in Input) Result {
	s.t.Helper()
	return s.run(Single, in)
}

// run runs a mode to its end and replays its history, which must take the
// same way without anything acting.
func (s *stage) run(mode func(flow.Ctx, Input) (Result, error), in Input) Result {
	s.t.Helper()
	engine := local.New(local.Options{DB: s.db, Registry: s.registry(), Version: "test"})
	var res, again Result
	program := func(into *Result) func(flow.Ctx) error {
		return func(c flow.Ctx) (err error) {
			*into, err = mode(c, in)
			return err
		}
	}
	if err := engine.Run(context.Background(), run, agency.Fence{}, program(&res), local.Hooks{Quiet: s.quiet}); err != nil {
		s.t.Fatal(err)
	}
	h, err := local.ReadHistory(context.Background(), s.db, run)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := local.Replay(context.Background(), "test", h, program(&again)); err != nil {
		s.t.Errorf("the history does not replay: %v", err)
	}
	if again != res {
		s.t.Errorf("replayed to %+v, was %+v", again, res)
	}
	return res
}

func TestSingle(t *testing.T) {
	weak := []agency.Weakening{{Kind: agency.WeakDeleted, Name: "p.TestOld"}}
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
			Result{Reason: "all 2 attempts are used; the last one: p.TestX fails"},
			"session main 1.1; verify main 1: false; session main 2.1; verify main 2: false",
		},
		"incomplete": {
			func(s *stage, _ *Input) {
				s.sessions = []session.Outcome{{Kind: session.Incomplete, Reason: "50 turns"}, {Kind: session.Incomplete, Reason: "50 turns"}}
			},
			Result{Reason: "all 2 attempts are used; the last one: 50 turns"},
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
		"blocked, rejected": {
			func(s *stage, _ *Input) {
				s.sessions = []session.Outcome{{Kind: session.Blocked, Reason: "no spec"}}
				s.answers = map[string]agency.Decision{"escalation-main-1": {Verb: agency.Reject}}
			},
			Result{Reason: "blocked: no spec"},
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
			Result{Reason: "the budget is used up: usd left $0"},
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
			Result{Succeeded: true, Reason: "landed on its branch"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve",
		},
		"overlap, then the branch is enough": {
			func(s *stage, _ *Input) {
				s.merges = []land.MergeOutcome{{Refused: &land.Refusal{Cause: land.CauseOverlap}, Reason: "a.go has local edits"}}
				s.answers = map[string]agency.Decision{"merge-2": {Verb: agency.Approve, Note: "Branch"}}
			},
			Result{Succeeded: true, Reason: "landed on its branch"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; gate merge-2: approve",
		},
		"target moved": {
			func(s *stage, _ *Input) {
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}}
			},
			Result{Succeeded: true, Reason: "merged into trunk", Commit: "merged"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; verify tree mix on new; merge into trunk, verified true: true",
		},
		"target moved, merge is red": {
			func(s *stage, _ *Input) {
				s.verdicts = []agency.Verdict{{Pass: true}, red}
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}}
				s.answers = map[string]agency.Decision{"merge-2": {Verb: agency.Approve, Note: "branch"}}
			},
			Result{Succeeded: true, Reason: "landed on its branch"},
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
				s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "no"}, "merge-main-2-1": {Verb: agency.Reject, Note: "still no"}}
			},
			Result{Reason: "the merge gate was rejected again: still no"},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: reject; " +
				"session main-2 1.1; verify main-2 1: true; land main-2: true; gate merge-main-2-1: reject",
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
	s.verdicts = []agency.Verdict{{Reasons: []string{"p.TestX fails"}, Weakened: []agency.Weakening{{Kind: agency.WeakSkipped, Name: "p.TestY"}}}}
	s.play(input)
	if f := s.specs[1].Feedback; f == nil || f.Attempt != 1 || f.Reason != "p.TestX fails" || f.Verdict == nil {
		t.Errorf("the second attempt was told %+v", f)
	}
	if got := s.claims[1].WeakenedBefore; len(got) != 1 || got[0].Name != "p.TestY" {
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

func TestMergeGateText(t *testing.T) {
	s := newStage(t)
	spec := mergeGateSpec{Run: run, Gate: "run-1.merge-1", Contract: "main", Target: "trunk", Land: agency.LandMerge, Problem: "a.go has local edits"}
	steps := NewSteps(s.db, agency.Fence{}, shop{off: true})
	if _, err := steps.mergeGate(context.Background(), "", spec); err != nil {
		t.Fatal(err)
	}
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		g, err := registry.Gate(q, "run-1.merge-1")
		for _, want := range []string{"a.go has local edits", "a.go | 2 +-", "Goal: the goal", "not signed", "sandbox was off", "$0.00"} {
			if !strings.Contains(g.Body, want) {
				t.Errorf("the gate does not say %q:\n%s", want, g.Body)
			}
		}
		if !g.NoYes {
			t.Error("--yes would answer a merge gate that names a problem")
		}
		return err
	})
}
