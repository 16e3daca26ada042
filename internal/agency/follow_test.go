package agency_test

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
)

// What was taken back is in the target again where that was taken back itself.
func TestUndoneBy(t *testing.T) {
	undo := func(id, of agency.RunID, merged agency.OID) agency.Run {
		return agency.Run{ID: id, Merged: merged, Follows: &agency.Follows{Run: of, What: agency.FollowUndo}}
	}
	all := []agency.Run{
		{ID: "a", Merged: "1"},
		undo("b", "a", "2"), undo("c", "b", "3"), undo("waits", "a", ""),
		{ID: "d", Merged: "4"},
		undo("e", "d", "5"), undo("f", "e", ""),
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

// What was wanted before is known through any number of runs that go on from each other, with
// what has become of it, and within bounds.
func TestGoalsBefore(t *testing.T) {
	on := func(f agency.Follows) agency.Follows { f.What = agency.FollowOn; return f }
	first := agency.Run{ID: "a", Goal: "one", State: agency.StateFailed}
	second := func(f agency.Follows) agency.Run {
		f = on(f)
		f.Run, f.Goal, f.State = "a", "one", agency.StateFailed
		f.Goals = f.GoalsBefore([]agency.Run{first}, first, f.Commit != "", nil)
		return agency.Run{ID: "b", Goal: "two", State: agency.StateFailed, Follows: &f}
	}
	taken := agency.Follows{Commit: "c"}
	merged := second(taken)
	merged.Merged, merged.State = "m", agency.StateSucceeded
	undo := agency.Run{ID: "u", Goal: "back", Merged: "n", Follows: &agency.Follows{Run: "b", What: agency.FollowUndo}}
	for _, tt := range []struct {
		name   string
		former agency.Run
		f      agency.Follows
		landed bool
		all    []agency.Run
		want   string
	}{
		{"nothing landed at all", second(agency.Follows{}), agency.Follows{}, false, nil, "one open; two open"},
		{"all of it landed in the second", second(agency.Follows{}), taken, true, nil, "one landed; two landed"},
		{"the first landed, the second did not", second(taken), taken, false, nil, "one landed; two open"},
		{"what was taken over does not hold any more", second(taken), agency.Follows{}, false, nil, "one open; two open"},
		{"both are merged", merged, agency.Follows{Merged: true}, true, []agency.Run{merged}, "one merged; two merged"},
		{"and taken back", merged, agency.Follows{Undone: true}, true, []agency.Run{merged, undo}, "one undone; two undone"},
	} {
		f := on(tt.f)
		f.Run, f.Goal, f.State = tt.former.ID, tt.former.Goal, tt.former.State
		f.Goals = f.GoalsBefore(append(tt.all, first), tt.former, tt.landed, nil)
		var got []string
		for _, g := range f.Chain() {
			got = append(got, fmt.Sprintf("%s %s", g.Goal, g.Now))
		}
		if got := strings.Join(got, "; "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}

	// Taken back after a third run had gone on from it, it is gone for the fourth.
	f := on(agency.Follows{Run: "b", Goal: "two", Merged: true})
	f.Goals = f.GoalsBefore([]agency.Run{merged}, merged, true, nil)
	third := agency.Run{ID: "c", Goal: "three", Follows: &f}
	g := on(agency.Follows{Run: "c", Goal: "three"})
	for _, got := range g.GoalsBefore([]agency.Run{merged, undo}, third, false, nil)[:2] {
		if got.Now != agency.GoalUndone {
			t.Errorf("%s is %s after it was taken back", got.Goal, got.Now)
		}
	}

	run := agency.Run{ID: "r0", Goal: strings.Repeat("x", 9000)}
	for i := 1; i < 40; i++ {
		f := on(agency.Follows{Run: run.ID, Goal: run.Goal})
		f.Goals = f.GoalsBefore(nil, run, false, nil)
		run = agency.Run{ID: agency.RunID(fmt.Sprintf("r%d", i)), Goal: fmt.Sprintf("goal %d", i), Follows: &f}
	}
	chain := run.Follows.Chain()
	if len(chain) != 12 || chain[0].Run != "r0" || len(chain[0].Goal) > 4010 || chain[11].Goal != "goal 38" || chain[1].Goal != "goal 28" {
		t.Errorf("%d goals, of %s to %s", len(chain), chain[0].Run, chain[len(chain)-1].Run)
	}
}
