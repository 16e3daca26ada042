package agency_test

import (
	"testing"

	"agency/internal/agency"
)

// What people read agrees in number, and says what has become of a run.
func TestWords(t *testing.T) {
	file := []agency.UnprovedFile{{Path: "a.go", Lines: 1, Changed: 2}}
	for want, got := range map[string]string{
		"1 file":                       agency.Things(1, "file", "files"),
		"0 files":                      agency.Things(0, "file", "files"),
		"the only attempt is used":     agency.AllUsed(1, ""),
		"all 3 attempts are used":      agency.AllUsed(3, ""),
		"has succeeded":                agency.StateSucceeded.Has(),
		"has failed":                   agency.StateFailed.Has(),
		"was cancelled":                agency.StateCancelled.Has(),
		"was paused":                   agency.StatePaused.Has(),
		"was interrupted":              agency.StateInterrupted.Has(),
		"is waiting":                   agency.StateWaiting.Has(),
		"nothing checks the work":      agency.CheckedBy(agency.CheckSetup, agency.CheckTest),
		"lint alone checks the work":   agency.CheckedBy(agency.CheckLint),
		"1 changed line was not tried": (&agency.Unproved{Changed: 1, NotTried: 1}).Line(),
		"":                             (&agency.Unproved{Changed: 1}).Line(),
		"1 of 2 changed lines (no test fails without it): a.go 1 of 2; 1 more was not tried": (&agency.Unproved{Lines: 1, Changed: 2, NotTried: 1, Files: file}).Line(),
		"2 of 2 changed lines (no test fails without them); 3 more were not tried":           (&agency.Unproved{Lines: 2, Changed: 2, NotTried: 3}).Line(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
