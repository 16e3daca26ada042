package event_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// TestEventsOfAllFormsInOneCommit appends events that have, each at random, what
// events may have: each is stored as it was returned, whatever its neighbours have.
func TestEventsOfAllFormsInOneCommit(t *testing.T) {
	db, _ := open(t)
	rnd := rand.New(rand.NewPCG(5, 6))
	may := func(s string) string {
		if rnd.IntN(3) > 0 {
			return ""
		}
		return s
	}
	var want []agency.Event
	for round := range 60 {
		evs := make([]agency.Event, 1+rnd.IntN(40))
		rarely := rnd.IntN(2) // few rounds have what not all events have
		for i := range evs {
			ev := agency.Event{
				RunID: agency.RunID(fmt.Sprint("r", rnd.IntN(1+round%2))), Category: agency.CategoryState, Type: "state_changed",
				Severity: agency.SeverityInfo, Summary: fmt.Sprint(round, i), AgentID: agency.AgentID(may("a")), Role: agency.RoleID(may("r")),
				RelatedMessage: agency.MessageID(may("m")),
			}
			if may("x") != "" {
				ev.Severity, ev.Details = agency.SeverityError, []byte(`{"n":1}`)
			}
			if rarely == 1 {
				ev.Tier, ev.ContractID, ev.RelatedState = may("fast"), agency.ContractID(may("c")), int64(len(may("seven..")))
			}
			evs[i] = ev
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error { return event.AppendAll(tx, evs) }); err != nil {
			t.Fatal(err)
		}
		want = append(want, evs...)
	}
	if diff := cmp.Diff(want, all(t, db)); diff != "" {
		t.Error(diff)
	}
}
