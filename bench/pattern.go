package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/contractrun"
	"agency/internal/contractrun/pattern"
	"agency/internal/effects"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/lease"
	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/roster/agentfile"
	"agency/internal/session"
	"agency/internal/session/native"
	"agency/internal/session/record"
	"agency/internal/store"
)

const (
	chained = 20
	advised = 100
	crewed  = 20 // members
	cycled  = 50
)

// patternRow compares compositions of agents whose model answers at once with as many bare
// sessions, each in one turn; and with the same composition of adk-go, which keeps its
// sessions in SQLite, and of eino, which keeps nothing.
func patternRow() row {
	return row{figures: []string{
		"pattern/handoffs-20", "pattern/advisors-100", "pattern/handoffs-vs-adk", "pattern/advisors-vs-adk",
		"pattern/handoffs-vs-eino", "pattern/advisors-vs-eino",
	}, measure: measurePattern}
}

func measurePattern(ctx context.Context, b *bench) ([]figure, error) {
	on := func(cast agentfile.Cast, n int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) { return timed(ctx, b, cast, n) }
	}
	chain, fan := chainOf(chained), fanOf(advised)
	adk, err := b.composing(ctx, "adkpeer")
	if err != nil {
		return nil, err
	}
	eino, err := b.composing(ctx, "einopeer")
	if err != nil {
		return nil, err
	}
	s, err := b.rounds(
		ctx,
		contender{"handoffs", on(chain, 0)}, contender{"bare one by one", on(chain, 1)},
		contender{"advisors", on(fan, 0)}, contender{"bare at once", on(fan, advised)},
		contender{"adk chain", adk(chained, false)}, contender{"adk fan", adk(advised+1, true)},
		contender{"eino chain", eino(chained, false)}, contender{"eino fan", eino(advised+1, true)},
	)
	if err != nil {
		return nil, err
	}
	each := func(name string, n int) string {
		return s.raw(name, float64(time.Millisecond)*float64(n), "ms an agent")
	}
	beside := func(name, ours, theirs string, n int, most float64) figure {
		return figure{name, s.ratio(ours, theirs), atMost(most), []string{each(ours, n), each(theirs, n)}}
	}
	return []figure{
		beside("pattern/handoffs-20", "handoffs", "bare one by one", chained, 2),
		beside("pattern/advisors-100", "advisors", "bare at once", advised+1, 2),
		beside("pattern/handoffs-vs-adk", "handoffs", "adk chain", chained, 4),
		beside("pattern/advisors-vs-adk", "advisors", "adk fan", advised+1, 2),
		beside("pattern/handoffs-vs-eino", "handoffs", "eino chain", chained, 60),
		beside("pattern/advisors-vs-eino", "advisors", "eino fan", advised+1, 40),
	}, nil
}

// composing is how long a peer, a binary of its own, takes for a composition of so many agents.
func (b *bench) composing(ctx context.Context, name string) (func(agents int, beside bool) func(context.Context) (float64, error), error) {
	own, _, err := modules(ctx)
	if err != nil {
		return nil, err
	}
	bin, err := b.build(ctx, filepath.Join(own, name), ".", name)
	return func(agents int, beside bool) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			r, err := b.process(ctx, name, peer.Job{Sessions: 6, Agents: agents, Beside: beside}, bin)
			return float64(r.Wall) / 5, err // the first one warms up
		}
	}, err
}

func file(name string) agentfile.File {
	return agentfile.File{Name: name, Body: "Answer.", Input: agentfile.Markdown, Output: agentfile.Markdown, Layer: agentfile.BuiltIn, MaxTurns: 1000}
}

func chainOf(n int) (cast agentfile.Cast) {
	for i := range n {
		f := file(fmt.Sprintf("a%d", i))
		if i+1 < n {
			f.Handoff = fmt.Sprintf("a%d", i+1)
		}
		cast.Agents = append(cast.Agents, f)
	}
	return cast
}

func fanOf(n int) (cast agentfile.Cast) {
	first := file("a0")
	for i := range n {
		f := file(fmt.Sprintf("b%d", i))
		first.Advisors = append(first.Advisors, f.Name)
		cast.Agents = append(cast.Agents, f)
	}
	cast.Agents = append([]agentfile.File{first}, cast.Agents...)
	return cast
}

// answering is what every agent says that is no member of a team; members speak in each
// cycle, and their supervisor until the last.
const answering = `version: 1
name: bench
rules:
  - when: {offers: [team_broadcast, final_report], turn: %d+}
    calls: [{tool: final_report, args: {report: done}}]
  - when: {offers: [team_broadcast]}
    calls: [{tool: team_broadcast, args: {message: "so many words as a member of a team has to say in one cycle"}}]
  - calls: [{tool: final_report, args: {report: done}}]
`

// company is what a composition needs of the host: store, board, sessions over a model.
type company struct {
	db     *store.DB
	office *board.Board
	cast   agentfile.Cast
	lineup session.Lineup
	part   func(context.Context, agency.StepKey, session.Spec) (session.Outcome, error)
	tools  func() *session.Toolset
}

