package agency_test

import (
	"testing"

	"agency/internal/agency"
)

// What was taken back is in the target again where that was taken back itself.
func TestUndoneBy(t *testing.T) {
	undo := func(id, of agency.RunID, merged agency.OID) agency.Run {
		return agency.Run{ID: id, Merged: merged, Follows: &agency.Follows{Run: of, What: agency.FollowUndo}}
	}
	all := []agency.Run{
		{ID: "a", Merged: "1"}, undo("b", "a", "2"), undo("c", "b", "3"), undo("waits", "a", ""),
		{ID: "d", Merged: "4"}, undo("e", "d", "5"), undo("f", "e", ""),
		{ID: "g", Merged: "6", Follows: &agency.Follows{Run: "c", What: agency.FollowOn}},
	}
	for of, want := range map[agency.RunID]agency.RunID{"a": "", "b": "c", "c": "", "d": "e", "e": "", "g": "", "none": ""} {
		got := agency.RunID("")
		if by := agency.UndoneBy(all, of); by != nil {
			got = by.ID
		}
		if got != want {
			t.Errorf("%s was taken back by %q, want %q", of, got, want)
		}
	}
}
