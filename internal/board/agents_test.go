package board

import (
	"path/filepath"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// desk is a store whose clocks the test moves.
type desk struct {
	*testing.T
	*store.DB
	mono time.Duration
	wall time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	d.open(filepath.Join(t.TempDir(), "t.db"))
	return d
}

func (d *desk) open(path string) {
	d.Helper()
	d.DB = storetest.Open(d, store.Options{
		Path: path, Sets: []store.Set{event.Migrations(), lease.Migrations(), Migrations()},
		Now: func() time.Time { return d.wall }, Mono: func() time.Duration { return d.mono },
	})
}

// do runs a transaction that must succeed.
func (d *desk) do(fn func(*store.Tx) error) {
	d.Helper()
	if err := d.Write(d.Context(), fn); err != nil {
		d.Fatal(err)
	}
}

// refuse runs a transaction that must fail with a kind.
func (d *desk) refuse(kind agency.Kind, fn func(*store.Tx) error) {
	d.Helper()
	if err := d.Write(d.Context(), fn); err == nil || agency.KindOf(err) != kind {
		d.Errorf("got %v, want kind %s", err, kind)
	}
}

func (d *desk) agent(id agency.AgentID) (a Agent) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) { a, err = AgentOf(tx, run, id); return err })
	return a
}

func (d *desk) join(ids ...agency.AgentID) {
	d.Helper()
	d.do(func(tx *store.Tx) error {
		for _, id := range ids {
			if err := Join(tx, Agent{Run: run, ID: id, Role: "scaffolder"}); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestAnAgentJoinsWorksAndLeaves(t *testing.T) {
	d := newDesk(t)
	d.join("ada", "bob")
	d.do(func(tx *store.Tx) error {
		if err := Update(tx, run, "ada", Change{Status: AgentActive, Activity: "reading", Add: Metrics{Turns: 1, Tokens: 10}, LastTool: "read_file"}); err != nil {
			return err
		}
		return Update(tx, run, "ada", Change{Add: Metrics{Turns: 1, Errors: 1}})
	})
	a := d.agent("ada")
	if a.Status != AgentActive || a.Activity != "reading" || a.Turns != 2 || a.Tokens != 10 || a.Errors != 1 || a.LastTool != "read_file" {
		t.Errorf("%+v", a)
	}
	for range 2 { // the second time changes nothing
		d.do(func(tx *store.Tx) error { return Leave(tx, run, "ada", AgentFailed, "lost") })
	}
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return Heartbeat(tx, run, "ada") })
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return Update(tx, run, "ada", Change{Status: AgentActive}) })
	var live []Agent
	d.do(func(tx *store.Tx) (err error) { live, err = Live(tx, run); return err })
	if len(live) != 1 || live[0].ID != "bob" {
		t.Errorf("live: %+v", live)
	}
	d.join("ada")
	if a := d.agent("ada"); a.Status != AgentInitializing || !a.CompletedAt.IsZero() || a.Turns != 2 {
		t.Errorf("opened again: %+v", a)
	}
}

func TestBadAgents(t *testing.T) {
	d := newDesk(t)
	d.join("ada")
	for name, a := range map[string]Agent{
		"no role":      {Run: run, ID: "x"},
		"no run":       {ID: "x", Role: "r"},
		"a person":     {Run: run, ID: agency.FromHuman, Role: "r"},
		"everyone":     {Run: run, ID: agency.Everyone, Role: "r"},
		"ended":        {Run: run, ID: "x", Role: "r", Status: AgentFailed},
		"odd status":   {Run: run, ID: "x", Role: "r", Status: "asleep"},
		"back in time": {Run: run, ID: "x", Role: "r", HeartbeatInterval: -1},
	} {
		t.Run(name, func(*testing.T) {
			d.refuse(agency.KindInvalid, func(tx *store.Tx) error { return Join(tx, a) })
		})
	}
	d.refuse(agency.KindInvalid, func(tx *store.Tx) error { return Update(tx, run, "ada", Change{Status: AgentCompleted}) })
	d.refuse(agency.KindInvalid, func(tx *store.Tx) error { return Leave(tx, run, "ada", AgentActive, "") })
	d.refuse(agency.KindNotFound, func(tx *store.Tx) error { return Leave(tx, run, "bob", AgentFailed, "") })
	d.refuse(agency.KindNotFound, func(tx *store.Tx) error { return Heartbeat(tx, run, "bob") })
}

func TestMissedHeartbeats(t *testing.T) {
	d := newDesk(t)
	d.join("ada", "bob", "cid")
	d.do(func(tx *store.Tx) error { return Update(tx, run, "cid", Change{Status: AgentWaiting}) })
	missed := func(want ...int) {
		t.Helper()
		var late []Agent
		d.do(func(tx *store.Tx) (err error) { late, err = Missed(tx, run); return err })
		if len(late) != len(want) {
			t.Fatalf("late: %+v, want %v", late, want)
		}
		for i := range late {
			if late[i].Missed != want[i] {
				t.Errorf("%s missed %d, want %d", late[i].ID, late[i].Missed, want[i])
			}
		}
	}
	missed()
	d.wall = d.wall.Add(1000 * time.Hour) // says nothing about heartbeats
	d.mono = HeartbeatInterval - 1
	missed()
	d.do(func(tx *store.Tx) error { return Heartbeat(tx, run, "bob") })
	d.mono++
	missed(1) // ada
	d.mono += 2 * HeartbeatInterval
	missed(3, 2)
	d.do(func(tx *store.Tx) error { return Heartbeat(tx, run, "ada") })
	missed(2) // bob
	var evs []agency.Event
	d.do(func(tx *store.Tx) (err error) {
		evs, err = event.Since(tx, 0, event.Filter{Run: run, MinSeverity: agency.SeverityWarning}, 0)
		return err
	})
	if len(evs) != 2 || evs[0].AgentID != "ada" || evs[1].AgentID != "bob" {
		t.Errorf("events: %+v", evs)
	}
}

// board opens the board of the desk.
func (d *desk) board() *Board {
	d.Helper()
	b, err := Open(d.Context(), d.DB, Options{})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = b.Close() })
	return b
}
