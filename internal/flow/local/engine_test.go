package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testRun agency.RunID = "test-run"

// rig is a store with an engine and an activity that adds one, counted.
type rig struct {
	*testing.T
	db    *store.DB
	e     *Engine
	reg   *flow.Registry
	calls atomic.Int64
	fence agency.Fence
}

var plus = flow.Activity[int, int]{Name: "plus"}

func openStore(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "s.db")
	}
	o.Sets = []store.Set{Migrations()}
	db, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, db: openStore(t, store.Options{}), reg: flow.NewRegistry()}
	epoch, err := r.db.RaiseEpoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.fence = agency.Fence{Epoch: epoch, N: 1}
	flow.Bind(r.reg, plus, func(_ context.Context, _ agency.StepKey, in int) (int, error) {
		r.calls.Add(1)
		return in + 1, nil
	})
	r.e = New(Options{DB: r.db, Registry: r.reg, Version: "v1"})
	return r
}

func (r *rig) run(main func(flow.Ctx) error) error {
	r.Helper()
	return r.e.Run(r.Context(), testRun, r.fence, main, Hooks{})
}

func (r *rig) must(main func(flow.Ctx) error) {
	r.Helper()
	if err := r.run(main); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) send(name, id, payload string) {
	r.Helper()
	err := r.db.Write(r.Context(), func(tx *store.Tx) error { return Send(tx, testRun, name, id, []byte(payload)) })
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) history() []Record {
	r.Helper()
	h, err := ReadHistory(r.Context(), r.db, testRun)
	if err != nil {
		r.Fatal(err)
	}
	return h.Records
}

func wantFault(t *testing.T, err error, words string) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || !strings.Contains(f.Error(), words) {
		t.Fatalf("got %v, want a fault that says %q", err, words)
	}
}

func TestCallRunsOnce(t *testing.T) {
	r := newRig(t)
	main := func(c flow.Ctx) error {
		v, err := flow.Call(c, plus, "a", 1)
		if err != nil || v != 2 {
			return fmt.Errorf("got %d, %w", v, err)
		}
		v, err = flow.Call(c, plus, "b", v)
		if err != nil || v != 3 {
			return fmt.Errorf("got %d, %w", v, err)
		}
		return nil
	}
	for range 3 {
		r.must(main)
	}
	if n := r.calls.Load(); n != 2 {
		t.Fatalf("%d executions of 2 steps", n)
	}
}

func TestActivityErrors(t *testing.T) {
	for _, kind := range []agency.Kind{
		agency.KindInternal, agency.KindInvalid, agency.KindNotFound, agency.KindConflict,
		agency.KindDenied, agency.KindExhausted, agency.KindTransient,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig(t)
			tries := 0
			bad := flow.Activity[flow.None, int]{Name: "bad"}
			flow.Bind(r.reg, bad, func(context.Context, agency.StepKey, flow.None) (int, error) {
				tries++
				return 0, agency.Errorf(kind, "no luck").WithMend("try harder")
			})
			var seen error
			main := func(c flow.Ctx) error {
				_, seen = flow.Call(c, bad, "k", flow.None{})
				return nil
			}
			first := r.run(main)
			second := r.run(main)
			var i *Interrupt
			if kind == agency.KindTransient {
				if !errors.As(first, &i) || !errors.As(second, &i) || tries != 2 || i.Key != "test-run/k" || agency.MendOf(second) != "try harder" {
					t.Fatalf("%v, %v, %d tries", first, second, tries)
				}
				return
			}
			if first != nil || second != nil || tries != 1 {
				t.Fatalf("%v, %v, %d tries", first, second, tries)
			}
			if agency.KindOf(seen) != kind || seen.Error() != "no luck" || agency.MendOf(seen) != "try harder" {
				t.Fatalf("replayed error %#v", seen)
			}
		})
	}
}

func TestPanicAndGoexitInterrupt(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "goexit": func() { goexit() }} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			mended := false
			act := flow.Activity[flow.None, flow.None]{Name: "act"}
			flow.Bind(r.reg, act, func(context.Context, agency.StepKey, flow.None) (flow.None, error) {
				if !mended {
					end()
				}
				return flow.None{}, nil
			})
			main := func(c flow.Ctx) error {
				_, err := flow.Call(c, act, "k", flow.None{})
				return err
			}
			var i *Interrupt
			if err := r.run(main); !errors.As(err, &i) || !errors.Is(err, flow.ErrPanic) {
				t.Fatalf("got %v", err)
			}
			mended = true
			r.must(main)
		})
	}
}

func TestMainPanics(t *testing.T) {
	r := newRig(t)
	bad := true
	main := func(c flow.Ctx) error {
		if _, err := flow.Call(c, plus, "a", 1); err != nil {
			return err
		}
		if bad {
			panic("boom")
		}
		return nil
	}
	if err := r.run(main); err == nil || agency.KindOf(err) != agency.KindInternal {
		t.Fatalf("got %v", err)
	}
	bad = false
	r.must(main)
	if r.calls.Load() != 1 {
		t.Fatalf("the result before the panic was lost: %d executions", r.calls.Load())
	}
}