func openCompany(ctx context.Context, dir string, cast agentfile.Cast, model llm.Model) (*company, error) {
	k := &company{cast: cast, tools: session.NoCheckout}
	var err error
	k.db, err = store.Open(ctx, store.Options{Path: filepath.Join(dir, "agency.db"), Sets: []store.Set{
		event.Migrations(), lease.Migrations(), local.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), state.Migrations(),
		record.Migrations(),
	}})
	if err != nil {
		return nil, err
	}
	if k.office, err = board.Open(ctx, k.db, board.Options{MaySend: roster.MaySend}); err != nil {
		return nil, errors.Join(err, k.close())
	}
	k.lineup = session.Lineup{Model: model, Names: []string{modelName}, Window: 10_000_000}
	k.part = session.Do(session.Options{DB: k.db, Host: k, Mail: k.office, Runtimes: map[string]session.Runtime{"": native.New(native.Options{Host: k})}})
	err = k.db.Write(ctx, func(tx *store.Tx) error {
		run := agency.Run{ID: benchRun, Goal: "answer", Mode: agency.ModeAgent, State: agency.StateRunning}
		return errors.Join(registry.CreateRun(tx, run, json.RawMessage(`{}`)), budget.Open(tx, benchRun, budget.Root, "", budget.Limits{}))
	})
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// atOnce is a model that plays the answers, each of which is there at once.
func atOnce() (llm.Model, error) {
	script, err := rehearsal.Parse("bench", fmt.Appendf(nil, answering, cycled))
	if err != nil {
		return nil, err
	}
	return asHost(rehearsal.NewModel("bench", rehearsal.NewPlayer(script), rehearsal.ModelOptions{}))
}

func (k *company) close() error {
	var errs []error
	if k.office != nil {
		errs = append(errs, k.office.Close())
	}
	return errors.Join(append(errs, k.db.Close())...)
}

// Setup is for session.Host.
func (k *company) Setup(_ context.Context, s session.Spec) (session.Setup, error) {
	role, err := roster.Find(agency.RoleAgent)
	if err != nil {
		return session.Setup{}, err
	}
	persona, _ := k.cast.Persona(*s.Post, false)
	role.Limits.Turns, role.Limits.Tokens = 1000, 1_000_000_000
	return session.Setup{
		Limits: role.Limits, Persona: persona, Parent: budget.ContractNode(s.Contract),
		Prices: func(string, string) (agency.Price, bool) { return agency.Price{In: 1, CachedIn: 0.1, Out: 2}, true },
	}, nil
}

// Lineup is for session.Host.
func (k *company) Lineup(context.Context, session.Spec) (session.Lineup, error) { return k.lineup, nil }

// Cancelled is for session.Host.
func (k *company) Cancelled(agency.RunID) context.Context { return context.Background() }

// Toolset is for session.Host.
func (k *company) Toolset(context.Context, session.Spec) (*session.Toolset, error) {
	return k.tools(), nil
}

// noModels routes nothing.
type noModels struct{ effects.Models }

func (noModels) Routing(context.Context, agency.RunID) (agency.Routing, error) {
	return agency.Routing{}, nil
}

// play has the first of the cast answer.
func (k *company) play(ctx context.Context) error {
	r := flow.NewRegistry()
	effects.New(k.db, agency.Fence{}, nil, noModels{}, nil, nil).Bind(r)
	flow.Bind(r, session.Activity, k.part)
	return local.New(local.Options{DB: k.db, Registry: r, Version: "bench"}).Run(ctx, benchRun, func(c flow.Ctx) error {
		end, err := pattern.Play(c, pattern.Input{Facts: contractrun.Facts{Run: benchRun, Goal: "answer"}, Cast: k.cast, Agent: k.cast.Agents[0].Name, Text: "answer"})
		if err == nil && end.Answer != "done" {
			err = fmt.Errorf("ended %+v", end)
		}
		return err
	}, flow.Hooks{})
}

// bare is a session by itself: its contract, and one turn.
func (k *company) bare(ctx context.Context, i int) error {
	id := agency.ContractID(fmt.Sprintf("bare-%d", i))
	post := &agency.Post{Agent: k.cast.Agents[i].Name, Reached: agency.ReachedRun}
	err := k.db.WriteFenced(ctx, agency.Fence{}, func(tx *store.Tx) error {
		c := agency.Contract{ID: id, RunID: benchRun, AssignedRole: agency.RoleAgent, Title: "answer", Description: "answer", RetryBudget: 1, Post: post}
		return errors.Join(registry.CreateContract(tx, c), budget.Open(tx, benchRun, budget.ContractNode(id), budget.Root, budget.Limits{}))
	})
	if err != nil {
		return err
	}
	spec := session.Spec{Run: benchRun, Contract: id, Attempt: 1, Part: 1, Role: agency.RoleAgent, Agent: agency.AgentID(id), Post: post}
	out, err := k.part(flow.WithScope(ctx, flow.Scope{Run: benchRun}), "", spec)
	if err == nil && out.Report != "done" {
		err = fmt.Errorf("ended %+v", out)
	}
	return err
}

// timed is how long the cast takes: as a composition where there are no slots, else as bare
// sessions, in as many slots.
func timed(ctx context.Context, b *bench, cast agentfile.Cast, slots int) (took float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "agency-bench-pattern-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	model, err := atOnce()
	if err != nil {
		return 0, err
	}
	k, err := openCompany(ctx, dir, cast, model)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	begun := time.Now()
	if slots == 0 {
		err = k.play(ctx)
		return float64(time.Since(begun)), err
	}
	errs := make([]error, len(cast.Agents))
	free := make(chan struct{}, slots)
	var wg sync.WaitGroup
	for i := range cast.Agents {
		free <- struct{}{}
		wg.Go(func() {
			errs[i] = k.bare(ctx, i)
			<-free
		})
	}
	wg.Wait()
	return float64(time.Since(begun)), errors.Join(errs...)
}
