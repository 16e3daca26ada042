package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/artifact"
	"agency/internal/board"
	"agency/internal/contractrun"
	"agency/internal/daemon"
	"agency/internal/deps"
	"agency/internal/effects"
	"agency/internal/effects/tierlog"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/land"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/schedule"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/verify"
)

const (
	tierStreams = 3 // workstreams of one domain, whose leads plan in a mesh
	tierTasks   = 8 // of each
	tierStepAim = 5 * time.Millisecond
)

// tiersRow is what a tiered run takes by itself: the product's own program, engine,
// store and effects on a plan of three workstreams of eight tasks each, designed by an
// architect and planned by squad leads in a mesh, where sessions, verification, git
// and people answer at once. The figure is of contracts one by one, so that no step
// hides another.
func tiersRow() row {
	return row{figures: []string{"tiers/step"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		whole, last := samples{}, &steps{}
		side := func(name string, parallel int) contender {
			return contender{name, func(ctx context.Context) (float64, error) {
				begun := time.Now()
				var err error
				if last, err = b.tiered(ctx, parallel); err != nil {
					return 0, err
				}
				whole[name] = append(whole[name], float64(time.Since(begun))/float64(len(last.gaps)))
				return median(last.gaps), nil
			}}
		}
		s, err := b.rounds(ctx, side("one by one", 1), side("8 at once", 8))
		if err != nil {
			return nil, err
		}
		return []figure{{"tiers/step", median(s["one by one"]) / float64(tierStepAim), atMost(1), []string{
			s.raw("one by one", 1e6, "ms"), s.raw("8 at once", 1e6, "ms"), "the whole run by its steps:",
			whole.raw("one by one", 1e6, "ms"), whole.raw("8 at once", 1e6, "ms"), fmt.Sprintf("%d steps, %d sessions", len(last.gaps), last.sessions),
		}}}, nil
	}}
}

// tiered carries a tiered run out, from its beginning to its merge.
func (b *bench) tiered(ctx context.Context, parallel int) (at *steps, err error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{LongLog: true, Path: filepath.Join(dir, "agency.db"), Sets: daemon.Migrations()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := (&looked{db: db}).begin(ctx); err != nil {
		return nil, err
	}
	at = &steps{Registry: flow.NewRegistry(), db: db}
	at.bind(ctx)
	in := mode.Input{
		Facts: contractrun.Facts{Run: benchRun, Goal: "the goal", Base: "base", RetryBudget: 2}, Target: "main", Land: agency.LandMerge, Parallel: parallel, MaxWaitingGates: 5,
		Tiers: mode.Tiers{SynthesisGate: true, TasksGate: true, VerdictGate: true, MeshTimeout: time.Hour, ConflictCycles: 2},
	}
	var res mode.Result
	engine := local.New(local.Options{DB: db, Registry: at.Registry, Version: "bench"})
	err = engine.Run(ctx, benchRun, func(c flow.Ctx) (err error) {
		res, err = mode.Tiered(c, in)
		return err
	}, flow.Hooks{Quiet: func(quiet bool) {
		if quiet {
			at.failed = errors.Join(at.failed, at.approve(ctx))
		}
	}})
	if err = errors.Join(err, at.failed); err == nil && (!res.Succeeded || at.landed != tierStreams*tierTasks) {
		err = fmt.Errorf("it ended %+v with %d of %d tasks", res, at.landed, tierStreams*tierTasks)
	}
	return at, err
}

// steps are the activities of a tiered run, and when each began.
type steps struct {
	*flow.Registry
	db     *store.DB
	failed error // to answer a gate

	mu       sync.Mutex
	last     time.Time
	gaps     []float64 // nanoseconds from the beginning of a step to that of the next
	sessions int
	landed   int
}

// begins notes a step's beginning.
func (s *steps) begins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.last.IsZero() {
		s.gaps = append(s.gaps, float64(now.Sub(s.last)))
	}
	s.last = now
}

// answers binds an activity that answers at once.
func answers[I, O any](s *steps, a flow.Activity[I, O], fn func(agency.StepKey, I) (O, error)) {
	flow.Bind(s.Registry, a, func(_ context.Context, key agency.StepKey, in I) (O, error) {
		s.begins()
		return fn(key, in)
	})
}