func TestFaults(t *testing.T) {
	first := func(c flow.Ctx) error {
		f := flow.Start(c, plus, "a", 1)
		if err := flow.Sleep(c, "nap", time.Millisecond); err != nil {
			return err
		}
		_, err := f.Get(c)
		return err
	}
	tests := []struct {
		name, words string
		second      func(flow.Ctx) error
	}{
		{"other input", "another input", func(c flow.Ctx) error { _, err := flow.Call(c, plus, "a", 2); return err }},
		{"other key", `call "b"`, func(c flow.Ctx) error { _, err := flow.Call(c, plus, "b", 1); return err }},
		{"other primitive", "now", func(c flow.Ctx) error { flow.Now(c, "a"); return nil }},
		{"less", "the code does end", func(c flow.Ctx) error { flow.Start(c, plus, "a", 1); return nil }},
		{"missing command", "which the code does not do", func(c flow.Ctx) error { _, err := flow.Call(c, plus, "a", 1); return err }},
		{"more", "where the journal has", func(c flow.Ctx) error {
			if err := first(c); err != nil {
				return err
			}
			_, err := flow.Call(c, plus, "z", 1)
			return err
		}},
		{"other timer", "another input", func(c flow.Ctx) error {
			flow.Start(c, plus, "a", 1)
			return flow.Sleep(c, "nap", time.Second)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.must(first)
			before := r.history()
			wantFault(t, r.run(tt.second), tt.words)
			if diff := cmp.Diff(before, r.history()); diff != "" {
				t.Fatalf("a fault changed the journal:\n%s", diff)
			}
			r.must(first)
		})
	}
}

func TestKeyUsedTwice(t *testing.T) {
	r := newRig(t)
	wantFault(t, r.run(func(c flow.Ctx) error {
		flow.Start(c, plus, "a", 1)
		flow.Start(c, plus, "a", 1)
		return nil
	}), "used twice")
}

func TestBranchKeysAreUnique(t *testing.T) {
	r := newRig(t)
	wantFault(t, r.run(func(c flow.Ctx) error {
		f := flow.Go(c, "ws", func(c flow.Ctx) error { _, err := flow.Call(c, plus, "x", 1); return err })
		flow.Start(c, plus, "ws/x", 1)
		_, err := f.Get(c)
		return err
	}), "used twice")
}

func TestForeignContext(t *testing.T) {
	r := newRig(t)
	wantFault(t, r.run(func(outer flow.Ctx) error {
		_, err := flow.Go(outer, "b", func(flow.Ctx) error {
			_, err := flow.Call(outer, plus, "x", 1)
			return err
		}).Get(outer)
		return err
	}), "used in another branch")
}

func TestDeadlock(t *testing.T) {
	r := newRig(t)
	wantFault(t, r.run(func(c flow.Ctx) error {
		var f flow.Future[flow.None]
		f = flow.Go(c, "self", func(c flow.Ctx) error { _, err := f.Get(c); return err })
		_, err := f.Get(c)
		return err
	}), "waits for another")
}

// A step that ends because the run is stopped says the stop's cause, also where
// its end is seen before the stop.
func TestStopIsNoInterrupt(t *testing.T) {
	r := newRig(t)
	stop := errors.New("stop here")
	ctx, cancel := context.WithCancelCause(t.Context())
	hold := flow.Activity[flow.None, flow.None]{Name: "hold"}
	flow.Bind(r.reg, hold, func(ctx context.Context, _ agency.StepKey, _ flow.None) (flow.None, error) {
		cancel(stop)
		<-ctx.Done()
		return flow.None{}, ctx.Err()
	})
	r.e.seams.choose = func(x *execution) (event, bool) {
		for {
			if ev, ok, _ := x.inbox.take(); ok {
				return ev, true
			}
			<-x.inbox.notify
		}
	}
	err := r.e.Run(ctx, testRun, r.fence, func(c flow.Ctx) error {
		_, err := flow.Call(c, hold, "hold", flow.None{})
		return err
	}, Hooks{})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestCodeVersion(t *testing.T) {
	r := newRig(t)
	stop := errors.New("stop here")
	ctx, cancel := context.WithCancelCause(t.Context())
	hold := flow.Activity[flow.None, flow.None]{Name: "hold"}
	first := true
	flow.Bind(r.reg, hold, func(ctx context.Context, _ agency.StepKey, _ flow.None) (flow.None, error) {
		if first {
			first = false
			cancel(stop)
			<-ctx.Done()
			return flow.None{}, ctx.Err()
		}
		return flow.None{}, nil
	})
	versions := func(out *int) func(flow.Ctx) error {
		return func(c flow.Ctx) error {
			*out = flow.Version(c, "change", 1)
			if _, err := flow.Call(c, hold, "hold", flow.None{}); err != nil {
				return err
			}
			if v := flow.Version(c, "later", 3); v != 3 {
				return fmt.Errorf("a change reached live: version %d", v)
			}
			return nil
		}
	}
	old := func(c flow.Ctx) error {
		_, err := flow.Call(c, hold, "hold", flow.None{})
		return err
	}
	if err := r.e.Run(ctx, testRun, r.fence, old, Hooks{}); !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	v2 := New(Options{DB: r.db, Registry: r.reg, Version: "v2"})
	err := v2.Run(t.Context(), testRun, r.fence, func(c flow.Ctx) error { flow.Now(c, "other"); return nil }, Hooks{})
	wantFault(t, err, "recorded by version v1, this is version v2")
	got := -1
	for range 2 { // goes on, then repeats
		if err := v2.Run(t.Context(), testRun, r.fence, versions(&got), Hooks{}); err != nil {
			t.Fatal(err)
		}
		if got != 0 {
			t.Fatalf("a run that had passed the change got version %d", got)
		}
	}
	if err := v2.Run(t.Context(), "fresh-run", r.fence, versions(&got), Hooks{}); err != nil || got != 1 {
		t.Fatalf("a fresh run got version %d, %v", got, err)
	}
}
