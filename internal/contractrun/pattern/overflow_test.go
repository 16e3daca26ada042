package pattern

import (
	"context"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/roster/agentfile"
	"agency/internal/store"
)

// What does not fit into a supervisor's context is left out by name, ends the team's work
// and leaves it its last word; its members are let go.
func TestBroadcastsThatDoNotFit(t *testing.T) {
	cast := agentfile.Cast{Agents: []agentfile.File{
		{Name: "crew", Team: &agentfile.Team{Members: []string{"ann", "bob"}, Supervisor: "eve"}}, {Name: "ann"}, {Name: "bob"}, {Name: "eve"},
	}}
	long := strings.Repeat("x", firstRoom)
	th := newTheatre(t, cast, func(f agentfile.File, in string, seen []string) move {
		switch {
		case f.Name == "ann":
			return move{broadcast: long}
		case in == "member":
			return move{broadcast: "short"}
		case len(seen) == 1: // it does not keep to it
			return move{broadcast: "go on"}
		}
		return move{report: "done"}
	})
	if end := th.play("crew", "the goal"); end.Answer != "done" {
		t.Fatalf("ended %+v", end)
	}
	turns := map[string][]string{}
	for _, p := range th.acts {
		turns[p.file.Name] = p.seen
	}
	if n := len(turns["ann"]) + len(turns["bob"]); n != 2 {
		t.Errorf("members had %d turns", n)
	}
	super := turns["eve"]
	if len(super) != 2 || !strings.Contains(super[0], "[left out: 98304 bytes that do not fit into your context]") || !strings.Contains(super[0], "\n\nshort") ||
		!strings.Contains(super[0], "this is your last turn, end by final_report") || !strings.Contains(super[1], "No member is left in the team") {
		t.Errorf("the supervisor was told %.600q", super)
	}
	th.settled(0)
	all, err := store.Get(context.Background(), th.db, registry.Contracts, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Post.Agent != "eve" && (c.Status != agency.StatusCancelled || c.Error != "its team has ended") {
			t.Errorf("%s is %s: %s", c.ID, c.Status, c.Error)
		}
	}
}

// A team's broadcasts that do not fit into the answer of a later turn are left out there, too:
// by what the supervisor says of its room.
func TestRenderedFits(t *testing.T) {
	all := []agency.Broadcast{{Type: agency.BroadcastUpdate, Member: "a", Text: strings.Repeat("x", 1000)}, {Type: agency.BroadcastFailure, Member: "b", Text: "y", Final: true}}
	for room, want := range map[int64]bool{5000: true, 500: false, 0: false} {
		words, whole := rendered(all, room)
		if whole != want || int64(len(words)) > max(room, 400) || !strings.Contains(words, "### From b (failure, its last word") {
			t.Errorf("in %d bytes: %v\n%s", room, whole, words)
		}
	}
}
