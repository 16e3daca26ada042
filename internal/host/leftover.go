package host

import (
	"context"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/registry"
	"agency/internal/store"
)

// forsaken is how long after its end a dry run is its client's, who shows its
// plan and removes it: moments, where that client lives.
const forsaken = 30 * time.Second

// drop removes the dry runs that nobody removed, for the client is gone that
// would have, and tells in what time there is one more; 0: not before another
// run has ended. One that had a person decide something is that person's: its
// plan waits for agency resume.
func (h *Host) drop(ctx context.Context) (next time.Duration, err error) {
	var over []agency.RunID
	err = h.read(ctx, func(q store.Querier) error {
		runs, err := registry.Runs(q)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if !run.Dry || !run.State.Final() {
				continue
			}
			gates, err := registry.Gates(q, run.ID)
			if err != nil {
				return err
			}
			switch left := run.FinishedAt.Add(forsaken).Sub(h.o.Now()); {
			case len(gates) > 0:
			case left <= 0:
				over = append(over, run.ID)
			case next == 0 || left < next:
				next = left
			}
		}
		return nil
	})
	for _, id := range over {
		if err == nil {
			err = h.Remove(ctx, id, api.ByRequest{})
		}
		if agency.KindOf(err) == agency.KindNotFound { // its client was there after all
			err = nil
		}
	}
	return next, err
}

// sooner is the earlier of two times to look again; 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
