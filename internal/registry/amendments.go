package registry

import (
	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// PathAmendments are what agents found that a workstream has to go through beside what was
// planned, in their order; an empty contract is any.
func PathAmendments(q store.Querier, run agency.RunID, of agency.ContractID) (out []agency.PathAmendment, err error) {
	evs, err := event.Since(q, 0, event.Filter{Run: run, Contract: of, Types: []agency.EventType{agency.PathAmendmentType}}, 0)
	if err != nil {
		return nil, err
	}
	for _, ev := range evs {
		d, err := agency.DecodeDetail(ev)
		if err != nil {
			return nil, err
		}
		if m, ok := d.(*agency.PathAmendment); ok {
			out = append(out, *m)
		}
	}
	return out, nil
}
