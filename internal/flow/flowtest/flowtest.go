// Package flowtest is the suite that every engine of flow passes: what a call,
// a branch and a signal promise, how a run ends, and that a run which is killed
// at any of its writes takes the same way as an undisturbed one.
package flowtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
)

// Machine is where runs are kept. Each engine that it makes is a new process
// over what the ones before have left.
type Machine interface {
	Engine(o Options) flow.Engine
	// History is a run's journal, a line each record; empty where there is none.
	History(run agency.RunID) []string
	// Replay repeats a run's history with main, without activities or time.
	Replay(version string, run agency.RunID, main func(flow.Ctx) error) error
}

// Options are what an engine is made with.
type Options struct {
	Registry *flow.Registry
	// Version names the code.
	Version string
	// Now is the wall clock; nil: the machine's.
	Now func() time.Time
	// Write, where set, is called before and after each durable write of a run's
	// progress. An error of it is the death of the process: the run ends with it.
	Write func(after bool) error
	// Fate, where set, is the seed from which it follows, with what the journal
	// holds, what comes next: a result, a timer that is due as soon as it is set,
	// or one of the signals "s" and "t", which come while somebody waits for them.
	// The order of time has no part in it.
	Fate *uint64
}

const testRun agency.RunID = "test-run"

var plus = flow.Activity[int, int]{Name: "plus"}

// rig is a machine with an engine, and an activity that adds one, counted.
type rig struct {
	*testing.T
	m     Machine
	e     flow.Engine
	reg   *flow.Registry
	calls atomic.Int64
}

type newRig func(*testing.T) *rig

// Run is the suite.
func Run(t *testing.T, machine func(*testing.T) Machine) {
	rigs := func(t *testing.T) *rig {
		r := &rig{T: t, m: machine(t), reg: flow.NewRegistry()}
		flow.Bind(r.reg, plus, func(_ context.Context, _ agency.StepKey, in int) (int, error) {
			r.calls.Add(1)
			return in + 1, nil
		})
		r.e = r.m.Engine(Options{Registry: r.reg, Version: "v1"})
		return r
	}
	for _, one := range []struct {
		name string
		test func(*testing.T, newRig)
	}{
		{"CallRunsOnce", testCallRunsOnce},
		{"ActivityErrors", testActivityErrors},
		{"PanicAndGoexitInterrupt", testPanicAndGoexitInterrupt},
		{"MainPanics", testMainPanics},
		{"Faults", testFaults},
		{"KeyUsedTwice", testKeyUsedTwice},
		{"BranchKeysAreUnique", testBranchKeysAreUnique},
		{"ForeignContext", testForeignContext},
		{"Deadlock", testDeadlock},
		{"CodeVersion", testCodeVersion},
		{"RaceCancelsTheOthers", testRaceCancelsTheOthers},
		{"SignalsInOrderAndOnce", testSignalsInOrderAndOnce},
		{"NowIsStable", testNowIsStable},
		{"OneRunAtATime", testOneRunAtATime},
		{"KeptResultIsNotPaidTwice", testKeptResultIsNotPaidTwice},
		{"DeleteRun", testDeleteRun},
		{"Quiet", testQuiet},
		{"StoppedWhileQuiet", testStoppedWhileQuiet},
		{"RestingIsQuiet", testRestingIsQuiet},
		{"EndingIsToldBeforeTheWait", testEndingIsToldBeforeTheWait},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, rigs) })
	}
	t.Run("RestartAnywhereRandom", func(t *testing.T) { testRestartAnywhereRandom(t, machine) })
	t.Run("RestartAtEveryWrite", func(t *testing.T) { testRestartAtEveryWrite(t, machine) })
}

func (r *rig) run(main func(flow.Ctx) error) error {
	r.Helper()
	return r.e.Run(r.Context(), testRun, main, flow.Hooks{})
}

func (r *rig) must(main func(flow.Ctx) error) {
	r.Helper()
	if err := r.run(main); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) send(name, id, payload string) {
	r.Helper()
	if err := r.e.Signal(r.Context(), testRun, name, id, []byte(payload)); err != nil {
		r.Fatal(err)
	}
}

func wantFault(t *testing.T, err error, words string) {
	t.Helper()
	var f *flow.Fault
	if !errors.As(err, &f) || !strings.Contains(f.Error(), words) {
		t.Fatalf("got %v, want a fault that says %q", err, words)
	}
}
