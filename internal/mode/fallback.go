package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/schedule"
)

// wholly tells whether all of a plan was carried out.
func (t *team) wholly() bool { return len(t.failures) == 0 && t.unplanned == "" }

// planless says, before what became of contracts that were started one by one,
// that the plan for the rest never came.
func (t *team) planless() string {
	if t.unplanned == "" {
		return ""
	}
	return "no plan came for the rest; "
}

// failureLines are what failed for good, a line each.
func (t *team) failureLines() []string {
	lines := make([]string, len(t.failures))
	for i, f := range t.failures {
		lines[i] = f.line
	}
	if t.unplanned != "" {
		lines = append(lines, "the plan for the rest: "+t.unplanned)
	}
	return lines
}

// whatFailed is the reason of a plan of which a part failed for good.
func (t *team) whatFailed() string {
	lines := strings.Join(t.failureLines(), "; ")
	if len(t.failures) == 0 {
		return lines
	}
	return fmt.Sprintf("%d of %s failed: %s", len(t.failures), agency.Things(len(t.all), "contract", "contracts"), lines)
}

// fellThrough tells whether a plan came to nothing: it failed for good, what
// replaced it too, and nothing of it landed. A review lands nothing.
func (t *team) fellThrough(c flow.Ctx, out schedule.Outcome) bool {
	if t.in.OnError != "single" || t.wholly() {
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