// bind binds what acts to answers, and what decides and records to the product's own.
func (s *steps) bind(ctx context.Context) {
	branch := land.Branch{Ref: "refs/heads/agency/bench/main", Head: "head"}
	answers(s, land.BranchActivity, func(agency.StepKey, land.BranchSpec) (land.Branch, error) { return branch, nil })
	answers(s, land.HeadActivity, func(agency.StepKey, land.BranchSpec) (land.Branch, error) { return branch, nil })
	answers(s, land.ResolutionActivity, func(agency.StepKey, land.ResolutionSpec) (land.Resolution, error) { return land.Resolution{}, nil })
	answers(s, land.MergeActivity, func(agency.StepKey, land.MergeSpec) (land.MergeOutcome, error) {
		return land.MergeOutcome{Merged: &land.Merged{Commit: "merged"}}, nil
	})
	answers(s, land.Activity, func(key agency.StepKey, in land.Spec) (land.Outcome, error) { return s.land(ctx, key, in) })
	answers(s, deps.LookActivity, func(agency.StepKey, deps.Spec) (deps.Need, error) { return deps.Need{}, nil })
	answers(s, deps.InstallActivity, func(agency.StepKey, deps.InstallSpec) (deps.Installed, error) { return deps.Installed{OK: true}, nil })
	passes := func(agency.StepKey, verify.Spec) (agency.Verdict, error) {
		return agency.Verdict{Pass: true, Proofs: []agency.Proof{{Criterion: agency.Criterion{ID: "c1", Text: "done"}, Proof: agency.ProofVerified}}}, nil
	}
	answers(s, verify.Activity, passes)
	answers(s, verify.TreeActivity, passes)
	answers(s, session.Activity, func(_ agency.StepKey, in session.Spec) (session.Outcome, error) { return s.converse(ctx, in) })
	answers(s, schedule.PokeActivity, func(key agency.StepKey, in schedule.Poke) (flow.None, error) {
		return flow.None{}, s.signal(ctx, in.Signal, string(key), in.Payload)
	})
	own := flow.NewRegistry()
	effects.New(s.db, agency.Fence{}, shop{}, shop{}, shop{}, shop{}).Bind(own)
	tierlog.New(s.db, agency.Fence{}).Bind(own)
	for _, name := range strings.Fields(`mode.create_contract mode.create_contracts mode.block_contracts mode.is_paused mode.advance mode.gate
		mode.merge_gate mode.raise_budget mode.route mode.estimate mode.adopt mode.mark_feature mode.moved mode.conflict mode.conflict_settled
		mode.rollup mode.keep_words mode.review mode.reviews_escalated mode.reviews_settled mode.answer mode.hand_over mode.results mode.amend
		tiers.artifacts tiers.slices tiers.joint tiers.verdicts tiers.accept tiers.amendments tiers.note tiers.drop tiers.swarm`) {
		flow.Bind(s.Registry, flow.Activity[json.RawMessage, json.RawMessage]{Name: name}, func(ctx context.Context, key agency.StepKey, in json.RawMessage) (json.RawMessage, error) {
			s.begins()
			return own.Invoke(ctx, name, key, in)
		})
	}
}

// land lands what a contract claims, as the merge queue records it on the board.
func (s *steps) land(ctx context.Context, _ agency.StepKey, in land.Spec) (land.Outcome, error) {
	s.mu.Lock()
	s.landed++
	s.mu.Unlock()
	commit := agency.OID("c-" + string(in.Contract))
	out := land.Outcome{Landed: &land.Landed{Commit: commit, Tree: in.Tree, Files: &agency.Files{Modified: []string{string(in.Contract) + ".go"}}}}
	return out, s.db.Write(ctx, func(tx *store.Tx) error { return board.Landed(tx, in.Run, in.Contract, commit) })
}

// converse is a session that does at once what is asked of its role.
func (s *steps) converse(ctx context.Context, in session.Spec) (session.Outcome, error) {
	s.mu.Lock()
	s.sessions++
	s.mu.Unlock()
	claimed := session.Outcome{Kind: session.Claimed, Claim: &agency.Claim{Contract: in.Contract, Summary: "done", Tree: "tree"}}
	switch {
	case in.Review != nil:
		return session.Outcome{Kind: session.Reviewed, Review: &agency.Review{
			ContractID: in.Contract, Session: in.ID(), Reviewer: in.Agent, Attempt: in.Attempt, Iteration: in.Review.Iteration,
			Said: agency.ReviewApprove, Summary: "it does what is asked", Tree: in.Review.Claim.Tree, Base: in.Review.Base,
		}}, nil
	case in.Report && in.Role == agency.RoleVisionary:
		return session.Outcome{Kind: session.Reported, Report: "done", Acceptance: &agency.Acceptance{Accepted: true, Summary: "done"}}, nil
	case in.Report:
		return session.Outcome{Kind: session.Reported, Report: "done", Joint: &agency.JointVerdict{Verdict: agency.JointPass, Summary: "done"}}, nil
	case in.Role == agency.RoleVisionary:
		return session.Outcome{Kind: session.Planned, Plan: tierPlan().Ordered(), Tiers: &agency.TierFacts{Complexity: agency.Medium}}, nil
	case in.Role == agency.RoleSquadLead && in.Part == 1:
		return session.Outcome{
			Kind: session.Parked, For: session.ForAgents, ToolUse: "draft", Tree: "half",
			Asks: []session.AgentsAsk{{ToolUse: "draft", Draft: tierTasksOf(in.Contract)}},
		}, nil
	case in.Role == agency.RoleSquadLead:
		return session.Outcome{Kind: session.Planned, Plan: tierTasksOf(in.Contract)}, nil
	case in.Role.Tier() == agency.TierArchitect:
		return claimed, s.publish(ctx, in)
	}
	return claimed, nil
}

