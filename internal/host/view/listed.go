package view

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/store"
)

// listed is what somebody needs of the contracts of a run, in the order of their creation,
// as it was when they were read.
type listed[T any] struct {
	all    []T
	places map[agency.ContractID]int
	as     func(agency.Contract) T
}

// refresh reads those that are new, and again those that may have changed.
func (l *listed[T]) refresh(q store.Querier, id agency.RunID, changed map[agency.ContractID]bool) error {
	if len(changed) > len(l.places)/4 { // one after the other costs more than all
		l.all, l.places = nil, map[agency.ContractID]int{}
	}
	for of := range changed {
		at, there := l.places[of]
		if !there {
			continue
		}
		c, err := registry.Contract(q, id, of)
		if err != nil {
			return err
		}
		l.all[at] = l.as(c)
	}
	more, err := registry.ContractsAfter(q, id, len(l.places))
	if err != nil {
		return err
	}
	if l.places == nil {
		l.places = map[agency.ContractID]int{}
	}
	l.all = slices.Grow(l.all, len(more))
	for i := range more {
		l.places[more[i].ID] = len(l.all)
		l.all = append(l.all, l.as(more[i]))
	}
	return nil
}
