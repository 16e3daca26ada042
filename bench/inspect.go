package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/ui/tui"
	"agency/internal/verdicts"
)

const (
	inspectPlan = 10_000
	inspectAim  = 300 * time.Millisecond
)

// inspectRow looks at a run of ten thousand contracts of which half are done, as
// agency inspect does: all that its host's read model tells of it, and that as
// text, after its agents did something more. What the first look of a host costs, and
// what the whole of it costs by the socket, as --json asks for it, is shown beside it. The
// second figure is all that the command does between its start and its end.
func inspectRow() row {
	return row{figures: []string{"inspect/10k", "inspect/10k-socket"}, measure: measureInspect}
}

func measureInspect(ctx context.Context, b *bench) (out []figure, err error) {
	l, err := b.lookedAt(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	plan, err := l.fill(ctx, inspectPlan)
	if err != nil {
		return nil, err
	}
	c := l.dial()
	defer c.Close()
	read, text := []float64{}, []float64{}
	next := inspectPlan/2 + mailMany
	whole := func(v api.View) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			for range mailMany {
				if err := l.goes(ctx, plan[next], next, true); err != nil {
					return 0, err
				}
				next++
			}
			begun := time.Now()
			doc, err := v.Inspect(ctx, benchRun)
			if err != nil {
				return 0, err
			}
			if _, err := v.Gates(ctx, benchRun); err != nil {
				return 0, err
			}
			known := time.Since(begun)
			page := tui.Inspect(tui.Style{}, doc)
			if len(doc.Contracts) != inspectPlan || len(page) < inspectPlan*50 {
				return 0, fmt.Errorf("%d contracts, %d bytes of text", len(doc.Contracts), len(page))
			}
			if v == api.View(l.view) {
				read, text = append(read, float64(known)), append(text, float64(time.Since(begun)-known))
			}
			return float64(time.Since(begun)), nil
		}
	}
	command := func(ctx context.Context) (float64, error) {
		for range mailMany {
			if err := l.goes(ctx, plan[next], next, true); err != nil {
				return 0, err
			}
			next++
		}
		return l.inspects(ctx)
	}
	s, err := b.rounds(ctx, contender{"inspect", whole(l.view)}, contender{"by socket", whole(c)}, contender{"command", command},
		contender{"first", func(ctx context.Context) (float64, error) { return whole(l.reader())(ctx) }})
	if err != nil {
		return nil, err
	}
	s["read"], s["text"] = read, text
	socket := figure{"inspect/10k-socket", median(s["command"]) / float64(inspectAim), atMost(1), []string{s.raw("command", 1e6, "ms")}}
	return []figure{{"inspect/10k", median(s["inspect"]) / float64(inspectAim), atMost(1), []string{
		s.raw("inspect", 1e6, "ms"), s.raw("read", 1e6, "ms"), s.raw("text", 1e6, "ms"), s.raw("by socket", 1e6, "ms"), s.raw("first", 1e6, "ms"),
	}}, socket}, nil
}

// inspects is agency inspect on a terminal, but for the process: a client of its own asks
// the host by its socket who it is, for its runs, this one, its gates and, as one waits,
// its cost, and shows it.
func (l *looked) inspects(ctx context.Context) (float64, error) {
	begun := time.Now()
	c := l.dial()
	defer c.Close()
	_, err := c.Hello(ctx)
	if err != nil {
		return 0, err
	}
	runs, err := c.Runs(ctx)
	if err != nil {
		return 0, err
	}
	doc, err := c.Inspect(ctx, runs[0].ID, api.Tree)
	if err != nil {
		return 0, err
	}
	gates, err := c.Gates(ctx, doc.ID)
	if err != nil {
		return 0, err
	}
	open := agency.Waiting(gates)
	if len(open) == 0 {
		return 0, errors.New("no gate waits")
	}
	cost, err := c.Cost(ctx, doc.ID, api.Tree)
	if err != nil {
		return 0, err
	}
	st := tui.Style{Color: true, Width: 120}
	page := tui.Inspect(st, doc)
	for _, g := range open {
		page += tui.Gate(st, g, tui.SoFar(st, doc, cost)+tui.Anomalies(st, doc, gates, g))
	}
	var out bytes.Buffer
	if _, err := tui.NewScreen(&out, st).Write([]byte(tui.Fit(st, page))); err != nil {
		return 0, err
	}
	if len(doc.Contracts) != inspectPlan || out.Len() < inspectPlan*50 {
		return 0, fmt.Errorf("%d contracts, %d bytes of text", len(doc.Contracts), out.Len())
	}
	return float64(time.Since(begun)), nil
}

