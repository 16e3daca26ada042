package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// stmt is one statement of a random program.
type stmt struct {
	Op   string // call, start, sleep, select, receive, group, race, now, version
	ID   int
	Name string // of a signal
	Body [][]stmt
}

// program draws a program; ids make its keys unique.
func program(t *rapid.T, depth int, next *int) []stmt {
	ops := []string{"call", "sleep", "receive", "now", "version", "call"}
	if depth > 0 {
		ops = append(ops, "start", "select", "group", "race", "select", "race")
	}
	out := make([]stmt, rapid.IntRange(1, 4).Draw(t, "statements"))
	for i := range out {
		*next++
		s := stmt{Op: rapid.SampledFrom(ops).Draw(t, "op"), ID: *next, Name: rapid.SampledFrom([]string{"s", "t"}).Draw(t, "signal")}
		bodies := map[string]int{"start": 1, "select": 1, "group": 2, "race": 3}[s.Op]
		for range bodies {
			s.Body = append(s.Body, program(t, depth-1, next))
		}
		out[i] = s
	}
	return out
}

// player interprets a program and notes all it sees.
type player struct {
	prog  []stmt
	trace []string
}

func (p *player) note(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

func (p *player) main(c flow.Ctx) error {
	p.trace = nil
	return p.play(c, p.prog)
}

func (p *player) play(c flow.Ctx, prog []stmt) error {
	for _, s := range prog {
		if err := p.step(c, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) step(c flow.Ctx, s stmt) error {
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
	case "version":
		p.note("%s: %d", key, flow.Version(c, fmt.Sprintf("v%d", s.ID%3), 2))
	case "select":
		return p.selects(c, s, key)
	case "group", "race":
		return p.fork(c, s, key)
	}
	return nil
}

func (p *player) selects(c flow.Ctx, s stmt, key string) error {
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

func (p *player) fork(c flow.Ctx, s stmt, key string) error {
	members := make([]flow.Member, len(s.Body))
	for i, body := range s.Body {
		members[i] = flow.Member{Key: fmt.Sprint("m", i), Run: func(c flow.Ctx) error {
			defer p.note("%s: left %d", key, i)
			return p.play(c, body)
		}}
	}
	if s.Op == "group" {
		err := flow.Group(c, key, members...)
		p.note("%s: %v", key, err)
		return nil
	}
	i, err := flow.Race(c, key, members...)
	p.note("%s: %d, %v", key, i, err)
	return nil
}

var work = flow.Activity[int, int]{Name: "work"}

func workRegistry() *flow.Registry {
	reg := flow.NewRegistry()
	flow.Bind(reg, work, func(_ context.Context, _ agency.StepKey, in int) (int, error) {
		if in%5 == 0 {
			return 0, agency.Errorf(agency.KindConflict, "%d is a multiple of five", in)
		}
		return in * 10, nil
	})
	return reg
}

// fate picks the next event from what the journal holds and a seed, never
// from time, so that an undisturbed and a restarted run meet the same fate.
func fate(seed uint64) func(*execution) (event, bool) {
	return func(x *execution) (event, bool) {
		awaitActivities(x)
		x.inbox.mu.Lock()
		defer x.inbox.mu.Unlock()
		slices.SortFunc(x.inbox.events, func(a, b event) int { return cmp.Compare(a.h.key, b.h.key) })
		options := slices.Clone(x.inbox.events)
		for _, h := range x.sortedTimers() {
			options = append(options, event{h: h, fired: true})
		}
		for _, name := range []string{"s", "t"} {
			if len(x.receivers[name])+len(x.peekers[name]) > 0 {
				id := fmt.Sprint(name, len(x.delivered))
				options = append(options, event{signal: &Record{Kind: KindSignal, Key: id, Name: name, Data: []byte(`"` + id + `"`)}})
			}
		}
		if len(options) == 0 {
			return event{}, false
		}
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, seed, x.seq) // a hash never fails
		i := int(h.Sum64() % uint64(len(options)))
		if i < len(x.inbox.events) {
			x.inbox.events = slices.Delete(x.inbox.events, i, i+1)
		}
		return options[i], true
	}
}

func awaitActivities(x *execution) {
	for {
		x.inbox.mu.Lock()
		n := len(x.inbox.events)
		x.inbox.mu.Unlock()
		if n == x.inflight {
			return
		}
		<-x.inbox.notify
	}
}

var errCrash = errors.New("crash")

// crashes makes an engine whose journal dies at a write: before it, or after
// it became durable but before the run learned of it.
func crashes(e *Engine, at int, after bool) (writes *int) {
	n, dead := 0, false
	hook := func(here bool) func() error {
		return func() error {
			if dead {
				return errCrash
			}
			if here == after {
				if n == at {
					dead = true
					return errCrash
				}
				n++
			}
			return nil
		}
	}
	e.seams.beforeWrite, e.seams.afterWrite = hook(false), hook(true)
	return &n
}

type trial struct {
	db    *store.DB
	reg   *flow.Registry
	seed  uint64
	fence agency.Fence
}

func (tr trial) engine() *Engine {
	e := New(Options{DB: tr.db, Registry: tr.reg, Version: "v", Now: func() time.Time { return time.Unix(1e9, 0) }})
	e.seams.choose = fate(tr.seed)
	return e
}

type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (tr trial) undisturbed(t testingT, run agency.RunID, prog []stmt) (h []Record, trace []string, writes int) {
	t.Helper()
	p := &player{prog: prog}
	e := tr.engine()
	n := crashes(e, -1, false)
	if err := e.Run(context.Background(), run, tr.fence, p.main, Hooks{}); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	hist, err := ReadHistory(context.Background(), tr.db, run)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := Replay(context.Background(), "v", hist, (&player{prog: prog}).main); err != nil {
		t.Fatalf("replay: %v", err)
	}
	return hist.Records, p.trace, *n
}

// disturbed runs with a crash at each of the given writes, then to the end,
// and compares with the undisturbed run.
func (tr trial) disturbed(t testingT, run agency.RunID, prog []stmt, at []int, after []bool, want []Record, trace []string) {
	t.Helper()
	p := &player{prog: prog}
	for i, n := range at {
		e := tr.engine()
		crashes(e, n, after[i])
		err := e.Run(context.Background(), run, tr.fence, p.main, Hooks{})
		if err != nil && !errors.Is(err, errCrash) {
			t.Fatalf("crash %d at write %d (after: %v): %v", i, n, after[i], err)
		}
	}
	if err := tr.engine().Run(context.Background(), run, tr.fence, p.main, Hooks{}); err != nil {
		t.Fatalf("after crashes at %v %v: %v", at, after, err)
	}
	hist, err := ReadHistory(context.Background(), tr.db, run)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := gocmp.Diff(want, hist.Records); diff != "" {
		t.Fatalf("history after crashes at %v %v (-undisturbed +restarted):\n%s", at, after, diff)
	}
	if diff := gocmp.Diff(trace, p.trace); diff != "" {
		t.Fatalf("trace after crashes at %v %v (-undisturbed +restarted):\n%s", at, after, diff)
	}
}

func newTrial(t *testing.T, seed uint64) trial {
	return trial{db: openStore(t, store.Options{}), reg: workRegistry(), seed: seed}
}

func TestRestartAnywhereRandom(t *testing.T) {
	tr := newTrial(t, 0)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := 0
		prog := program(t, 2, &id)
		tr.seed = rapid.Uint64().Draw(t, "seed")
		want, trace, writes := tr.undisturbed(t, agency.RunID(fmt.Sprint("ref-", n)), prog)
		at := rapid.SliceOfN(rapid.IntRange(0, writes), 1, 3).Draw(t, "crash at write")
		after := rapid.SliceOfN(rapid.Bool(), len(at), len(at)).Draw(t, "after the write")
		tr.disturbed(t, agency.RunID(fmt.Sprint("run-", n)), prog, at, after, want, trace)
	})
}

