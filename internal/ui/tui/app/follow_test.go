package app

import (
	"testing"
	"time"

	"agency/internal/agency"
)

// What an agent does is shown when it is heard, without asking for all of the run again;
// what changes where a contract stands is asked for at once.
func TestCallsAreShownAsHeard(t *testing.T) {
	b := begin(t, runID, 120, 24)
	doc := document(1)
	doc.doc.Sessions[0].HealthReason = ""
	b.m.link.live, b.m.link.open = true, &feed{}
	b.send(doc)
	tell := func(at time.Time, id int64, d agency.Detail, summary string) {
		ev := agency.NewEvent(runID, agency.SeverityInfo, summary, d)
		ev.ID, ev.Time, ev.AgentID, ev.ContractID = id, at, "a0", "c0"
		b.send(eventsMsg{feed: b.m.link.feed, events: []agency.Event{ev}, now: at})
	}
	session := doc.doc.Sessions[0].ID
	tell(noon.Add(time.Second), 1, agency.ToolCalled{Session: session, Turn: 5, Tool: "read_file"}, "read_file parse.go")
	tell(noon.Add(time.Second), 2, agency.TurnCompleted{Session: session, Turn: 5}, "turn 5")
	b.send(tickMsg{noon.Add(3 * time.Second)})
	b.want("read_file parse.go", "turn 5", "2 s ago")
	if b.m.link.asking {
		t.Error("all of the run is asked for after a call")
	}
	if b.send(tickMsg{noon.Add(costsAfter)}); !b.m.link.asking {
		t.Error("the sums are never asked for")
	}
	doc.now = noon.Add(costsAfter)
	b.send(doc)
	at := doc.now.Add(b.m.link.pace)
	if tell(at, 3, agency.Claimed{}, "claims to be done"); !b.m.link.asking {
		t.Error("a contract that moved on is not asked for")
	}
}
