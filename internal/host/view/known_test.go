package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/view"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/verdicts"
)

// kept is a store with runs to look at, and a reader that keeps what it read.
type kept struct {
	*testing.T
	db     *store.DB
	reader *view.Reader
	lister *view.Reader // is asked for lists alone
}

func keep(t *testing.T) *kept {
	k := &kept{T: t, db: storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "agency.db"), Sets: daemon.Migrations()})}
	k.reader, k.lister = k.fresh(), k.fresh()
	return k
}

func (k *kept) fresh() *view.Reader {
	return view.New(view.Options{
		DB: k.db, Live: host.NewLive(),
		Git: func(context.Context) (*git.Program, error) { return nil, errors.New("there is no repository") },
	})
}

func (k *kept) write(fn func(tx *store.Tx) error) {
	k.Helper()
	if err := k.db.Write(k.Context(), fn); err != nil {
		k.Fatal(err)
	}
}

func (k *kept) begin(run agency.RunID) {
	k.Helper()
	settings, err := json.Marshal(host.RunConfig{Config: config.Defaults()})
	if err != nil {
		k.Fatal(err)
	}
	k.write(func(tx *store.Tx) error {
		r := agency.Run{ID: run, Goal: "all parts", Mode: agency.ModeMultiAgent, State: agency.StateRunning, Branch: "agency/r/main", Target: "main"}
		return errors.Join(registry.CreateRun(tx, r, settings), budget.Open(tx, run, budget.Root, "", budget.Limits{}))
	})
}

