package app

import (
	"cmp"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// waiting is a gate that waits, with its run.
type waiting struct {
	run  agency.RunID
	goal string
	gate api.GateDoc
}

// ranks are how much a gate of a kind holds up: first what may do harm or has stopped the
// whole run, then what an agent cannot go on without, then what is done and waits.
var ranks = map[agency.GateKind]int{
	agency.GateDanger: 0, agency.GateWeakened: 0, agency.GateFault: 0,
	agency.GateBudget:       1,
	agency.GateEscalation:   2,
	agency.GateQuestion:     3,
	agency.GateDependencies: 4,
	agency.GateMerge:        5,
	agency.GatePlan:         6,
	agency.GateInspection:   7,
}

func rankOf(k agency.GateKind) int {
	if r, ok := ranks[k]; ok {
		return r
	}
	return 0 // of a newer version: better too early than overlooked
}

func before(a agency.GateKind, aAt time.Time, b agency.GateKind, bAt time.Time) int {
	return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), aAt.Compare(bAt))
}

// waitingOf are the gates of all runs that wait, what is most urgent first, then the oldest.
func waitingOf(runs []api.RunDoc) []waiting {
	var out []waiting
	for _, r := range runs {
		if r.State.Final() {
			continue
		}
		for _, g := range r.Gates {
			out = append(out, waiting{r.ID, r.Goal, g})
		}
	}
	slices.SortStableFunc(out, func(a, b waiting) int {
		return before(a.gate.Kind, a.gate.CreatedAt, b.gate.Kind, b.gate.CreatedAt)
	})
	return out
}

// openGates are those of a run that wait, in the same order.
func openGates(gates []agency.Gate) []agency.Gate {
	var out []agency.Gate
	for _, g := range gates {
		if g.Open() {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b agency.Gate) int { return before(a.Kind, a.CreatedAt, b.Kind, b.CreatedAt) })
	return out
}
