package mode

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/contractrun"
	"agency/internal/deps"
	"agency/internal/effects"
	"agency/internal/effects/tierlog"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/git"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/schedule"
	"agency/internal/session"
	sessions "agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/verdicts"
	"agency/internal/verify"
)

const run = agency.RunID("run-1")

// The roles, each also the name of an agent.
const (
	aManager    = "project_manager"
	aGeneralist = "generalist"
	aReviewer   = "reviewer"
)

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
	files    []land.Files
	merges   []land.MergeOutcome
	merged   []land.MergeSpec // that were asked for
	// resolutions are what is wrong with them.
	resolutions []land.Resolution
	needs       []deps.Need
	installs    []deps.Installed
	answers     map[string]agency.Decision // by the gate's name
	said        []string                   // what happened, in order
	specs       []session.Spec
	claims      []verify.Spec
	lands       []land.Spec
	// byAttempt are those of a contract's attempt and part, such as "parser 1.1", or
	// "parser 1.1h2" when it has changed hands twice;
	// judged and landed the verdicts and landings of its attempts.
	byAttempt map[string]session.Outcome
	// published is what a design contract's part publishes, by kind; one that is not there
	// publishes what is wanted of it.
	published map[string]map[agency.ArtifactKind]string
	// reviews are those of a contract, or of all, in their order; a critic without
	// one approves.
	reviews map[agency.ContractID][]session.Outcome
	judged  map[string]agency.Verdict
	landed  map[string]land.Outcome
	// die is asked before and after each effect: an error is a process that
	// dies there.
	die      func() error
	did      map[agency.StepKey]any
	unmarked error             // why a feature cannot be marked
	unproved error             // what git says of a landing that is to resolve a conflict
	reports  []session.Outcome // how the manager's last session ends, in turn
	one      sync.Mutex        // contracts of a team act beside each other
	during   func(session.Spec) error
	headTree agency.OID // of the run's branch
	heads    func() agency.OID
	held     []string // why the branch is not there, each time that somebody looks
	// managers are how its sessions over questions end, by the contract that asks;
	// one that is not there reports an answer. says is what it or a person writes
	// to the agent before that.
	managers map[agency.ContractID]session.Outcome
	says     map[agency.ContractID]string
	sayAs    agency.MessageType // of these; provide_clarification where it is empty
	// asked is what happens while such a session is at work, before what happens
	// when a question gate is open: it tells whether the gate is left alone.
	asked  func(session.Spec)
	before func(agency.Gate) bool
	clock  local.Clock // nil: the machine's
	// hold, where set, is asked before a person answers: true, nobody does yet.
	hold func(open []agency.Gate) bool
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
	bind(s, r, land.BranchActivity, func(_ context.Context, _ agency.StepKey, in land.BranchSpec) (land.Branch, error) {
		if in.Line != "" {
			s.log("begin %s", in.Line)
		}
		return land.Branch{Ref: "refs/heads/agency/run-1/main", Head: in.Base}, nil
	})
	bind(s, r, land.MoveActivity, func(_ context.Context, _ agency.StepKey, in land.MoveSpec) (flow.None, error) {
		s.log("move %s from %s to %s", in.Line, in.From, in.To)
		return flow.None{}, nil
	})
	bind(s, r, land.FilesActivity, func(_ context.Context, _ agency.StepKey, in land.FilesSpec) (land.Files, error) {
		s.log("files of %s on %s", cmp.Or(string(in.Of), in.With, "without "+string(in.Back)), in.Base)
		return take(s, &s.files, land.Files{Tree: "theirs"}), nil
	})
	bind(s, r, land.HeadActivity, func(context.Context, agency.StepKey, land.BranchSpec) (land.Branch, error) {
		if s.heads != nil {
			return land.Branch{Head: s.heads(), Tree: s.headTree, Held: take(s, &s.held, "")}, nil
		}
		return land.Branch{Head: "head", Tree: s.headTree, Held: take(s, &s.held, "")}, nil
	})
	mortal(s, r, schedule.PokeActivity, func(ctx context.Context, key agency.StepKey, in schedule.Poke) (flow.None, error) {
		return flow.None{}, s.signals().Signal(ctx, in.Run, in.Signal, string(key), in.Payload)
	})
	bind(s, r, session.Activity, func(_ context.Context, _ agency.StepKey, in session.Spec) (session.Outcome, error) {
		s.specs = append(s.specs, in)
		if s.during != nil && in.Review == nil {
			if err := s.during(in); err != nil {
				return session.Outcome{}, err
			}
		}
		if in.Review != nil {
			return s.critic(in), nil
		}
		s.log("session %s %d.%d", in.Contract, in.Attempt, in.Part)
		s.reads(in)
		if in.Role.Tier() != "" && in.Answers == "" {
			return s.tier(in)
		}
		if in.Report {
			return take(s, &s.reports, session.Outcome{Kind: session.Reported, Report: "All is well."}), nil
		}
		if in.Answers != "" {
			return s.manages(in)
		}
		if in.Role == aManager {
			return take(s, &s.plans, planned()), nil
		}
		part := fmt.Sprintf("%s %d.%d", in.Contract, in.Attempt, in.Part)
		if in.Hand > 0 {
			part += fmt.Sprintf("h%d", in.Hand)
		}
		if out, ok := s.byAttempt[part]; ok {
			return out, s.asks(in, out)
		}
		out := take(s, &s.sessions, claimed())
		return out, s.asks(in, out)
	})
	bind(s, r, verify.Activity, func(_ context.Context, _ agency.StepKey, in verify.Spec) (agency.Verdict, error) {
		s.claims = append(s.claims, in)
		if v, ok := s.judged[fmt.Sprintf("%s %d", in.Contract, in.Attempt)]; ok {
			s.log("verify %s %d: %v", in.Contract, in.Attempt, v.Pass)
			return v, nil
		}
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
	bind(s, r, land.ResolutionActivity, func(_ context.Context, _ agency.StepKey, in land.ResolutionSpec) (land.Resolution, error) {
		s.log("resolution %s of %s and %s from %s in %v", in.Result, in.Ours, in.Theirs, in.From, in.Paths)
		return take(s, &s.resolutions, land.Resolution{}), nil
	})
	bind(s, r, land.Activity, func(_ context.Context, key agency.StepKey, in land.Spec) (land.Outcome, error) {
		s.lands = append(s.lands, in)
		if in.Source != "" && in.Tree == "" {
			return s.rises(in)
		}
		_, attempt, _ := strings.Cut(strings.TrimSuffix(string(key), "/land"), "attempt-")
		if out, ok := s.landed[string(in.Contract)+" "+attempt]; ok {
			s.log("land %s: %v", in.Contract, out.Landed != nil)
			return out, nil
		}
		out := take(s, &s.landings, land.Outcome{Landed: &land.Landed{
			Commit: "c-" + agency.OID(in.Contract), Tree: in.Tree, Files: &agency.Files{Modified: []string{string(in.Contract) + ".go"}},
		}})
		s.log("land %s: %v", in.Contract, out.Landed != nil)
		if out.Landed == nil {
			return out, nil
		}
		return out, s.db.Write(context.Background(), func(tx *store.Tx) error { // as the queue records it
			_, err := tx.Exec(`INSERT INTO land_intent (step, run_id, contract, ref, old, new, done, created_at) VALUES (?, ?, ?, 'refs/heads/agency/run-1/main', '', ?, 1, ?)`,
				string(key), string(in.Run), string(in.Contract), string(out.Landed.Commit), store.Micros(tx.Now))
			if err != nil {
				return err
			}
			return board.Landed(tx, in.Run, in.Contract, out.Landed.Commit)
		})
	})
	bind(s, r, land.MergeActivity, func(_ context.Context, _ agency.StepKey, in land.MergeSpec) (land.MergeOutcome, error) {
		s.merged = append(s.merged, in)
		out := take(s, &s.merges, land.MergeOutcome{Merged: &land.Merged{Commit: "merged"}})
		s.log("merge into %s, verified %v: %v", in.Target, in.Verified != nil, out.Merged != nil)
		return out, nil
	})
	sh := shop{unproved: s.unproved}
	steps := flow.NewRegistry()
	effects.New(s.db, agency.Fence{}, sh, sh, sh, s).Bind(steps)
	for _, name := range []string{
		"create_contract", "create_contracts", "block_contracts", "is_paused", "advance", "gate", "merge_gate", "raise_budget", "route", "estimate",
		"adopt", "mark_feature", "moved", "conflict", "conflict_settled", "rollup", "keep_words", "review", "reviews_escalated",
		"reviews_settled", "answer", "hand_over", "results", "amend", "withdraw_gate",
	} {
		name = "mode." + name
		s.through(r, steps, name)
	}
	tierlog.New(s.db, agency.Fence{}).Bind(steps)
	for _, name := range []string{"artifacts", "slices", "joint", "verdicts", "accept", "amendments", "note", "drop", "swarm"} {
		s.through(r, steps, "tiers."+name)
	}
	return r
}

// through binds a real activity whose process may die.
func (s *stage) through(r *flow.Registry, steps *flow.Registry, name string) {
	mortal(s, r, flow.Activity[json.RawMessage, json.RawMessage]{Name: name}, func(ctx context.Context, key agency.StepKey, in json.RawMessage) (json.RawMessage, error) {
		return steps.Invoke(ctx, name, key, in)
	})
}

// bind binds a played activity: done again, it finds what it did.
func bind[I, O any](s *stage, r *flow.Registry, a flow.Activity[I, O], fn func(context.Context, agency.StepKey, I) (O, error)) {
	mortal(s, r, a, func(ctx context.Context, key agency.StepKey, in I) (O, error) {
		s.one.Lock()
		defer s.one.Unlock()
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

type shop struct {
	off      bool
	unproved error // what Landed says
	acts     []agency.Act
	landed   []git.CommitChanges
}

func (s shop) Landed(_ context.Context, _ agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error {
	if s.unproved == nil && (commit != "c-b" || contract != "b" || len(others) != 1 || others[0] != "a") {
		return agency.Errorf(agency.KindInternal, "asked for %s of %s on %v", commit, contract, others)
	}
	return s.unproved
}

func (s shop) SandboxOff(context.Context, agency.RunID) (bool, error) { return s.off, nil }

// Level is a model of the level's name; the cheapest has no price.
func (shop) Level(_ context.Context, _ agency.RunID, level agency.Level) (string, *agency.Price, error) {
	if level == agency.FastCheap {
		return "p/" + string(level), nil, nil
	}
	return "p/" + string(level), &agency.Price{In: 3, Out: 15}, nil
}

// Staff asks the model of the level, else the dear one, and is short.
func (s shop) Staff(ctx context.Context, run agency.RunID, _ agency.RoleID, level agency.Level) (agency.Staffing, error) {
	if level == "" {
		level = agency.ReasoningHeavy
	}
	model, price, err := s.Level(ctx, run, level)
	offer := agency.Offer{Model: model, Price: price, Window: 50_000}
	return agency.Staffing{First: offer, May: []agency.Offer{offer}, Tokens: 100_000, Turns: 10}, err
}

func (shop) Routing(context.Context, agency.RunID) (agency.Routing, error) { return routing, nil }

func (shop) Signing(context.Context, agency.RunID) (string, error) { return "", nil }

func (s shop) Change(context.Context, agency.RunID, agency.OID, agency.OID) (effects.Change, error) {
	return effects.Change{Stat: " a.go | 2 +-\n", Acts: s.acts}, nil
}

func (s shop) Landings(context.Context, agency.RunID) (report.Input, error) {
	return report.Input{Landed: s.landed}, nil
}

// MarkDone gives the tree in which a feature is done.
func (s *stage) MarkDone(_ context.Context, _ agency.RunID, name string, at agency.OID, f agency.FeatureID, e agency.FeatureEvidence) (agency.OID, error) {
	s.one.Lock()
	defer s.one.Unlock()
	if s.unmarked != nil {
		return "", s.unmarked
	}
	line := fmt.Sprintf("mark %s in %s at %s: %v", f, name, at, e.Criteria)
	if !slices.Contains(s.said, line) {
		s.log("%s", line)
	}
	return "marked", nil
}

// signals is the engine as who sends a signal needs it.
func (s *stage) signals() *local.Engine { return local.New(local.Options{DB: s.db}) }

// send delivers a signal.
func send[T any](s *stage, sig flow.Signal[T], id string, v T) {
	s.t.Helper()
	payload, err := flow.Encode(sig, v)
	if err == nil {
		err = s.signals().Signal(context.Background(), run, sig.Name, id, payload)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// answer is the host's part: a decision, and then its signal.
func (s *stage) answer(g agency.Gate) {
	name := strings.TrimPrefix(string(g.ID), string(run)+".")
	d, ok := s.answers[name]
	if !ok {
		d = agency.Decision{Verb: agency.Approve}
	}
	d.By = "tester"
	s.log("gate %s: %s", name, d.Verb)
	err := s.db.Write(context.Background(), func(tx *store.Tx) (err error) {
		g, err = registry.Decide(tx, g.ID, d)
		return err
	})
	if err != nil {
		s.t.Error(err)
		return
	}
	send(s, contractrun.GateSignal(g.ID), string(g.ID), g.Decision)
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
	if s.hold != nil && s.hold(open) {
		return
	}
	if len(open) == 0 { // nothing asks: the run is paused
		s.log("resume")
		if err := s.db.Write(context.Background(), func(tx *store.Tx) error { return registry.SetControl(tx, run, registry.Control{}) }); err != nil {
			s.t.Error(err)
		}
		send(s, contractrun.Resume, fmt.Sprint(len(s.said)), struct{}{})
	}
	for _, g := range open {
		if g.Kind == agency.GateQuestion && s.before != nil && s.before(g) {
			continue
		}
		s.answer(g)
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	db := storetest.Open(t, store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"),
		Sets: []store.Set{
			event.Migrations(), lease.Migrations(), local.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), state.Migrations(),
			check.Migrations(), verdicts.Migrations(), land.Migrations(), sessions.Migrations(),
		},
	})
	err := db.Write(context.Background(), func(tx *store.Tx) error {
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

var input = Input{Facts: contractrun.Facts{Run: run, Goal: "the goal", Base: "base", RetryBudget: 2}, Target: "trunk", Land: agency.LandMerge}

func (s *stage) play(in Input) Result {
	s.t.Helper()
	return s.run(Single, in)
}

// run runs a mode to its end and replays its history, which must take the
// same way without anything acting.
func (s *stage) run(mode func(flow.Ctx, Input) (Result, error), in Input) Result {
	s.t.Helper()
	engine := local.New(local.Options{DB: s.db, Registry: s.registry(), Version: "test", Clock: s.clock})
	var res, again Result
	program := func(into *Result) func(flow.Ctx) error {
		return func(c flow.Ctx) (err error) {
			*into, err = mode(c, in)
			return err
		}
	}
	if err := engine.Run(context.Background(), run, program(&res), flow.Hooks{Quiet: s.quiet}); err != nil {
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
	if !res.Succeeded && res.Reason != res.Failure.Sentence() {
		s.t.Errorf("failed without its cause: %+v", res)
	}
	res.Failure = agency.Failure{} // its sentence is the reason
	return res
}
