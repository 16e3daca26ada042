package native

import (
	"context"
	"testing"
	"time"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/llm/failover"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// While a pause is wanted a request that failed is not sent again, neither to the same
// model nor to the next; what it owes is booked once, and the turn goes on when the run
// is resumed.
func TestAPausedRunAsksNoMore(t *testing.T) {
	stalled := &llm.Fault{Kind: llm.Timeout, Provider: "a"}
	for _, tt := range []struct {
		name  string
		at    string // when the pause comes: asked, or waits
		fault *llm.Fault
		next  bool // another model is asked next, not the same
		lost  int
	}{
		{"the same model", "asked", stalled, false, 1},
		{"while it waits", "waits", stalled, false, 1},
		{"refused at the door", "asked", overloaded, false, 0},
		{"the next model", "asked", overloaded, true, 0},
		{"the next model after a loss", "asked", stalled, true, 1},
		{"within a long wait", "within", overloaded, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, budget.Limits{})
			pause := func(on bool) {
				k.write(func(tx *store.Tx) error { return registry.SetControl(tx, testRun, registry.Control{Pause: on}) })
			}
			k.model.say = []any{func(context.Context, llm.Request) any {
				if len(k.model.seen) > 1 {
					return complete
				}
				if tt.at == "asked" {
					pause(true)
				}
				return tt.fault
			}}
			wait := failover.RetryOptions{Sleep: func(ctx context.Context, _ time.Duration) error {
				if tt.at != "asked" {
					pause(true)
				}
				if tt.at == "within" {
					<-ctx.Done()
				}
				return ctx.Err()
			}}
			second := &player{say: []any{complete}}
			switch {
			case tt.next:
				k.twoModels(k.model, second, prices{})
			default:
				k.lineup.Model = failover.Retry(k.model, wait)
			}
			s := spec()
			if out := k.must(s); out.Kind != session.Parked || out.For != session.ForPause {
				t.Fatalf("%+v", out)
			}
			if n := len(k.model.seen) + len(second.seen); n != 1 {
				t.Errorf("%d requests were sent, one of them before the pause", n)
			}
			if got := k.spent(); got.Reserved != 0 || got.ReservedTokens != 0 || budget.Sum(k.lines(), nil).Lost != tt.lost {
				t.Errorf("%+v, lines %+v, want %d lost", got, k.lines(), tt.lost)
			}
			if n := k.count("retried"); tt.at == "asked" && n != 0 {
				t.Error("it is told that it asks again")
			}
			pause(false)
			s.Part = 2
			if out := k.must(s); out.Kind != session.Claimed {
				t.Errorf("after the pause: %+v", out)
			}
		})
	}
}
