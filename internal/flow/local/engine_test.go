package local

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"

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

func openStore(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Sets: []store.Set{Migrations()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, db: openStore(t), reg: flow.NewRegistry()}
	epoch, err := r.db.RaiseEpoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.fence = agency.Fence{Epoch: epoch, N: 1}
	flow.Bind(r.reg, plus, func(_ context.Context, _ agency.StepKey, in int) (int, error) {
		r.calls.Add(1)
		return in + 1, nil
	})
	r.e = New(Options{DB: r.db, Fence: r.fence, Registry: r.reg, Version: "v1"})
	return r
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
	err := r.e.Signal(r.Context(), testRun, name, id, []byte(payload))
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
	var f *flow.Fault
	if !errors.As(err, &f) || !strings.Contains(f.Error(), words) {
		t.Fatalf("got %v, want a fault that says %q", err, words)
	}
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
	err := r.e.Run(ctx, testRun, func(c flow.Ctx) error {
		_, err := flow.Call(c, hold, "hold", flow.None{})
		return err
	}, flow.Hooks{})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
