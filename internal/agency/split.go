package agency

import (
	"fmt"
	"slices"
)

// TooLarge parts a plan whose faults are all that contracts are over the limits: those,
// and the rest, which may stay. No split: a plan has other faults, or none.
func TooLarge(plan []Contract, faults []PlanFault) (split, rest []Contract) {
	if len(faults) == 0 || slices.ContainsFunc(faults, func(f PlanFault) bool { return !f.TooLarge }) {
		return nil, plan
	}
	for _, c := range plan {
		if slices.ContainsFunc(faults, func(f PlanFault) bool { return f.Contract == c.ID }) {
			split = append(split, c)
		} else {
			rest = append(rest, c)
		}
	}
	return split, rest
}

// InPlaceOf puts the parts of contracts that were split, which name them as their
// parent, into their places: a part depends on what the whole did, and what depended on
// the whole depends on all parts. A whole that is in the plan again was made small
// enough instead; one without parts is a fault.
func InPlaceOf(plan, split []Contract) (out []Contract, faults []PlanFault) {
	out = slices.Clone(plan)
	for _, whole := range split {
		if slices.ContainsFunc(plan, func(c Contract) bool { return c.ID == whole.ID }) {
			continue
		}
		var parts []ContractID
		for i, c := range out {
			if c.ParentID == whole.ID {
				parts = append(parts, c.ID)
				out[i].ParentID = whole.ParentID
				out[i].DependsOn = union(c.DependsOn, whole.DependsOn)
			}
		}
		if len(parts) == 0 {
			faults = append(faults, PlanFault{Contract: whole.ID, TooLarge: true, What: fmt.Sprintf("is too large, and nothing takes its place: note its parts with parent_id %s", whole.ID)})
			parts = []ContractID{whole.ID}
		}
		for i, c := range out {
			if slices.Contains(c.DependsOn, whole.ID) {
				without := slices.DeleteFunc(slices.Clone(c.DependsOn), func(id ContractID) bool { return id == whole.ID })
				out[i].DependsOn = union(without, slices.DeleteFunc(slices.Clone(parts), func(id ContractID) bool { return id == c.ID }))
			}
		}
	}
	return out, faults
}

func union(a, b []ContractID) []ContractID {
	out := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
