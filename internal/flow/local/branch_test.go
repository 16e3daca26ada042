package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

func TestRaceCancelsTheOthers(t *testing.T) {
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
	hooks := Hooks{Quiet: func(q bool) {
		if q {
			select {
			case raced <- struct{}{}:
			default:
			}
		}
	}}
	r2 := agency.RunID("race-run")
	done := make(chan error, 1)
	go func() { done <- r.e.Run(context.Background(), r2, r.fence, main, hooks) }()
	<-raced
	err := r.db.Write(t.Context(), func(tx *store.Tx) error { return SendTo(tx, r2, flow.Signal[string]{Name: "s"}, "1", "hello") })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if stopped.Load() != 1 || unwound.Load() != 3 {
		t.Fatalf("%d activities stopped, %d branches unwound", stopped.Load(), unwound.Load())
	}
	if err := r.e.Run(t.Context(), r2, r.fence, main, Hooks{}); err != nil {
		t.Fatal(err)
	}
}

func TestGroupJoinsErrorsInOrder(t *testing.T) {
	r := newRig(t)
	err := r.run(func(c flow.Ctx) error {
		return flow.Group(c, "g",
			flow.Member{Key: "a", Run: func(c flow.Ctx) error {
				_, err := flow.Call(c, plus, "x", 1)
				return errors.Join(err, errors.New("one"))
			}},
			flow.Member{Key: "b", Run: func(flow.Ctx) error { return errors.New("two") }})
	})
	if err == nil || err.Error() != "one\ntwo" {
		t.Fatalf("got %v", err)
	}
}

func TestSignalsInOrderAndOnce(t *testing.T) {
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

func TestNowIsStable(t *testing.T) {
	r := newRig(t)
	var seen []time.Time
	main := func(c flow.Ctx) error { seen = append(seen, flow.Now(c, "t")); return nil }
	r.must(main)
	r.must(main)
	if !seen[0].Equal(seen[1]) || seen[0].Location() != time.UTC {
		t.Fatalf("%v", seen)
	}
}

func TestResultIsTheRedactedOne(t *testing.T) {
	r := newRig(t)
	r.db.SetRedact(func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "[redacted]")) })
	leak := flow.Activity[string, string]{Name: "leak"}
	flow.Bind(r.reg, leak, func(_ context.Context, _ agency.StepKey, in string) (string, error) {
		if in == "fail" {
			return "", agency.Errorf(agency.KindInvalid, "no hunter2").WithMend("use hunter2")
		}
		return "hunter2", nil
	})
	var seen []string
	main := func(c flow.Ctx) error {
		v, err := flow.Call(c, leak, "ok", "x")
		if err != nil {
			return err
		}
		_, err = flow.Call(c, leak, "bad", "fail")
		seen = append(seen, v, err.Error(), agency.MendOf(err))
		return nil
	}
	r.must(main)
	r.must(main)
	want := []string{"[redacted]", "no [redacted]", "use [redacted]"}
	if diff := cmp.Diff(append(want, want...), seen); diff != "" {
		t.Fatal(diff)
	}
}

func TestLargeResultsAreBlobs(t *testing.T) {
	r := newRig(t)
	big := flow.Activity[flow.None, string]{Name: "big"}
	flow.Bind(r.reg, big, func(context.Context, agency.StepKey, flow.None) (string, error) {
		return strings.Repeat("large ", 100_000), nil
	})
	main := func(c flow.Ctx) error {
		v, err := flow.Call(c, big, "k", flow.None{})
		if len(v) != 600_000 {
			return fmt.Errorf("%d bytes, %w", len(v), err)
		}
		return nil
	}
	r.must(main)
	r.must(main)
}

func TestSupersededHostCannotWrite(t *testing.T) {
	r := newRig(t)
	steal := flow.Activity[flow.None, flow.None]{Name: "steal"}
	flow.Bind(r.reg, steal, func(ctx context.Context, key agency.StepKey, _ flow.None) (flow.None, error) {
		if s := flow.ScopeOf(ctx); s.Run != testRun || s.Key != key || s.Fence != r.fence {
			return flow.None{}, agency.Errorf(agency.KindInvalid, "scope %+v", s)
		}
		_, err := r.db.RaiseEpoch(ctx)
		return flow.None{}, err
	})
	main := func(c flow.Ctx) error { _, err := flow.Call(c, steal, "k", flow.None{}); return err }
	err := r.run(main)
	if !errors.Is(err, store.ErrFenced) || agency.KindOf(err) != agency.KindDenied {
		t.Fatalf("got %v", err)
	}
	if h := r.history(); h[len(h)-1].Kind != KindCall {
		t.Fatalf("a superseded host has written %v", h[len(h)-1])
	}
}

func TestOneRunAtATime(t *testing.T) {
	r := newRig(t)
	err := r.run(func(c flow.Ctx) error {
		if err := r.run(func(flow.Ctx) error { return nil }); agency.KindOf(err) != agency.KindConflict {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestKeptResultIsNotPaidTwice(t *testing.T) {
	r := newRig(t)
	entered := make(chan struct{})
	slow := flow.Activity[flow.None, int]{Name: "slow"}
	bad := flow.Activity[flow.None, int]{Name: "bad"}
	ran := 0
	flow.Bind(r.reg, slow, func(ctx context.Context, _ agency.StepKey, _ flow.None) (int, error) {
		ran++
		close(entered)
		<-ctx.Done() // told to stop, it ends with its result nevertheless
		return 7, nil
	})
	fails := true
	flow.Bind(r.reg, bad, func(context.Context, agency.StepKey, flow.None) (int, error) {
		<-entered
		if fails {
			return 0, agency.Errorf(agency.KindTransient, "down")
		}
		return 1, nil
	})
	main := func(c flow.Ctx) error {
		f := flow.Start(c, slow, "slow", flow.None{})
		if _, err := flow.Call(c, bad, "bad", flow.None{}); err != nil {
			return err
		}
		v, err := f.Get(c)
		if v != 7 {
			return fmt.Errorf("got %d, %w", v, err)
		}
		return nil
	}
	if err := r.run(main); agency.KindOf(err) != agency.KindTransient {
		t.Fatalf("got %v", err)
	}
	fails = false
	r.must(main)
	if ran != 1 {
		t.Fatalf("a finished step ran %d times", ran)
	}
}

func TestDeleteRun(t *testing.T) {
	r := newRig(t)
	main := func(c flow.Ctx) error { _, err := flow.Call(c, plus, "a", 1); return err }
	r.must(main)
	err := r.db.Write(t.Context(), func(tx *store.Tx) error { return DeleteRun(tx, testRun) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadHistory(t.Context(), r.db, testRun)
	if agency.KindOf(err) != agency.KindNotFound {
		t.Fatalf("got %v", err)
	}
	r.must(main)
	if n := r.calls.Load(); n != 2 {
		t.Fatalf("%d executions", n)
	}
}