// everything is a program with each primitive, nested.
var everything = []stmt{
	{Op: "version", ID: 1},
	{Op: "start", ID: 2, Body: [][]stmt{{{Op: "sleep", ID: 3}, {Op: "receive", ID: 4, Name: "s"}}}},
	{Op: "group", ID: 5, Body: [][]stmt{
		{{Op: "call", ID: 6}, {Op: "race", ID: 7, Body: [][]stmt{{{Op: "sleep", ID: 8}}, {{Op: "call", ID: 9}}, {{Op: "receive", ID: 10, Name: "t"}}}}},
		{{Op: "select", ID: 11, Name: "s", Body: [][]stmt{{{Op: "call", ID: 12}, {Op: "now", ID: 13}}}}, {Op: "call", ID: 15}},
	}},
	{Op: "receive", ID: 16, Name: "t"},
	{Op: "race", ID: 17, Body: [][]stmt{
		{{Op: "group", ID: 18, Body: [][]stmt{{{Op: "call", ID: 19}, {Op: "call", ID: 20}}, {{Op: "call", ID: 21}}}}},
		{{Op: "sleep", ID: 22}},
		{{Op: "call", ID: 23}, {Op: "call", ID: 24}},
	}},
}

func TestRestartAtEveryWrite(t *testing.T) {
	for seed := range uint64(6) {
		tr := newTrial(t, seed)
		want, trace, writes := tr.undisturbed(t, "ref", everything)
		for n := range writes {
			for _, after := range []bool{false, true} {
				run := agency.RunID(fmt.Sprintf("run-%d-%v", n, after))
				tr.disturbed(t, run, everything, []int{n}, []bool{after}, want, trace)
			}
		}
	}
}
