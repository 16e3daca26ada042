package effects

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// What an agent says at length does not push what proves it off the screen.
func TestLongWordsLeaveRoomForProofs(t *testing.T) {
	for words, want := range map[string]string{
		"short\nand two":             "> short\n> and two",
		strings.Repeat("line\n", 40): strings.Repeat("> line\n", mostLines) + "> … (all of it: agency inspect --report)",
	} {
		var v measuredWork
		r := agency.Report{Contracts: []agency.ReportContract{{ID: "main", Status: agency.StatusComplete, Said: words}}}
		r.Rollup.Total = 1
		if err := v.fillReport(r); err != nil || v.Said != want {
			t.Errorf("%q, %v", v.Said, err)
		}
	}
}

// Who went on after a reject says in its own words what it did since; of several beside each
// other each has a line, in which no heading or mark of a list stands.
func TestWordsOfSeveral(t *testing.T) {
	said := func(id agency.ContractID, words string) agency.ReportContract {
		return agency.ReportContract{ID: id, Status: agency.StatusComplete, Said: words}
	}
	r := agency.Report{Mode: agency.ModeSingle, Contracts: []agency.ReportContract{
		said("main", "## What changed\n\n`Add` adds now:\n\n- a plus\n- **two** tests"), said("failed", ""), said("main-2", "## Since\n\n- hello"),
	}}
	r.Rollup.Total = 3
	const one = "- main: `Add` adds now: a plus; **two** tests"
	if got, want := saidAt(r), one+"\n\nmain-2, the newest:\n\n> ## Since\n> \n> - hello"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Mode = agency.ModeMultiAgent
	if got, want := saidAt(r), one+"\n- main-2: hello"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
