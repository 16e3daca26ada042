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
