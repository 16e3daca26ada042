package board

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

const run = agency.RunID("run-1")

func open(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), Migrations()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func send(db *store.DB, id, body string) error {
	return db.Write(context.Background(), func(tx *store.Tx) error {
		return Send(tx, agency.Message{ID: agency.MessageID(id), RunID: run, From: "human", To: "generalist", Type: "text", Body: body})
	})
}

func statuses(t *testing.T, db *store.DB) string {
	t.Helper()
	var out []string
	if err := db.Read(context.Background(), func(q *store.Snapshot) error {
		ms, err := Messages(q, run)
		for _, m := range ms {
			out = append(out, string(m.ID)+":"+string(m.Status))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestAMessageIsVisibleUntilActedOn(t *testing.T) {
	db := open(t)
	ctx := context.Background()
	for _, id := range []string{"1", "2"} {
		if err := send(db, id, "text "+id); err != nil {
			t.Fatal(err)
		}
	}
	var taken []agency.Message
	step := func(fn func(tx *store.Tx) error, want string) {
		t.Helper()
		if err := db.Write(ctx, fn); err != nil {
			t.Fatal(err)
		}
		if got := statuses(t, db); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	deliver := func(tx *store.Tx) (err error) { taken, err = Deliver(tx, run, "generalist"); return err }
	step(deliver, "1:delivered 2:delivered")
	// A crash before the turn is sent: the next session takes them again.
	step(deliver, "1:delivered 2:delivered")
	if len(taken) != 2 || taken[0].Body != "text 1" {
		t.Fatalf("took %+v", taken)
	}
	step(func(tx *store.Tx) error { return MarkRead(tx, run, ids(taken)[:1]) }, "1:read 2:delivered")
	step(func(tx *store.Tx) error { return MarkProcessed(tx, run, ids(taken)) }, "1:processed 2:delivered")
	step(deliver, "1:processed 2:delivered")
	step(func(tx *store.Tx) error { _, err := Bury(tx, run, "generalist", "the session ended"); return err }, "1:processed 2:failed")
	step(deliver, "1:processed 2:failed")
	if len(taken) != 0 {
		t.Errorf("took a dead letter: %+v", taken)
	}
}

func TestBadMessages(t *testing.T) {
	db := open(t)
	if err := send(db, "1", "text"); err != nil {
		t.Fatal(err)
	}
	if err := send(db, "1", "text"); err != nil {
		t.Errorf("the same message again: %v", err)
	}
	for name, tt := range map[string]struct {
		id, body string
		kind     agency.Kind
	}{
		"other words":  {"1", "other", agency.KindConflict},
		"empty":        {"2", " \n", agency.KindInvalid},
		"too long":     {"3", strings.Repeat("x", MaxBody+1), agency.KindInvalid},
		"not UTF-8":    {"4", "\xff", agency.KindInvalid},
		"no id":        {"", "text", agency.KindInvalid},
		"absurd in id": {strings.Repeat("x", 200), "text", agency.KindInvalid},
	} {
		if err := send(db, tt.id, tt.body); agency.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := statuses(t, db); got != "1:pending" {
		t.Errorf("something was half written: %s", got)
	}
}
