package check_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/sandbox"
	"agency/internal/slots"
	"agency/internal/store"
)

// meeting runs commands and sees whether two are ever there at once: each waits a moment
// for another one to come.
type meeting struct {
	check.Runner
	there atomic.Int32
	met   atomic.Bool
	both  chan struct{}
}

func (m *meeting) Run(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
	if m.there.Add(1) > 1 && m.met.CompareAndSwap(false, true) {
		close(m.both)
	}
	defer m.there.Add(-1)
	select {
	case <-m.both:
	case <-time.After(100 * time.Millisecond):
	}
	return m.Runner.Run(ctx, s)
}

// scarce has a world's commands need what their contracts are said to need.
func (w *world) scarce(counts map[string]int, needs map[agency.ContractID][]string) (*meeting, *slots.Pool) {
	w.t.Helper()
	m := &meeting{Runner: w.runner, both: make(chan struct{})}
	pool := slots.New(slots.Folder(w.t.TempDir()), counts)
	w.checker = check.New(check.Options{Runner: m, DB: w.db, LayerDir: w.layers, Contracts: check.Contracts{
		Slots: pool,
		Needs: func(_ context.Context, _ agency.RunID, id agency.ContractID, _ check.Command) ([]string, error) {
			return needs[id], nil
		},
	}})
	return m, pool
}

func (w *world) of(id agency.ContractID) check.Subject {
	s := w.subject("")
	s.Contract, s.Fresh = id, true
	return s
}

// Two contracts that need the one slot of a resource never run their commands at once;
// of two that need nothing both may.
func TestNeverAtOnce(t *testing.T) {
	t.Parallel()
	for name, needs := range map[string]map[agency.ContractID][]string{
		"one slot":  {"a": {"build"}, "b": {"gpu", "build"}},
		"no matter": {"a": {"gpu"}, "b": {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"x": ""})
			m, _ := w.scarce(map[string]int{"build": 1, "gpu": 1}, needs)
			var all sync.WaitGroup
			for id := range needs {
				all.Go(func() {
					for range 3 {
						if r, err := w.checker.Run(t.Context(), w.of(id), test("test -f x")); err != nil || !r.OK() {
							t.Error(r, err)
						}
					}
				})
			}
			all.Wait()
			if met := m.met.Load(); met != (name == "no matter") {
				t.Error("two commands at once:", met)
			}
		})
	}
}

// Waiting is told, takes no time of the command, and ends with the context.
func TestWaitsForResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"x": ""})
	_, pool := w.scarce(map[string]int{"gpu": 1}, map[agency.ContractID][]string{"a": {"gpu"}})
	held, err := pool.Take(t.Context(), []string{"gpu"}, slots.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := test("test -f x")
	cmd.Timeout = time.Second
	done := make(chan agency.Receipt)
	go func() {
		r, err := w.checker.Run(t.Context(), w.of("a"), cmd)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	for len(w.events("resource_waited")) == 0 {
		select {
		case r := <-done:
			t.Fatal("ran without what it needs:", r)
		case <-time.After(10 * time.Millisecond):
		}
	}
	held.Release()
	r := <-done
	taken := w.events("resource_taken")
	if len(taken) != 1 || !r.OK() {
		t.Fatal(taken, r)
	}
	d, err := agency.DecodeDetail(taken[0])
	if err != nil {
		t.Fatal(err)
	}
	if waited := d.(*agency.ResourceTaken).WaitedSeconds; waited < 1 || r.Duration > waited {
		t.Errorf("waited %v s, and the command took %v", waited, r.Duration)
	}
	if ev := w.events("resource_waited")[0]; ev.ContractID != "a" || !strings.Contains(ev.Summary, "waits for gpu (1 of 1 in use) for `test -f x`") {
		t.Error(ev)
	}

	if held, err = pool.Take(t.Context(), []string{"gpu"}, slots.Wait{}); err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the run is cancelled")
	cancel(gone)
	if _, err := w.checker.Run(ctx, w.of("a"), cmd); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func (w *world) events(kind agency.EventType) (out []agency.Event) {
	w.t.Helper()
	err := w.db.Read(w.t.Context(), func(q *store.Snapshot) error {
		all, err := event.Since(q, 0, event.Filter{Run: "run-1"}, 100)
		for _, ev := range all {
			if ev.Type == kind {
				out = append(out, ev)
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}
