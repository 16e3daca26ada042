package registry

import (
	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// PathAmendments are what agents found that a workstream has to go through beside what was
// planned, in their order; an empty contract is any.
func PathAmendments(q store.Querier, run agency.RunID, of agency.ContractID) (out []agency.PathAmendment, err error) {
	all, err := event.Of[agency.PathAmendment](q, event.Filter{Run: run, Contract: of, Types: []agency.EventType{agency.PathAmendmentType}})
	for _, told := range all {
		out = append(out, *told.Detail)
	}
	return out, err
}
