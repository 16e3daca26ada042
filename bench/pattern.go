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

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/lock"
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
	"agency/internal/llm/failover"
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
// sessions, each in one turn; and a team's requests late with those early.
func patternRow() row {
	return row{figures: []string{"pattern/handoffs-20", "pattern/advisors-100", "pattern/team-growth"}, measure: measurePattern}
}

func measurePattern(ctx context.Context, b *bench) ([]figure, error) {
	on := func(cast agentfile.Cast, n int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) { return timed(ctx, b, cast, n) }
	}
	chain, fan := chainOf(chained), fanOf(advised)
	s, err := b.rounds(ctx,
		contender{"handoffs", on(chain, 0)}, contender{"bare one by one", on(chain, 1)},
		contender{"advisors", on(fan, 0)}, contender{"bare at once", on(fan, advised)},
	)
	if err != nil {
		return nil, err
	}
	early, late, err := teamSizes(ctx, b)
	if err != nil {
		return nil, err
	}
	each := func(name string, n int) string {
		return s.raw(name, float64(time.Millisecond)*float64(n), "ms an agent")
	}
	return []figure{
		{"pattern/handoffs-20", s.ratio("handoffs", "bare one by one"), atMost(2), []string{each("handoffs", chained), each("bare one by one", chained)}},
		{"pattern/advisors-100", s.ratio("advisors", "bare at once"), atMost(2), []string{each("advisors", advised+1), each("bare at once", advised+1)}},
		{"pattern/team-growth", late / early, atMost(1.02), []string{fmt.Sprintf("%.0f bytes a cycle and member late, %.0f early", late, early)}},
	}, nil
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
}

func openCompany(ctx context.Context, dir string, cast agentfile.Cast, wrap func(llm.Model) llm.Model) (*company, error) {
	k := &company{cast: cast}
	var err error
	k.db, err = store.Open(ctx, store.Options{Path: filepath.Join(dir, "agency.db"), Sets: []store.Set{
		event.Migrations(), lease.Migrations(), local.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), state.Migrations(),
		lock.Migrations(), record.Migrations(),
	}})
	if err != nil {
		return nil, err
	}
	if k.office, err = board.Open(ctx, k.db, board.Options{MaySend: roster.MaySend}); err != nil {
		return nil, errors.Join(err, k.close())
	}
	script, err := rehearsal.Parse("bench", fmt.Appendf(nil, answering, cycled))
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	model, err := failover.Fallback([]failover.Named{{
		Name: "bench/a", Provider: "bench", ID: "a", Model: wrap(rehearsal.NewModel("bench", rehearsal.NewPlayer(script), rehearsal.ModelOptions{})),
	}}, failover.FallbackOptions{})
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	k.lineup = session.Lineup{Model: model, Names: []string{"bench/a"}, Window: 10_000_000}
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
func (k *company) Cancelled(agency.RunID) <-chan struct{} { return nil }

// Toolset is for session.Host.
func (k *company) Toolset(context.Context, session.Spec) (*session.Toolset, error) {
	return session.NoCheckout(), nil
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

// timed is how long the cast takes: as a composition where at once is 0, else as bare
// sessions, so many at a time.
func timed(ctx context.Context, b *bench, cast agentfile.Cast, atOnce int) (took float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "agency-bench-pattern-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	k, err := openCompany(ctx, dir, cast, func(m llm.Model) llm.Model { return m })
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	begun := time.Now()
	if atOnce == 0 {
		err = k.play(ctx)
		return float64(time.Since(begun)), err
	}
	errs := make([]error, len(cast.Agents))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range cast.Agents {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = k.bare(ctx, i)
			<-slots
		})
	}
	wg.Wait()
	return float64(time.Since(begun)), errors.Join(errs...)
}

// teamSizes is by how many bytes a member's request grows a cycle, over the first and the
// last ten cycles of a team.
func teamSizes(ctx context.Context, b *bench) (early, late float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "agency-bench-team-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	super, team := file("super"), file("crew")
	team.Team = &agentfile.Team{Supervisor: super.Name}
	cast := agentfile.Cast{Agents: []agentfile.File{team, super}}
	for i := range crewed {
		f := file(fmt.Sprintf("m%d", i))
		team.Team.Members = append(team.Team.Members, f.Name)
		cast.Agents = append(cast.Agents, f)
	}
	sizes := &sizing{of: map[string][]int64{}}
	k, err := openCompany(ctx, dir, cast, func(m llm.Model) llm.Model { sizes.next = m; return sizes })
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.play(ctx); err != nil {
		return 0, 0, err
	}
	if n := sizes.broken.Load(); n > 0 {
		return 0, 0, fmt.Errorf("%d requests do not begin as the one before", n)
	}
	var first, last int64
	for _, of := range sizes.of {
		if len(of) < cycled {
			return 0, 0, fmt.Errorf("a member had %d turns", len(of))
		}
		first += of[11] - of[1]
		last += of[cycled-1] - of[cycled-11]
	}
	n := float64(len(sizes.of) * 10)
	return float64(first) / n, float64(last) / n, nil
}
