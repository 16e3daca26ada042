package flowtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
)

func testRaceCancelsTheOthers(t *testing.T, newRig newRig) {
	r := newRig(t)
	var stopped, unwound atomic.Int64
	hold := flow.Activity[flow.None, flow.None]{Name: "hold"}
	flow.Bind(r.reg, hold, func(ctx context.Context, _ agency.StepKey, _ flow.None) (flow.None, error) {
		<-ctx.Done()
		stopped.Add(1)
		return flow.None{}, ctx.Err()
	})
	main := func(c flow.Ctx) error {
		slow := func(c flow.Ctx) error {
			defer unwound.Add(1)
			_, err := flow.Go(c, "inner", func(c flow.Ctx) error {
				defer unwound.Add(1)
				_, err := flow.Call(c, hold, "hold", flow.None{})
				return err
			}).Get(c)
			return fmt.Errorf("went on after being cancelled: %w", err)
		}
		i, err := flow.Race(c, "race",
			flow.Member{Key: "slow", Run: slow},
			flow.Member{Key: "quick", Run: func(c flow.Ctx) error { _, err := flow.Call(c, plus, "p", 1); return err }},
			flow.Member{Key: "signal", Run: func(c flow.Ctx) error {
				defer unwound.Add(1)
				_, err := flow.Receive(c, flow.Signal[string]{Name: "s"}, "s")
				return err
			}})
		if i != 1 || err != nil {
			return fmt.Errorf("race: %d, %w", i, err)
		}
		got, err := flow.Receive(c, flow.Signal[string]{Name: "s"}, "after") // not eaten by the cancelled member
		if err != nil || got != "hello" {
			return fmt.Errorf("receive: %q, %w", got, err)
		}
		return nil
	}
	raced := make(chan struct{}, 1)
	hooks := flow.Hooks{Quiet: func(q bool) {
		if q {
			select {
			case raced <- struct{}{}:
			default:
			}
		}
	}}
	r2 := agency.RunID("race-run")
	done := make(chan error, 1)
	go func() { done <- r.e.Run(context.Background(), r2, main, hooks) }()
	<-raced
	err := r.e.Signal(t.Context(), r2, "s", "1", []byte(`"hello"`))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if stopped.Load() != 1 || unwound.Load() != 3 {
		t.Fatalf("%d activities stopped, %d branches unwound", stopped.Load(), unwound.Load())
	}
	if err := r.e.Run(t.Context(), r2, main, flow.Hooks{}); err != nil {
		t.Fatal(err)
	}
}

func testSignalsInOrderAndOnce(t *testing.T, newRig newRig) {
	r := newRig(t)
	s := flow.Signal[int]{Name: "n"}
	for i := range 3 {
		r.send("n", fmt.Sprint(i), fmt.Sprint(i))
		r.send("n", fmt.Sprint(i), "99") // the id again: nothing
	}
	main := func(c flow.Ctx) error {
		for i := range 3 {
			n, err := flow.Select(c, fmt.Sprintf("sel%d", i), flow.OnTimer(time.Hour), flow.OnSignal(s))
			if err != nil || n != 1 {
				return fmt.Errorf("select %d, %w", n, err)
			}
			v, err := flow.Receive(c, s, fmt.Sprintf("recv%d", i))
			if err != nil || v != i {
				return fmt.Errorf("signal %d: got %d, %w", i, v, err)
			}
		}
		n, err := flow.Select(c, "none", flow.OnSignal(s), flow.OnTimer(0))
		if err != nil || n != 1 {
			return fmt.Errorf("a signal that was taken is ready again: %d, %w", n, err)
		}
		return nil
	}
	r.must(main)
	r.must(main)
}

func testNowIsStable(t *testing.T, newRig newRig) {
	r := newRig(t)
	var seen []time.Time
	main := func(c flow.Ctx) error { seen = append(seen, flow.Now(c, "t")); return nil }
	r.must(main)
	r.must(main)
	if !seen[0].Equal(seen[1]) || seen[0].Location() != time.UTC {
		t.Fatalf("%v", seen)
	}
}
