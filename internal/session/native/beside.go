package native

import (
	"context"

	"agency/internal/flow"
	"agency/internal/slots"
)

// beside is the calls of a turn, some of which run beside each other: while all of them wait
// for what is scarce on the machine, the session's clock stands still, and while all of them
// rest because the run is paused, so does the session.
type beside struct{ clock, engine slots.Rests }

func newBeside(ctx context.Context, work *stint) *beside {
	b := &beside{}
	b.clock.Rest = func() func() {
		work.rest()
		return work.work
	}
	b.engine.Rest = flow.ScopeOf(ctx).Rest
	return b
}

// begin says that a call runs, until it ends.
func (b *beside) begin() (end func()) {
	clock, engine := b.clock.Begin(), b.engine.Begin()
	return func() {
		clock()
		engine()
	}
}

// in is the context of the calls.
func (b *beside) in(ctx context.Context) context.Context {
	scope := flow.ScopeOf(ctx)
	scope.Rest = b.engine.Wait
	return slots.WithClock(flow.WithScope(ctx, scope), &b.clock)
}
