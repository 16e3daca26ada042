package app

import (
	"testing"
	"time"

	"agency/internal/agency"
)

// heard gives the application an event of the agent at work.
func (b *bench) heard(at time.Time, id int64, d agency.Detail, summary string) {
	ev := agency.NewEvent(runID, agency.SeverityInfo, summary, d)
	ev.ID, ev.Time, ev.AgentID, ev.ContractID = id, at, "a0", "c0"
	b.send(eventsMsg{feed: b.m.link.feed, events: []agency.Event{ev}, now: at})
}

// What an agent does and pays is shown when it is heard, without asking for all of the run
// again; what changes where a contract stands is asked for at once.
func TestCallsAreShownAsHeard(t *testing.T) {
	b := begin(t, runID, 240, 24)
	doc := document(1)
	doc.doc.Sessions[0].HealthReason = ""
	b.m.link.live, b.m.link.open = true, &feed{}
	b.send(doc)
	session := doc.doc.Sessions[0].ID
	b.heard(noon.Add(time.Second), 1, agency.ToolCalled{Session: session, Turn: 5, Tool: "read_file"}, "read_file parse.go")
	b.heard(noon.Add(time.Second), 2, agency.TurnCompleted{Session: session, Turn: 5, CostUSD: 0.5, Run: agency.Spent{USD: 3.25}}, "turn 5")
	b.send(tickMsg{noon.Add(3 * time.Second)})
	b.want("read_file parse.go", "turn 5", "2 s ago", "$3.25 of $5.00", "$0.60")
	if b.m.link.asking {
		t.Error("all of the run is asked for after a call")
	}
	if b.send(tickMsg{noon.Add(wholeAfter)}); !b.m.link.asking {
		t.Error("all of a run in which much is done is never asked for")
	}
	doc.now = noon.Add(wholeAfter)
	b.send(doc)
	at := doc.now.Add(b.m.link.pace)
	if b.heard(at, 3, agency.Claimed{}, "claims to be done"); !b.m.link.asking {
		t.Error("a contract that moved on is not asked for")
	}
}

// A turn that was heard before an answer which is older than it counts, and one that the
// answer has counts once.
func TestTurnsHeardMeanwhileCountOnce(t *testing.T) {
	b := begin(t, runID, 240, 24)
	doc := document(1)
	session := doc.doc.Sessions[0].ID
	b.m.link.live, b.m.link.open = true, &feed{}
	b.heard(noon, 7, agency.TurnCompleted{Session: session, Turn: 5, CostUSD: 0.5, Run: agency.Spent{USD: 0.6}}, "turn 5")
	b.heard(noon, 8, agency.TurnCompleted{Session: session, Turn: 6, CostUSD: 0.25, Run: agency.Spent{USD: 0.85}}, "turn 6")
	s := &doc.doc.Sessions[0]
	doc.doc.LastEvent, doc.doc.CostUSD, s.CostUSD, s.Turns = 7, 0.6, 0.6, 5
	b.send(doc)
	b.send(tickMsg{noon.Add(time.Second)})
	b.want("turn 6", "$0.85 of $5.00", "$0.85  12 tests pass")
}
