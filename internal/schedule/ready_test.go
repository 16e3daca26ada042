package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"agency/internal/agency"
)

// startable are the contracts that may start now: pending, with every dependency
// complete. They come in the order in which slots are given: highest priority
// first, then the longest remaining path, then the plan's order (docs/design.md, Contracts).
func startable(contracts []agency.Contract) []agency.ContractID {
	status := make(map[agency.ContractID]agency.Status, len(contracts))
	for _, c := range contracts {
		status[c.ID] = c.Status
	}
	remaining := remainingPaths(contracts)
	type candidate struct {
		agency.Contract
		at int
	}
	var out []candidate
	for i, c := range contracts {
		if c.Status == agency.StatusPending && !slices.ContainsFunc(c.DependsOn, func(d agency.ContractID) bool { return status[d] != agency.StatusComplete }) {
			out = append(out, candidate{c, i})
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(remaining[b.ID], remaining[a.ID]), cmp.Compare(a.at, b.at))
	})
	ids := make([]agency.ContractID, len(out))
	for i, c := range out {
		ids[i] = c.ID
	}
	return ids
}

// remainingPaths is, for each contract, how many unfinished contracts stand on
// the longest path that begins with it. The plan has no cycles.
func remainingPaths(contracts []agency.Contract) map[agency.ContractID]int {
	dependants := map[agency.ContractID][]agency.ContractID{}
	finished := map[agency.ContractID]bool{}
	for _, c := range contracts {
		finished[c.ID] = c.Status.Final()
		for _, d := range c.DependsOn {
			dependants[d] = append(dependants[d], c.ID)
		}
	}
	length := make(map[agency.ContractID]int, len(contracts))
	var walk func(agency.ContractID) int
	walk = func(id agency.ContractID) int {
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

func TestReady(t *testing.T) {
	c := func(id string, s agency.Status, prio int, deps ...agency.ContractID) agency.Contract {
		return agency.Contract{ID: agency.ContractID(id), Status: s, Priority: prio, DependsOn: deps}
	}
	got := startable([]agency.Contract{
		c("done", agency.StatusComplete, 0), c("short", agency.StatusPending, 0, "done"), c("long", agency.StatusPending, 0),
		c("after", agency.StatusPending, 9, "long"), c("urgent", agency.StatusPending, 5), c("failed", agency.StatusFailed, 0), c("never", agency.StatusPending, 9, "failed"),
	})
	if want := "[urgent long short]"; fmt.Sprint(got) != want {
		t.Errorf("ready %v, want %s", got, want)
	}
}
