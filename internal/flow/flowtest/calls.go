package flowtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/flow"
)

func testCallRunsOnce(t *testing.T, newRig newRig) {
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

func testActivityErrors(t *testing.T, newRig newRig) {
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
			var i *flow.Interrupt
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

func testPanicAndGoexitInterrupt(t *testing.T, newRig newRig) {
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "goexit": func() { runtime.Goexit() }} {
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
			var i *flow.Interrupt
			if err := r.run(main); !errors.As(err, &i) || !errors.Is(err, flow.ErrPanic) {
				t.Fatalf("got %v", err)
			}
			mended = true
			r.must(main)
		})
	}
}

func testMainPanics(t *testing.T, newRig newRig) {
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

func testFaults(t *testing.T, newRig newRig) {
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
			before := r.m.History(testRun)
			wantFault(t, r.run(tt.second), tt.words)
			if diff := cmp.Diff(before, r.m.History(testRun)); diff != "" {
				t.Fatalf("a fault changed the journal:\n%s", diff)
			}
			r.must(first)
		})
	}
}

func testKeyUsedTwice(t *testing.T, newRig newRig) {
	r := newRig(t)
	wantFault(t, r.run(func(c flow.Ctx) error {
		flow.Start(c, plus, "a", 1)
		flow.Start(c, plus, "a", 1)
		return nil
	}), "used twice")
}

func testBranchKeysAreUnique(t *testing.T, newRig newRig) {
	r := newRig(t)
	wantFault(t, r.run(func(c flow.Ctx) error {
		f := flow.Go(c, "ws", func(c flow.Ctx) error { _, err := flow.Call(c, plus, "x", 1); return err })
		flow.Start(c, plus, "ws/x", 1)
		_, err := f.Get(c)
		return err
	}), "used twice")
}

func testForeignContext(t *testing.T, newRig newRig) {
	r := newRig(t)
	wantFault(t, r.run(func(outer flow.Ctx) error {
		_, err := flow.Go(outer, "b", func(flow.Ctx) error {
			_, err := flow.Call(outer, plus, "x", 1)
			return err
		}).Get(outer)
		return err
	}), "used in another branch")
}

func testDeadlock(t *testing.T, newRig newRig) {
	r := newRig(t)
	wantFault(t, r.run(func(c flow.Ctx) error {
		var f flow.Future[flow.None]
		f = flow.Go(c, "self", func(c flow.Ctx) error { _, err := f.Get(c); return err })
		_, err := f.Get(c)
		return err
	}), "waits for another")
}

func testCodeVersion(t *testing.T, newRig newRig) {
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
	main := func(c flow.Ctx) error {
		_, err := flow.Call(c, hold, "hold", flow.None{})
		return err
	}
	if err := r.e.Run(ctx, testRun, main, flow.Hooks{}); !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	v2 := r.m.Engine(Options{Registry: r.reg, Version: "v2"})
	err := v2.Run(t.Context(), testRun, func(c flow.Ctx) error { flow.Now(c, "other"); return nil }, flow.Hooks{})
	wantFault(t, err, "recorded by version v1, this is version v2")
	if err := v2.Run(t.Context(), testRun, main, flow.Hooks{}); err != nil {
		t.Fatal(err)
	}
}
