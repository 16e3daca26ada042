package flowtest

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"agency/internal/agency"
	"agency/internal/flow"
)

// Stmt is one statement of a random program.
type Stmt struct {
	Op   string // call, start, sleep, select, receive, group, race, now
	ID   int
	Name string // of a signal
	Body [][]Stmt
}

// program draws a program; ids make its keys unique.
func program(t *rapid.T, depth int, next *int) []Stmt {
	ops := []string{"call", "sleep", "receive", "now", "call"}
	if depth > 0 {
		ops = append(ops, "start", "select", "group", "race", "select", "race")
	}
	out := make([]Stmt, rapid.IntRange(1, 4).Draw(t, "statements"))
	for i := range out {
		*next++
		s := Stmt{Op: rapid.SampledFrom(ops).Draw(t, "op"), ID: *next, Name: rapid.SampledFrom([]string{"s", "t"}).Draw(t, "signal")}
		bodies := map[string]int{"start": 1, "select": 1, "group": 2, "race": 3}[s.Op]
		for range bodies {
			s.Body = append(s.Body, program(t, depth-1, next))
		}
		out[i] = s
	}
	return out
}

// Player interprets a program and notes all it sees.
type Player struct {
	Prog  []Stmt
	Trace []string // of the last Main
}

func (p *Player) note(format string, args ...any) {
	p.Trace = append(p.Trace, fmt.Sprintf(format, args...))
}

// Main is the program as a run's function.
func (p *Player) Main(c flow.Ctx) error {
	p.Trace = nil
	return p.play(c, p.Prog)
}

func (p *Player) play(c flow.Ctx, prog []Stmt) error {
	for _, s := range prog {
		if err := p.step(c, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *Player) step(c flow.Ctx, s Stmt) error {
	key := fmt.Sprintf("%s-%d", s.Op, s.ID)
	switch s.Op {
	case "call":
		v, err := flow.Call(c, work, key, s.ID)
		p.note("%s: %d, %v", key, v, err)
	case "start":
		f := flow.Start(c, work, key, s.ID)
		if err := p.play(c, s.Body[0]); err != nil {
			return err
		}
		v, err := f.Get(c)
		p.note("%s: %d, %v", key, v, err)
	case "sleep":
		p.note("%s: %v", key, flow.Sleep(c, key, time.Duration(s.ID)*time.Second))
	case "receive":
		v, err := flow.Receive(c, flow.Signal[string]{Name: s.Name}, key)
		p.note("%s: %s, %v", key, v, err)
	case "now":
		p.note("%s: %s", key, flow.Now(c, key))
	case "select":
		return p.selects(c, s, key)
	case "group", "race":
		return p.fork(c, s, key)
	}
	return nil
}

func (p *Player) selects(c flow.Ctx, s Stmt, key string) error {
	f := flow.Start(c, work, key+"-call", s.ID)
	g := flow.Go(c, key+"-go", func(c flow.Ctx) error { return p.play(c, s.Body[0]) })
	i, err := flow.Select(c, key, flow.OnTimer(time.Second), flow.OnFuture(f), flow.OnFuture(g), flow.OnSignal(flow.Signal[string]{Name: s.Name}))
	p.note("%s: %d, %v", key, i, err)
	if i == 0 { // leave the branch running, to end with the run or not
		return err
	}
	_, err = g.Get(c)
	p.note("%s-go: %v", key, err)
	return err
}

func (p *Player) fork(c flow.Ctx, s Stmt, key string) error {
	members := make([]flow.Member, len(s.Body))
	for i, body := range s.Body {
		members[i] = flow.Member{Key: fmt.Sprint("m", i), Run: func(c flow.Ctx) error {
			defer p.note("%s: left %d", key, i)
			return p.play(c, body)
		}}
	}
	if s.Op == "group" {
		futures := make([]flow.Future[flow.None], len(members))
		for i, m := range members {
			futures[i] = flow.Go(c, key+"/"+m.Key, m.Run)
		}
		for i, f := range futures {
			_, err := f.Get(c)
			p.note("%s/%d: %v", key, i, err)
		}
		return nil
	}
	i, err := flow.Race(c, key, members...)
	p.note("%s: %d, %v", key, i, err)
	return nil
}

var work = flow.Activity[int, int]{Name: "work"}

// Work is the activities of programs.
func Work() *flow.Registry {
	reg := flow.NewRegistry()
	flow.Bind(reg, work, func(_ context.Context, _ agency.StepKey, in int) (int, error) {
		if in%5 == 0 {
			return 0, agency.Errorf(agency.KindConflict, "%d is a multiple of five", in)
		}
		return in * 10, nil
	})
	return reg
}

// Everything is a program with each primitive, nested.
func Everything() []Stmt {
	return []Stmt{
		{Op: "start", ID: 2, Body: [][]Stmt{{{Op: "sleep", ID: 3}, {Op: "receive", ID: 4, Name: "s"}}}},
		{Op: "group", ID: 5, Body: [][]Stmt{
			{{Op: "call", ID: 6}, {Op: "race", ID: 7, Body: [][]Stmt{{{Op: "sleep", ID: 8}}, {{Op: "call", ID: 9}}, {{Op: "receive", ID: 10, Name: "t"}}}}},
			{{Op: "select", ID: 11, Name: "s", Body: [][]Stmt{{{Op: "call", ID: 12}, {Op: "now", ID: 13}}}}, {Op: "call", ID: 15}},
		}},
		{Op: "receive", ID: 16, Name: "t"},
		{Op: "race", ID: 17, Body: [][]Stmt{
			{{Op: "group", ID: 18, Body: [][]Stmt{{{Op: "call", ID: 19}, {Op: "call", ID: 20}}, {{Op: "call", ID: 21}}}}},
			{{Op: "sleep", ID: 22}},
			{{Op: "call", ID: 23}, {Op: "call", ID: 24}},
		}},
	}
}
