package flowtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
)

func testOneRunAtATime(t *testing.T, newRig newRig) {
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

func testKeptResultIsNotPaidTwice(t *testing.T, newRig newRig) {
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

func testDeleteRun(t *testing.T, newRig newRig) {
	r := newRig(t)
	main := func(c flow.Ctx) error { _, err := flow.Call(c, plus, "a", 1); return err }
	r.must(main)
	err := r.e.Delete(t.Context(), testRun)
	if err != nil {
		t.Fatal(err)
	}
	if left := r.m.History(testRun); len(left) != 0 {
		t.Fatalf("left: %q", left)
	}
	r.must(main)
	if n := r.calls.Load(); n != 2 {
		t.Fatalf("%d executions", n)
	}
}

func testQuiet(t *testing.T, newRig newRig) {
	r := newRig(t)
	quiet := make(chan bool, 10)
	release := make(chan struct{})
	hold := flow.Activity[flow.None, flow.None]{Name: "hold"}
	flow.Bind(r.reg, hold, holdFor(release))
	ended := make(chan error, 1)
	go func() {
		ended <- r.e.Run(context.Background(), testRun, func(c flow.Ctx) error {
			if _, err := flow.Receive(c, flow.Signal[int]{Name: "go"}, "go"); err != nil {
				return err
			}
			_, err := flow.Call(c, hold, "hold", flow.None{})
			return err
		}, flow.Hooks{Quiet: func(q bool) { quiet <- q }})
	}()
	if q := <-quiet; !q {
		t.Fatal("waiting for a signal is not quiet")
	}
	r.send("go", "1", "1")
	if q := <-quiet; q {
		t.Fatal("still quiet at work")
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(quiet) != 0 {
		t.Fatalf("quiet while an activity was at work: %v", <-quiet)
	}
}

// A run whose activity rests is quiet until it works again; one that is stopped meanwhile
// stays so.
func testRestingIsQuiet(t *testing.T, newRig newRig) {
	for _, stopped := range []bool{false, true} {
		r := newRig(t)
		goOn, quiet := make(chan struct{}), make(chan bool, 10)
		rest := flow.Activity[flow.None, flow.None]{Name: "rest"}
		flow.Bind(r.reg, rest, func(ctx context.Context, _ agency.StepKey, _ flow.None) (flow.None, error) {
			work := flow.Rest(ctx)
			select {
			case <-goOn:
				work()
			case <-ctx.Done():
			}
			return flow.None{}, ctx.Err()
		})
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- r.e.Run(ctx, testRun, func(c flow.Ctx) error {
				_, err := flow.Call(c, rest, "rest", flow.None{})
				return err
			}, flow.Hooks{Quiet: func(q bool) { quiet <- q }})
		}()
		if q := <-quiet; !q {
			t.Fatal("an activity that rests is not quiet")
		}
		if stopped {
			stop()
		} else {
			close(goOn)
		}
		err := <-ended
		stop()
		close(quiet)
		if (err != nil) != stopped {
			t.Fatal(err)
		}
		told := 0
		for q := range quiet {
			if told++; stopped || q {
				t.Fatalf("told %t after it was quiet; stopped: %t", q, stopped)
			}
		}
		if !stopped && told == 0 {
			t.Fatal("it works again, and nobody was told")
		}
	}
}

// A host that leaves while a run waits must still see it waiting.
func testStoppedWhileQuiet(t *testing.T, newRig newRig) {
	r := newRig(t)
	ctx, stop := context.WithCancel(context.Background())
	var last []bool
	err := r.e.Run(ctx, testRun, func(c flow.Ctx) error {
		_, err := flow.Receive(c, flow.Signal[int]{Name: "go"}, "go")
		return err
	}, flow.Hooks{Quiet: func(q bool) {
		last = append(last, q)
		stop()
	}})
	if err == nil {
		t.Fatal("the stopped run says that it has ended")
	}
	if len(last) != 1 || !last[0] {
		t.Fatalf("quiet was told %v", last)
	}
}

// A run that has stopped says so before it waits for what still runs: from then
// on nothing that it is sent is taken up.
func testEndingIsToldBeforeTheWait(t *testing.T, newRig newRig) {
	r := newRig(t)
	stuck := flow.Activity[flow.None, flow.None]{Name: "stuck"}
	broken := flow.Activity[flow.None, flow.None]{Name: "broken"}
	began, ending := make(chan struct{}), make(chan struct{})
	flow.Bind(r.reg, stuck, func(_ context.Context, _ agency.StepKey, in flow.None) (flow.None, error) {
		close(began)
		<-ending // whatever becomes of its context
		return in, nil
	})
	flow.Bind(r.reg, broken, func(_ context.Context, _ agency.StepKey, in flow.None) (flow.None, error) {
		<-began
		return in, agency.Errorf(agency.KindTransient, "away")
	})
	told := 0
	err := r.e.Run(t.Context(), testRun, func(c flow.Ctx) error {
		_ = flow.Start(c, stuck, "stuck", flow.None{})
		_, err := flow.Call(c, broken, "broken", flow.None{})
		return err
	}, flow.Hooks{Ending: func() { told++; close(ending) }})
	if at := (*flow.Interrupt)(nil); !errors.As(err, &at) || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
}

// holdFor is an activity that ends when it is released.
func holdFor(release <-chan struct{}) func(context.Context, agency.StepKey, flow.None) (flow.None, error) {
	return func(ctx context.Context, _ agency.StepKey, in flow.None) (flow.None, error) {
		select {
		case <-release:
			return in, nil
		case <-ctx.Done():
			return in, ctx.Err()
		}
	}
}