// same looks at a run as before and as for the first time, which must not differ.
func (k *kept) same(run agency.RunID, after string) api.InspectDoc {
	k.Helper()
	got, err := k.reader.Inspect(k.Context(), run)
	if err != nil {
		k.Fatalf("after %s: %v", after, err)
	}
	want, err := k.fresh().Inspect(k.Context(), run)
	if err != nil {
		k.Fatalf("after %s: %v", after, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.Errorf("after %s a reader that looked before sees something else:\n%s", after, diff)
	}
	for _, r := range []*view.Reader{k.reader, k.fresh(), k.lister} { // a list and the cost say the same
		docs, err := r.Runs(k.Context())
		if err != nil {
			k.Fatalf("after %s: %v", after, err)
		}
		at := slices.IndexFunc(docs, func(d api.RunDoc) bool { return d.ID == run })
		if diff := cmp.Diff(got.RunDoc, docs[at]); diff != "" {
			k.Errorf("after %s a list shows something else:\n%s", after, diff)
		}
		if r == k.lister {
			continue
		}
		of, err := r.Inspect(k.Context(), run, api.Tree)
		if diff := cmp.Diff(api.TreeOf(got), api.TreeOf(of)); diff != "" || err != nil {
			k.Errorf("after %s its tree is %v\n%s", after, err, diff)
		}
	}
	before, err := k.reader.Cost(k.Context(), run)
	if err != nil {
		k.Fatalf("after %s: %v", after, err)
	}
	first, err := k.fresh().Cost(k.Context(), run)
	if err != nil {
		k.Fatalf("after %s: %v", after, err)
	}
	tree, err := k.reader.Cost(k.Context(), run, api.Tree)
	least := api.CostDoc{Limits: first.Limits, Reserved: first.Reserved, Forecast: first.Forecast, Progress: first.Progress}
	if diff := cmp.Diff(least, tree); diff != "" || err != nil {
		k.Errorf("after %s the cost of a tree is %v\n%s", after, err, diff)
	}
	if diff := cmp.Diff(first, before); diff != "" || first.Progress != got.Progress {
		k.Errorf("after %s the cost is something else to a reader that looked before:\n%s", after, diff)
	}
	return got
}

// A reader that looked before sees what one sees that looks for the first time, whatever
// happened meanwhile; and what it gave out before stays as it was.
func TestLookedAtBefore(t *testing.T) {
	const run, id = agency.RunID("runs"), agency.ContractID("c1")
	k := keep(t)
	k.begin(run)
	create := func(id agency.ContractID) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			return registry.CreateContract(tx, agency.Contract{
				ID: id, RunID: run, Title: "part", Description: "it is done", AssignedRole: agency.RoleImplementer, RetryBudget: 2,
				AcceptanceCriteria: []agency.Criterion{{ID: "1", Text: "it is done", Check: &agency.Check{Created: "a.go"}}, {ID: "2", Text: "it reads well"}},
			})
		}
	}
	advance := func(facts ...agency.Fact) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			for _, f := range facts {
				if _, err := registry.Advance(tx, run, id, agency.StepKey(fmt.Sprintf("%T", f)), f); err != nil {
					return err
				}
			}
			return nil
		}
	}
	tell := func(d agency.Detail) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			ev := agency.NewEvent(run, agency.SeverityInfo, "", d)
			ev.ContractID, ev.AgentID, ev.Role = id, "ada", agency.RoleImplementer
			_, err := event.Append(tx, ev)
			return err
		}
	}
	verdict := agency.Verdict{ContractID: id, Attempt: 1, Pass: true, Tree: "t1", Proofs: []agency.Proof{
		{Criterion: agency.Criterion{ID: "1", Text: "it is done", Check: &agency.Check{Created: "a.go"}}, Proof: agency.ProofVerified},
		{Criterion: agency.Criterion{ID: "2", Text: "it reads well"}, Proof: agency.ProofAsserted},
	}}
	var before []api.InspectDoc
	var texts []string
	for _, step := range []struct {
		name string
		do   func(*store.Tx) error
	}{
		{"the first look", func(*store.Tx) error { return nil }},
		{"a plan", tell(agency.PlanSubmitted{Contracts: 2})},
		{"an estimate", tell(agency.PlanEstimated{})},
		{"a contract", create(id)},
		{"another", create("c2")},
		{"other words", func(tx *store.Tx) error {
			return registry.Amend(tx, "amended", agency.Contract{ID: id, RunID: run, Title: "part one", Description: "it is done well", RetryBudget: 2})
		}},
		{"routing", tell(agency.ModelRouted{})},
		{"a beginning", advance(agency.Started{Agent: "ada"})},
		{"a turn", tell(agency.TurnCompleted{Session: "runs/c1/attempt-1", Turn: 1})},
		{"a wait", tell(agency.ResourceWaited{Resource: "gpu", InUse: 1, Of: 1})},
		{"a request", func(tx *store.Tx) error {
			r := budget.Request{Key: "k", Node: budget.Root, In: 10, Out: 10, Unpriced: true, Agent: "ada", Role: agency.RoleImplementer, Model: "m", Contract: id}
			if _, err := budget.Reserve(tx, run, r); err != nil {
				return err
			}
			return budget.Settle(tx, run, "k", budget.Bill{Model: "m", Usage: agency.Usage{In: 10, Out: 5}, Unpriced: true}, time.Second)
		}},
		{"a claim", advance(agency.ClaimMade{})},
		{"a check", tell(agency.TestsRun{})},
		{"a review", func(tx *store.Tx) error {
			return registry.AddReview(tx, run, "review", agency.Review{ContractID: id, Reviewer: "rex", Attempt: 1, Iteration: 1, Verdict: agency.ReviewApprove, Tree: "t1", Criteria: []agency.CriterionFinding{{Criterion: "2", Met: true}}})
		}},
		{"the way to its end", advance(agency.Verified{Review: true}, agency.Reviewed{}, agency.LandingBegun{}, agency.HasLanded{})},
		{"a landing", tell(agency.Merged{Contract: id, Commit: "abc", Branch: "agency/r/main", MergeDetails: agency.MergeDetails{Checked: "t1"}})},
		{"a joint verdict", tell(agency.JointVerdictSubmitted{Round: 1})},
		{"an acceptance", tell(agency.AcceptanceSubmitted{Round: 1})},
		{"an amendment", tell(agency.PathAmendment{Workstream: id})},
		{"a nudge", tell(agency.Nudged{Overseen: agency.Overseen{Cause: "stagnation", Session: "runs/c1/attempt-1"}, Text: "go on"})},
		{"a gate", func(tx *store.Tx) error {
			return registry.OpenGate(tx, agency.Gate{ID: "r.1", RunID: run, Kind: agency.GateEscalation, Summary: "shall it go on?"})
		}},
		{"its answer", func(tx *store.Tx) error {
			_, err := registry.Decide(tx, "r.1", agency.Decision{Verb: agency.Approve, By: "eve"})
			return err
		}},
		{"the run's end", func(tx *store.Tx) error { return registry.SetState(tx, run, agency.StateSucceeded, "") }},
	} {
		k.write(step.do)
		if step.name == "a claim" {
			if _, err := (verdicts.Store{DB: k.db}).Keep(t.Context(), run, "verify", verdict, 0); err != nil {
				t.Fatal(err)
			}
		}
		doc := k.same(run, step.name)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		before, texts = append(before, doc), append(texts, string(text))
	}
	last := before[len(before)-1]
	if doc, err := k.lister.Inspect(t.Context(), run); err != nil || !cmp.Equal(last, doc) {
		t.Errorf("after lists alone: %v\n%s", err, cmp.Diff(last, doc))
	}
	for i := range before {
		if text, err := json.Marshal(before[i]); err != nil || string(text) != texts[i] {
			t.Errorf("%v: what was given out before was changed: %s", err, cmp.Diff(texts[i], string(text)))
		}
	}
	if len(last.Contracts) != 2 || len(last.Landings) != 1 || len(last.Verdicts) != 1 || len(last.Reviews) != 1 ||
		last.Contracts[0].Status != agency.StatusComplete || last.Contracts[0].Title != "part one" || last.Tokens != 15 {
		t.Errorf("%+v", last)
	}
}

