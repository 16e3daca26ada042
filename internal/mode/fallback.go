package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/schedule"
)

// whatFailed is the reason of a plan of which contracts failed for good.
func (t *team) whatFailed() string {
	lines := make([]string, len(t.failures))
	for i, f := range t.failures {
		lines[i] = f.line
	}
	return fmt.Sprintf("%d of %d contracts failed: %s", len(t.failures), len(t.all), strings.Join(lines, "; "))
}

// fellThrough tells whether a plan came to nothing: it failed for good, what
// replaced it too, and nothing of it landed. A review lands nothing.
func (t *team) fellThrough(c flow.Ctx, out schedule.Outcome) bool {
	if t.in.OnError != "single" || len(t.failures) == 0 {
		return false
	}
	for _, p := range t.all {
		if slices.Contains(out.Landed, p.ID) && p.AssignedRole != reviewer || p.ID == mainContract(t.in).ID {
			return false
		}
	}
	return flow.Version(c, "fell-through", 1) >= 1
}

// alone has one agent work on the goal itself, where the run is so configured.
func (t *team) alone(c flow.Ctx) (Result, error) {
	why := "nothing of the plan landed, one agent works on the goal itself: " + t.whatFailed()
	if err := escalated(c, t.in, "nothing-landed", why, agency.ModeSingle); err != nil {
		return Result{}, err
	}
	return pursue(c, t.in, mainContract(t.in), workOn{})
}