// publish writes all that an architect may publish.
func (s *steps) publish(ctx context.Context, in session.Spec) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		for _, kind := range []agency.ArtifactKind{agency.ArtifactBoundaries, agency.ArtifactAssumptions, agency.ArtifactProposal, agency.ArtifactArchitecture} {
			made := agency.Artifact{Kind: kind, Run: benchRun, Contract: in.Contract, By: in.Agent, Content: "the " + string(kind)}
			if _, err := artifact.Publish(tx, made, in.Role, string(in.Contract)+string(kind)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tierPlan is the visionary's: workstreams of one domain that go through all tiers.
func tierPlan() agency.TierPlan {
	p := agency.TierPlan{Complexity: agency.Medium, Groups: map[string][]agency.ContractID{}, Sequence: []string{"A"}}
	for i := range tierStreams {
		w := tierPart(fmt.Sprint("w", i))
		w.Phase, w.Domain, w.TierPath = "A", "web", []agency.Tier{agency.TierArchitect, agency.TierSquadLead, agency.TierImplementer, agency.TierVerifier}
		p.Workstreams, p.Groups["A"] = append(p.Workstreams, w), append(p.Groups["A"], w.ID)
	}
	return p
}

// tierTasksOf are the tasks of the workstream whose lead plans in a contract: each second
// one builds on the one before.
func tierTasksOf(planning agency.ContractID) (out []agency.Contract) {
	for i := range tierTasks {
		t := tierPart(fmt.Sprintf("%s-%d", strings.TrimSuffix(string(planning), "-tasks"), i))
		if t.AssignedRole = agency.RoleImplementer; i%2 == 1 {
			t.DependsOn = []agency.ContractID{out[i-1].ID}
		}
		out = append(out, t)
	}
	return out
}

func tierPart(id string) agency.Contract {
	return agency.Contract{
		ID: agency.ContractID(id), Title: "Do " + id, Description: "It is done.", Writes: []string{id + ".go"},
		AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "done"}},
	}
}

func (s *steps) signal(ctx context.Context, name, id string, payload []byte) error {
	return local.New(local.Options{DB: s.db}).Signal(ctx, benchRun, name, id, payload)
}

// approve answers all gates that wait.
func (s *steps) approve(ctx context.Context) error {
	var open []agency.Gate
	err := s.db.Read(ctx, func(q *store.Snapshot) (err error) { open, err = registry.OpenGates(q, benchRun); return err })
	for _, g := range open {
		if err != nil {
			return err
		}
		err = s.db.Write(ctx, func(tx *store.Tx) (err error) {
			g, err = registry.Decide(tx, g.ID, agency.Decision{Verb: agency.Approve, By: "tester"})
			return err
		})
		if err == nil {
			var payload []byte
			sig := contractrun.GateSignal(g.ID)
			if payload, err = flow.Encode(sig, g.Decision); err == nil {
				err = s.signal(ctx, sig.Name, string(g.ID), payload)
			}
		}
	}
	return err
}

// shop is what effects ask of the repository and the models.
type shop struct{}

func (shop) Landed(context.Context, agency.RunID, agency.OID, agency.ContractID, []agency.ContractID) error {
	return nil
}
func (shop) SandboxOff(context.Context, agency.RunID) (bool, error) { return false, nil }
func (shop) Signing(context.Context, agency.RunID) (string, error)  { return "", nil }
func (shop) Level(context.Context, agency.RunID, agency.Level) (string, *agency.Price, error) {
	return modelName, nil, nil
}

func (shop) Staff(context.Context, agency.RunID, agency.RoleID, agency.Level) (agency.Staffing, error) {
	offer := agency.Offer{Model: modelName, Window: 50_000}
	return agency.Staffing{First: offer, May: []agency.Offer{offer}, Tokens: 100_000, Turns: 10}, nil
}

func (shop) Routing(context.Context, agency.RunID) (agency.Routing, error) {
	return agency.Routing{}, nil
}

func (shop) Change(context.Context, agency.RunID, agency.OID, agency.OID) (effects.Change, error) {
	return effects.Change{Stat: " a.go | 2 +-\n"}, nil
}

func (shop) Landings(context.Context, agency.RunID) (report.Input, error) { return report.Input{}, nil }

func (shop) MarkDone(context.Context, agency.RunID, string, agency.OID, agency.FeatureID, agency.FeatureEvidence) (agency.OID, error) {
	return "marked", nil
}
