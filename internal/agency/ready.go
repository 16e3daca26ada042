package agency

import (
	"cmp"
	"slices"
)

// Ready are the contracts that may start now: pending, with every dependency
// complete. They come in the order in which slots are given: highest priority
// first, then the longest remaining path, then the plan's order (DESIGN 5).
func Ready(contracts []Contract) []ContractID {
	status := make(map[ContractID]Status, len(contracts))
	for _, c := range contracts {
		status[c.ID] = c.Status
	}
	remaining := remainingPaths(contracts)
	type candidate struct {
		Contract
		at int
	}
	var out []candidate
	for i, c := range contracts {
		if c.Status == StatusPending && !slices.ContainsFunc(c.DependsOn, func(d ContractID) bool { return status[d] != StatusComplete }) {
			out = append(out, candidate{c, i})
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(remaining[b.ID], remaining[a.ID]), cmp.Compare(a.at, b.at))
	})
	ids := make([]ContractID, len(out))
	for i, c := range out {
		ids[i] = c.ID
	}
	return ids
}

// remainingPaths is, for each contract, how many unfinished contracts stand on
// the longest path that begins with it. The plan has no cycles.
func remainingPaths(contracts []Contract) map[ContractID]int {
	dependants := map[ContractID][]ContractID{}
	finished := map[ContractID]bool{}
	for _, c := range contracts {
		finished[c.ID] = c.Status.Final()
		for _, d := range c.DependsOn {
			dependants[d] = append(dependants[d], c.ID)
		}
	}
	length := make(map[ContractID]int, len(contracts))
	var walk func(ContractID) int
	walk = func(id ContractID) int {
		if n, ok := length[id]; ok {
			return n
		}
		length[id] = 0 // stands while a circle, which validation refuses, is walked
		longest := 0
		for _, d := range dependants[id] {
			longest = max(longest, walk(d))
		}
		if !finished[id] {
			longest++
		}
		length[id] = longest
		return longest
	}
	for _, c := range contracts {
		walk(c.ID)
	}
	return length
}

// Admissible tells whether a contract may run beside those that run already:
// their write sets do not overlap, and no sequential sibling is among them. A
// contract without any writes runs beside anything. The reason names the other.
func Admissible(c Contract, running []Contract, shared []string) (reason string, ok bool) {
	for _, r := range running {
		if r.ID == c.ID {
			continue
		}
		siblings := r.ParentID == c.ParentID
		if siblings && (c.ExecutionMode == ExecutionSequential || r.ExecutionMode == ExecutionSequential) {
			return "not beside its sibling " + string(r.ID), false
		}
		if x, y, overlap := Overlap(c.WriteSet(), r.WriteSet(), shared); overlap {
			return x + " is also written by " + string(r.ID) + " (" + y + ")", false
		}
	}
	return "", true
}
