package local

import (
	"context"
	"runtime"

	"agency/internal/agency"
	"agency/internal/flow"
)

func goexit() { runtime.Goexit() }

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
