package resources

import (
	"context"
	"sync"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/verify"
)

// ahead is what of a run's checks is run while its models work, each base once. It ends
// with the run's resources at the latest.
type ahead struct {
	mu     sync.Mutex
	begun  map[agency.OID]bool
	closed bool
	stops  []context.CancelFunc
	joined sync.WaitGroup
}

// begin does it for a base that it has not seen yet, until the context of its own ends
// or that of over. It tells whether it does.
func (a *ahead) begin(ctx, over context.Context, base agency.OID, do func(context.Context)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.begun[base] {
		return false
	}
	if a.begun == nil {
		a.begun = map[agency.OID]bool{}
	}
	a.begun[base] = true
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stops = append(a.stops, stop)
	a.joined.Go(func() {
		defer stop()
		defer context.AfterFunc(over, stop)()
		do(ctx)
	})
	return true
}

// close ends all of it, and waits until nothing is left.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	for _, stop := range a.stops {
		stop()
	}
	a.mu.Unlock()
	a.joined.Wait()
}

// ahead runs the tests of what a contract's work begins from while its agent works on
// it: a claim is judged by them. What is scarce on the machine is left to who needs it
// now. A base that could not be run is run again when it is needed. What the agent asks to
// be checked meanwhile waits for the build alone.
func (s *Sessions) ahead(ctx context.Context, b *resources, spec session.Spec, base agency.OID) error {
	cmds := b.kept().Commands()
	if needs := s.Runs.contracts(b.kept().Config).Needs; needs != nil {
		for _, kind := range []agency.CheckKind{agency.CheckLint, agency.CheckTest} {
			if names, err := needs(ctx, spec.Run, spec.Contract, cmds.Command(kind)); err != nil || len(names) > 0 {
				return err
			}
		}
	}
	ctx = flow.WithScope(ctx, flow.Scope{Run: spec.Run, Fence: flow.ScopeOf(ctx).Fence})
	built := b.checks.Hold()
	begun := b.ahead.begin(ctx, s.Live.Cancelled(spec.Run), base, func(ctx context.Context) {
		err := s.Verify.Ahead(ctx, verify.Spec{Run: spec.Run, Contract: spec.Contract, Base: base, Commands: cmds}, built)
		if err != nil && ctx.Err() == nil {
			s.Runs.o.Log.Warn("the tests of a base were not run ahead", "run", spec.Run, "base", base, "error", err)
		}
	})
	if !begun {
		built()
	}
	return nil
}