// fill records a run of n contracts: half are done, each with what its way left in
// the registry, the log, the verdicts and the budget; a few are at work, and one
// gate of a hundred waits.
func (l *looked) fill(ctx context.Context, n int) ([]agency.Contract, error) {
	plan := crowded(n)
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		for _, c := range plan {
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	var wait sync.WaitGroup
	errs := make([]error, mailMany)
	for w := range errs {
		wait.Go(func() {
			for i := w; i < n/2+len(errs) && errs[w] == nil && err == nil; i += len(errs) {
				errs[w] = l.goes(ctx, plan[i], i, i < n/2)
			}
		})
	}
	wait.Wait()
	return plan, errors.Join(err, errors.Join(errs...))
}

// goes takes a contract on its way, to its end where it is done.
func (l *looked) goes(ctx context.Context, c agency.Contract, n int, done bool) error {
	who, tree := agentOf(n%mailMany), agency.OID(fmt.Sprintf("%040x", n))
	steps := []agency.Fact{agency.Started{Agent: who}, agency.ClaimMade{}, agency.Verified{Review: true}, agency.Reviewed{}, agency.LandingBegun{}, agency.HasLanded{}}
	if !done {
		steps = steps[:1]
	}
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		for i, f := range steps {
			if _, err := registry.Advance(tx, benchRun, c.ID, agency.StepKey(fmt.Sprintf("%s/%d", c.ID, i)), f); err != nil {
				return err
			}
		}
		for turn := range 4 {
			if _, err := event.Append(tx, toolEvent(turn, who, c.ID)); err != nil {
				return err
			}
		}
		return l.spends(tx, c.ID, who)
	})
	if err != nil || !done {
		return err
	}
	v := agency.Verdict{ContractID: c.ID, Attempt: 1, Pass: true, Tree: tree, Proofs: []agency.Proof{{
		Criterion: c.AcceptanceCriteria[0], Proof: agency.ProofVerified, Tests: []string{c.AcceptanceCriteria[0].Check.Test},
	}}}
	if _, err := (verdicts.Store{DB: l.db}).Keep(ctx, benchRun, agency.StepKey(c.ID+"/verify"), v, 0); err != nil {
		return err
	}
	return l.db.Write(ctx, func(tx *store.Tx) error { return settled(tx, c, n, tree) })
}

// settled records what comes after a verdict that passed.
func settled(tx *store.Tx, c agency.Contract, n int, tree agency.OID) error {
	review := agency.Review{ContractID: c.ID, Reviewer: "reviewer", Attempt: 1, Iteration: 1, Verdict: agency.ReviewApprove, Said: agency.ReviewApprove, Summary: "it does what is asked", Score: 100, Tree: tree}
	if err := registry.AddReview(tx, benchRun, agency.StepKey(c.ID+"/review"), review); err != nil {
		return err
	}
	landed := agency.NewEvent(benchRun, agency.SeverityInfo, "landed", agency.Merged{Contract: c.ID, Commit: tree, Branch: "agency/bench/main"})
	landed.ContractID = c.ID
	if _, err := event.Append(tx, landed); err != nil || n%50 != 0 {
		return err
	}
	gate := agency.Gate{ID: agency.GateID(fmt.Sprint(benchRun, ".", c.ID)), RunID: benchRun, Kind: agency.GateEscalation, ContractID: c.ID, Summary: "shall it go on?", Body: "It took long."}
	if err := registry.OpenGate(tx, gate); err != nil || n == 0 {
		return err
	}
	_, err := registry.Decide(tx, gate.ID, agency.Decision{Verb: agency.Approve, By: "tester"})
	return err
}

// spends books a request of a contract's agent.
func (l *looked) spends(tx *store.Tx, c agency.ContractID, who agency.AgentID) error {
	key := string(c) + "/1"
	r := budget.Request{Key: key, Node: budget.Root, In: 9000, Out: 1000, Unpriced: true, Agent: who, Role: agency.RoleImplementer, Model: modelName, Contract: c}
	if _, err := budget.Reserve(tx, benchRun, r); err != nil {
		return err
	}
	return budget.Settle(tx, benchRun, key, budget.Bill{Model: modelName, Usage: agency.Usage{In: 9000, Out: 500}, Unpriced: true}, time.Second)
}
