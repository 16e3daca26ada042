package board

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

const run = agency.RunID("run-1")

// note is a message of a person to ann.
func note(id, body string) agency.Message {
	return agency.Message{ID: agency.MessageID(id), RunID: run, From: agency.FromHuman, To: "ann", Type: agency.MessageNote, Body: body}
}

func ann() Recipient { return Recipient{Run: run, Agent: "ann", Role: "scaffolder", Session: "s1"} }

func (d *desk) send(ms ...agency.Message) {
	d.Helper()
	d.do(func(tx *store.Tx) error {
		for _, m := range ms {
			if err := Send(tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *desk) statuses() string {
	d.Helper()
	var out []string
	if err := d.Read(d.Context(), func(q *store.Snapshot) error {
		ms, err := Messages(q, run)
		for _, m := range ms {
			out = append(out, string(m.ID)+":"+string(m.Status))
		}
		return err
	}); err != nil {
		d.Fatal(err)
	}
	return strings.Join(out, " ")
}

func (d *desk) want(statuses string) {
	d.Helper()
	if got := d.statuses(); got != statuses {
		d.Errorf("%s, want %s", got, statuses)
	}
}

func TestAMessageIsVisibleUntilActedOn(t *testing.T) {
	d := newDesk(t)
	d.join("ann")
	d.send(note("1", "one"), note("2", "two"))
	d.want("1:pending 2:pending")
	var taken []agency.Message
	all := func(session agency.SessionID) {
		d.do(func(tx *store.Tx) (err error) {
			taken, err = ClaimAll(tx, Recipient{Run: run, Agent: "ann", Session: session}, 10)
			return err
		})
	}
	all("s0")
	all("s0")
	if len(taken) != 0 {
		t.Errorf("a session was given twice what it has: %+v", taken)
	}
	all("s1") // the earlier session died before it showed them
	if len(taken) != 2 || taken[0].Body != "one" {
		t.Fatalf("took %+v", taken)
	}
	d.want("1:delivered 2:delivered")
	d.do(func(tx *store.Tx) error { return MarkRead(tx, ann(), "1") })
	d.want("1:read 2:delivered")
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "1") })
	d.want("1:processed 2:delivered")
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "ann", AgentCompleted, "done") })
	d.want("1:processed 2:failed")
	all("s2")
	if len(taken) != 0 {
		t.Errorf("took a dead letter: %+v", taken)
	}
}

func TestTheSameMessageAgain(t *testing.T) {
	d := newDesk(t)
	d.join("ann")
	d.send(note("1", "text"), note("1", "text"))
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return Send(tx, note("1", "other")) })
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "ann", AgentCompleted, "done") })
	d.send(note("1", "text")) // was sent while ann lived
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return Send(tx, note("2", "text")) })
	d.want("1:failed")
}