// More runs than are kept are looked at in turn, and one that is removed is not there.
func TestManyRunsLookedAt(t *testing.T) {
	k := keep(t)
	for round := range 2 {
		for n := range 6 {
			run := agency.RunID(fmt.Sprint("run-", n))
			if round == 0 {
				k.begin(run)
			}
			k.write(func(tx *store.Tx) error {
				return registry.CreateContract(tx, agency.Contract{ID: agency.ContractID(fmt.Sprint("c", round)), RunID: run, Title: "t", Description: "d"})
			})
			if doc := k.same(run, "a round"); len(doc.Contracts) != round+1 {
				t.Errorf("%s has %d contracts in round %d", run, len(doc.Contracts), round)
			}
		}
	}
	for range 2 {
		if _, err := k.reader.Inspect(t.Context(), "none"); agency.KindOf(err) != agency.KindNotFound {
			t.Errorf("a run that is not there: %v", err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := k.reader.Inspect(ctx, "run-0"); err == nil {
		t.Error("nobody waits any more, and it is read")
	}
	k.same("run-0", "a look that was given up")
}

// Contracts that plan, lead, judge or are the harness's own are told from those of work.
func TestTellsWhatLeads(t *testing.T) {
	const run = agency.RunID("tells")
	k := keep(t)
	k.begin(run)
	want := map[agency.ContractID]bool{}
	for _, c := range []struct {
		id    agency.ContractID
		role  agency.RoleID
		of    agency.ContractType
		leads bool
	}{
		{"plan", agency.RoleProjectManager, agency.TypeDesign, true},
		{"report", agency.RoleProjectManager, agency.TypeReview, true},
		{"t1", agency.RoleVisionary, agency.TypeDesign, true},
		{"t2", agency.RoleArchitect, agency.TypeDesign, true},
		{"t3", agency.RoleSquadLead, agency.TypeReview, true},
		{"stream", agency.RoleSquadLead, agency.TypeFeature, true},
		{agency.OverseerContract, agency.RoleGeneralist, agency.TypeFeature, true},
		{"t4", agency.RoleImplementer, agency.TypeFeature, false},
		{"main", agency.RoleGeneralist, agency.TypeFeature, false},
		{"design", agency.RoleScaffolder, agency.TypeDesign, false},
		{"review", agency.RoleReviewer, agency.TypeReview, false},
	} {
		want[c.id] = c.leads
		k.write(func(tx *store.Tx) error {
			return registry.CreateContract(tx, agency.Contract{ID: c.id, RunID: run, Title: "t", Description: "d", AssignedRole: c.role, Type: c.of})
		})
	}
	for _, c := range k.same(run, "contracts of all roles").Contracts {
		if c.Leads != want[c.ID] {
			t.Errorf("%s leads: %v", c.ID, c.Leads)
		}
	}
}

// A run that is not there takes the place of none, and one that is removed gives its own up.
func TestUnknownRunsTakeNoPlace(t *testing.T) {
	k := keep(t)
	for n := range view.MostKnown {
		run := agency.RunID(fmt.Sprint("run-", n))
		k.begin(run)
		k.same(run, "a look")
	}
	before := k.reader.Kept()
	for n := range 2 * view.MostKnown {
		id := agency.RunID(fmt.Sprint("none-", n))
		_, err := k.reader.Inspect(t.Context(), id)
		_, err2 := k.reader.Cost(t.Context(), id)
		if agency.KindOf(err) != agency.KindNotFound || agency.KindOf(err2) != agency.KindNotFound {
			t.Errorf("%v, %v", err, err2)
		}
	}
	if got := k.reader.Kept(); len(got) != view.MostKnown || !slices.Equal(got, before) {
		t.Errorf("%v are kept, before unknown ones were looked at %v", got, before)
	}
	k.write(func(tx *store.Tx) error {
		return errors.Join(registry.SetState(tx, "run-1", agency.StateCancelled, ""), registry.DeleteRun(tx, "run-1"))
	})
	if _, err := k.reader.Inspect(t.Context(), "run-1"); agency.KindOf(err) != agency.KindNotFound {
		t.Error(err)
	}
	if got := k.reader.Kept(); len(got) != view.MostKnown-1 || slices.Contains(got, "run-1") {
		t.Errorf("%v are kept after one was removed", got)
	}
}

// A run that bears the name of one that was removed is seen as it is.
func TestAnotherRunOfTheName(t *testing.T) {
	const run = agency.RunID("runs")
	k := keep(t)
	for _, id := range []agency.ContractID{"old", "new"} {
		k.begin(run)
		k.write(func(tx *store.Tx) error {
			if err := registry.CreateContract(tx, agency.Contract{ID: id, RunID: run, Title: "t", Description: "d"}); err != nil {
				return err
			}
			_, err := budget.Reserve(tx, run, budget.Request{Key: string(id), Node: budget.Root, Out: 1, Contract: id})
			return errors.Join(err, budget.Settle(tx, run, string(id), budget.Bill{Usage: agency.Usage{Out: int64(len(id))}}, 0))
		})
		if _, err := k.reader.Cost(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if doc := k.same(run, "a beginning"); len(doc.Contracts) != 1 || doc.Contracts[0].ID != id || doc.Contracts[0].TokensUsed != 3 {
			t.Errorf("%+v", doc.Contracts)
		}
		k.write(func(tx *store.Tx) error {
			return errors.Join(registry.SetState(tx, run, agency.StateFailed, ""), budget.Forget(tx, run), registry.DeleteRun(tx, run), event.DeleteRun(tx, run))
		})
	}
}

// Many look at a run at once, while its agents work.
func TestLookedAtByMany(t *testing.T) {
	const run = agency.RunID("runs")
	k := keep(t)
	k.begin(run)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for n := 0; n < 10; {
				_, err := k.reader.Runs(t.Context())
				if err == nil {
					_, err = k.reader.Cost(t.Context(), run)
				}
				doc, looked := k.reader.Inspect(t.Context(), run)
				if err = errors.Join(err, looked); err == nil {
					_, err = json.Marshal(doc)
				}
				if err != nil || len(doc.Contracts) < n {
					t.Errorf("%v: %d contracts after %d", err, len(doc.Contracts), n)
					return
				}
				n = len(doc.Contracts)
			}
		})
	}
	for n := range 10 {
		k.write(func(tx *store.Tx) error {
			id := agency.ContractID(fmt.Sprint("c", n))
			c := agency.Contract{ID: id, RunID: run, Title: "t", Description: "d", AcceptanceCriteria: []agency.Criterion{{ID: "1", Text: "done"}}}
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
			_, err := registry.Advance(tx, run, id, agency.StepKey(id), agency.Started{Agent: "ada"})
			return err
		})
	}
	wait.Wait()
	k.same(run, "all of it")
}

// Where no host lives a run that waits at no gate waits for nobody: its host died as the
// answer was stored. One that waits at a gate waits on.
func TestWaitsForNobody(t *testing.T) {
	k := keep(t)
	reader := view.New(view.Options{DB: k.db, Git: func(context.Context) (*git.Program, error) { return nil, errors.New("there is no repository") }})
	for run, want := range map[agency.RunID]agency.RunState{"answered": agency.StateInterrupted, "asks": agency.StateWaiting} {
		k.begin(run)
		k.write(func(tx *store.Tx) error {
			if run == "asks" {
				if err := registry.OpenGate(tx, agency.Gate{ID: "asks.plan-1", RunID: run, Kind: agency.GatePlan}); err != nil {
					return err
				}
			}
			return registry.SetState(tx, run, agency.StateWaiting, "plan gate: the plan")
		})
		if doc, err := reader.Inspect(t.Context(), run); err != nil || doc.State != want {
			t.Errorf("%s is %s, %v", run, doc.State, err)
		}
	}
}
