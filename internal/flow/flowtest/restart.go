package flowtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var errCrash = errors.New("crash")

// crash is a process that dies at a write of its run: before it, or after it
// became durable but before the run learned of it.
type crash struct {
	at    int // the number of the write; -1: it lives
	after bool
	n     int
	dead  bool
}

func (c *crash) write(after bool) error {
	if c.dead {
		return errCrash
	}
	if after == c.after {
		if c.n == c.at {
			c.dead = true
			return errCrash
		}
		c.n++
	}
	return nil
}

// trial runs programs whose fate follows from a seed.
type trial struct {
	m    Machine
	seed uint64
}

type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (tr trial) run(run agency.RunID, main func(flow.Ctx) error, c *crash) error {
	e := tr.m.Engine(Options{
		Registry: Work(), Version: "v", Now: func() time.Time { return time.Unix(1e9, 0) }, Write: c.write, Fate: &tr.seed,
	})
	return e.Run(context.Background(), run, main, flow.Hooks{})
}

func (tr trial) undisturbed(t testingT, run agency.RunID, prog []Stmt) (history, trace []string, writes int) {
	t.Helper()
	p := &Player{Prog: prog}
	c := &crash{at: -1}
	if err := tr.run(run, p.Main, c); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	if err := tr.m.Replay("v", run, (&Player{Prog: prog}).Main); err != nil {
		t.Fatalf("replay: %v", err)
	}
	return tr.m.History(run), p.Trace, c.n
}

// disturbed runs with each of the given crashes, then to the end, and compares
// with the undisturbed run.
func (tr trial) disturbed(t testingT, run agency.RunID, prog []Stmt, crashes []crash, want, trace []string) {
	t.Helper()
	p := &Player{Prog: prog}
	for _, c := range crashes {
		if err := tr.run(run, p.Main, &c); err != nil && !errors.Is(err, errCrash) {
			t.Fatalf("crash at write %d (after: %v): %v", c.at, c.after, err)
		}
	}
	if err := tr.run(run, p.Main, &crash{at: -1}); err != nil {
		t.Fatalf("after crashes at %v: %v", crashes, err)
	}
	if diff := cmp.Diff(want, tr.m.History(run)); diff != "" {
		t.Fatalf("history after crashes at %v (-undisturbed +restarted):\n%s", crashes, diff)
	}
	if diff := cmp.Diff(trace, p.Trace); diff != "" {
		t.Fatalf("trace after crashes at %v (-undisturbed +restarted):\n%s", crashes, diff)
	}
}

func testRestartAnywhereRandom(t *testing.T, machine func(*testing.T) Machine) {
	tr := trial{m: machine(t)}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := 0
		prog := program(t, 2, &id)
		tr.seed = rapid.Uint64().Draw(t, "seed")
		want, trace, writes := tr.undisturbed(t, agency.RunID(fmt.Sprint("ref-", n)), prog)
		at := rapid.SliceOfN(rapid.IntRange(0, writes), 1, 3).Draw(t, "crash at write")
		after := rapid.SliceOfN(rapid.Bool(), len(at), len(at)).Draw(t, "after the write")
		crashes := make([]crash, len(at))
		for i := range at {
			crashes[i] = crash{at: at[i], after: after[i]}
		}
		tr.disturbed(t, agency.RunID(fmt.Sprint("run-", n)), prog, crashes, want, trace)
	})
}

func testRestartAtEveryWrite(t *testing.T, machine func(*testing.T) Machine) {
	for seed := range uint64(6) {
		tr := trial{m: machine(t), seed: seed}
		want, trace, writes := tr.undisturbed(t, "ref", Everything())
		for n := range writes {
			for _, after := range []bool{false, true} {
				run := agency.RunID(fmt.Sprintf("run-%d-%v", n, after))
				tr.disturbed(t, run, Everything(), []crash{{at: n, after: after}}, want, trace)
			}
		}
	}
}
