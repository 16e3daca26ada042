package agency

import (
	"fmt"
	"slices"
	"strings"
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
			faults = append(faults, PlanFault{Contract: whole.ID, TooLarge: true, What: fmt.Sprintf("is too large, and nothing takes its place: note its parts with parent_id %s, or submit a whole new plan whose new contracts change what it was to change", whole.ID)})
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

// Replaces tells whether a plan is a whole new one in the place of what came back: it has
// contracts of its own, and each that was noted, or is to be split, is in it, or what that
// one was to change those change. What left out one of them without that is a patch.
func Replaces(plan, noted, split []Contract) bool {
	has := func(all []Contract, id ContractID) bool {
		return slices.ContainsFunc(all, func(c Contract) bool { return strings.EqualFold(string(c.ID), string(id)) })
	}
	fresh := slices.DeleteFunc(slices.Clone(plan), func(c Contract) bool { return has(noted, c.ID) || has(split, c.ID) })
	if len(fresh) == 0 {
		return false
	}
	covered := func(old Contract) bool {
		return !slices.ContainsFunc(old.WriteSet(), func(entry string) bool {
			return !slices.ContainsFunc(fresh, func(c Contract) bool {
				writes := c.WriteSet() // none: it may change anything
				return len(writes) == 0 || slices.ContainsFunc(writes, func(w string) bool { return entriesOverlap(entry, w) })
			})
		})
	}
	for _, old := range noted {
		if !has(plan, old.ID) && (len(old.WriteSet()) == 0 || !covered(old)) {
			return false
		}
	}
	return !slices.ContainsFunc(split, func(old Contract) bool { return !has(plan, old.ID) && !covered(old) })
}

// unplaced are those of the contracts to be split of which a plan has neither parts nor
// themselves, made small enough.
func unplaced(plan, split []Contract) []Contract {
	return slices.DeleteFunc(slices.Clone(split), func(whole Contract) bool {
		return slices.ContainsFunc(plan, func(c Contract) bool { return c.ID == whole.ID || c.ParentID == whole.ID })
	})
}

// Resubmitted is what a plan comes to that was submitted after contracts of the one before
// came back to be split: a whole new plan stands by itself, all else is put to what stayed
// noted. Left are those to be split that still have nothing in their place.
func Resubmitted(plan, noted, split []Contract) (out, left []Contract, faults []PlanFault) {
	if open := unplaced(plan, split); len(open) > 0 && Replaces(plan, noted, open) {
		split = slices.DeleteFunc(slices.Clone(split), func(c Contract) bool {
			return slices.ContainsFunc(open, func(o Contract) bool { return o.ID == c.ID })
		})
	} else {
		plan = append(slices.DeleteFunc(slices.Clone(noted), func(d Contract) bool {
			return slices.ContainsFunc(plan, func(c Contract) bool { return c.ID == d.ID })
		}), plan...)
	}
	left = unplaced(plan, split)
	out, faults = InPlaceOf(Ordered(plan), split)
	return out, left, faults
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
