package mode

import (
	"context"
	"errors"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/local"
)

var errDied = agency.Errorf(agency.KindTransient, "the process died here")

// diesAtEach has a program's process die before or after each effect in turn,
// each time on a stage of its own, and go on: it ends as it does undisturbed.
// Same compares what else must be the same; least is how many places there are.
func diesAtEach(t *testing.T, mode func(flow.Ctx, Input) (Result, error), in Input, set func(*stage), want Result, least, step int, same func(n int, s *stage)) {
	t.Helper()
	if testing.Short() {
		step *= 4
	}
	for n := 1; ; n += step {
		s := newStage(t)
		set(s)
		var mu sync.Mutex
		calls, died := 0, false
		s.die = func() error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls == n {
				died = true
				return errDied
			}
			return nil
		}
		var got Result
		program := func(c flow.Ctx) (err error) {
			got, err = mode(c, in)
			return err
		}
		process := func() error {
			engine := local.New(local.Options{DB: s.db, Registry: s.registry(), Version: "test", Clock: s.clock})
			return engine.Run(context.Background(), run, program, flow.Hooks{Quiet: s.quiet})
		}
		err := process()
		if !died {
			if n < least {
				t.Errorf("only %d points", n)
			}
			t.Logf("%d points, each %dth", n-1, step)
			return
		}
		if stopped := (*flow.Interrupt)(nil); !errors.As(err, &stopped) {
			t.Fatalf("death %d: %v", n, err)
		}
		if err := process(); err != nil {
			t.Fatalf("after death %d: %v", n, err)
		}
		if got != want {
			t.Errorf("death %d: ended %+v, undisturbed %+v", n, got, want)
		}
		same(n, s)
	}
}
