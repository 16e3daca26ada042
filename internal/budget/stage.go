package budget

import (
	"agency/internal/agency"
	"agency/internal/store"
)

// Stage is what a part of a run spent: a stage or a tier, by its node.
type Stage struct {
	Node string
	State
}

// Stages are the nodes right below a run's root that spent or hold anything, the
// dearest first.
func Stages(q store.Querier, run agency.RunID) ([]Stage, error) {
	return store.All(q, func(row store.Scanner) (Stage, error) {
		n, err := scanNode(row)
		return Stage{n.name, n.state()}, err
	}, selectStages, string(run), Root)
}
