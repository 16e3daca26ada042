package agency_test

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// What people said at gates is theirs: no answer of --yes, and no approval without a word.
func TestWordsOf(t *testing.T) {
	gate := func(kind agency.GateKind, of agency.ContractID, d agency.Decision) agency.Gate {
		return agency.Gate{Kind: kind, ContractID: of, Decision: d}
	}
	var got []string
	for _, w := range agency.WordsOf([]agency.Gate{
		gate(agency.GatePlan, "", agency.Decision{Verb: agency.Approve, By: agency.ByYes}),
		gate(agency.GateMerge, "main", agency.Decision{Verb: agency.Reject, By: "kim", Note: "name it\nby what it does"}),
		gate(agency.GateBudget, "", agency.Decision{Verb: agency.Approve, By: "kim"}),
		gate(agency.GateQuestion, "", agency.Decision{Verb: agency.Approve, By: "lee", Note: "the second"}),
		gate(agency.GatePlan, "", agency.Decision{Verb: agency.Reject, By: "lee"}),
		gate(agency.GatePlan, "", agency.Decision{Verb: agency.Reject, By: agency.ByHarness, Note: "nothing to decide"}),
		gate(agency.GateMerge, "", agency.Decision{}),
	}) {
		got = append(got, w.String())
	}
	want := "kim rejected the merge gate of main: name it by what it does; lee answered the question: the second; lee rejected the plan gate: no reason given"
	if got := strings.Join(got, "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if n := len(agency.WordsOf(make([]agency.Gate, 200))); n != 0 {
		t.Errorf("%d words at open gates", n)
	}
}

// An option may be a number: the words of one are chosen before the number of another.
func TestChoice(t *testing.T) {
	for note, want := range map[string]int{"1": 1, "2": 0, " 3 ": 2, "4": -1, "x": 2, "y": -1} {
		if got := (agency.Decision{Note: note}).Choice([]string{"2", "1", "x"}); got != want {
			t.Errorf("%q: %d, want %d", note, got, want)
		}
	}
}
