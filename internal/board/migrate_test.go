package board

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/*.sql
var before embed.FS

// until gives the migrations up to a version, as an older binary has them.
func until(t *testing.T, last string) store.Set {
	t.Helper()
	older := fstest.MapFS{}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(name); base[:4] <= last {
			older[base] = &fstest.MapFile{Data: text}
		}
	}
	set := Migrations()
	set.FS = older
	return set
}

func openWith(t *testing.T, path string, set store.Set) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path, Sets: []store.Set{event.Migrations(), lease.Migrations(), set}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fillFrom runs the statements of a file, which are set off by empty lines.
func fillFrom(t *testing.T, db *store.DB, name string) {
	t.Helper()
	text, err := before.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		for statement := range strings.SplitSeq(string(text), "\n\n") {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestAnOlderBoardLosesNothing opens stores in which older versions have left
// messages of every kind in every state, and goes on with them.
func TestAnOlderBoardLosesNothing(t *testing.T) {
	t.Run("0020", func(t *testing.T) { losesNothing(t, "0019", "testdata/before_0020.sql") })
	t.Run("0040", func(t *testing.T) { losesNothing(t, "0039", "testdata/before_0040.sql") })
}

func losesNothing(t *testing.T, last, content string) {
	path := filepath.Join(t.TempDir(), "t.db")
	old := openWith(t, path, until(t, last))
	fillFrom(t, old, content)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, DB: openWith(t, path, Migrations())}
	var got []string
	d.do(func(tx *store.Tx) error {
		ps, err := Posts(tx, run)
		for _, p := range ps {
			got = append(got, string(p.ID)+" "+p.From+">"+p.To+string(p.ToRole)+" "+string(p.Status))
			for _, e := range p.Deliveries {
				got = append(got, "  "+string(e.Agent)+" "+string(e.Session)+" "+string(e.Status)+" "+e.Reason)
			}
		}
		return err
	})
	want := []string{
		"waits bob>ann pending", "  ann  pending ",
		"urgent bob>ann pending", "  ann  pending ",
		"handed bob>ann delivered", "  ann s0 delivered ",
		"shown bob>ann read", "  ann s0 read ",
		"done bob>ann processed", "  ann s0 processed ",
		"dead bob>ann failed", "  ann  failed its time to live is over",
		"open bob>coder pending", "    pending ",
		"claimed bob>anncoder delivered", "  ann s0 delivered ",
		"all bob>* pending", "  ann s0 read ", "  cid  pending ", "  dora  failed the recipient has ended: failed",
		"all2 bob>* delivered", "  ann s0 delivered ", "  cid s9 processed ",
		"nobody bob>* processed",
		"answer ann>bob pending", "  bob  pending ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	d.do(func(tx *store.Tx) error {
		thread, err := ThreadOf(tx, run, "waits")
		if ps := thread.Posts; len(ps) != 2 || ps[1].ID != "answer" || ps[1].ThreadRoot != "waits" || ps[0].ThreadRoot != "waits" {
			t.Errorf("thread: %+v", thread)
		}
		if err != nil {
			return err
		}
		m, err := Get(tx, run, "waits")
		if m.Subject != "about waits" || m.Body != "body of waits" || string(m.Payload) != `{"n":1}` || m.ContractID != "c1" ||
			!m.RequiresResponse || m.RespondWithin != time.Hour || !m.CreatedAt.Equal(store.Time(1)) {
			t.Errorf("message: %+v", m)
		}
		done, e := Get(tx, run, "done")
		if !done.ReadAt.Equal(store.Time(7)) || !done.ProcessedAt.Equal(store.Time(9)) {
			t.Errorf("times: %+v", done)
		}
		dead, e2 := DeadLetters(tx, run)
		if len(dead) != 2 {
			t.Errorf("dead letters: %+v", dead)
		}
		return errors.Join(err, e, e2)
	})
	d.goesOn(t)
}

// goesOn reads in the order that the older version promised, and settles it.
func (d *desk) goesOn(t *testing.T) {
	b, err := Open(t.Context(), d.DB, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if n := b.Pending(run, "ann", ""); n != 2 {
		t.Errorf("%d messages wait for ann", n)
	}
	if n := b.Pending(run, "", "coder"); n != 1 {
		t.Errorf("%d messages wait for the role", n)
	}
	who := Recipient{Run: run, Agent: "ann", Role: "coder", Session: "s1"}
	var order []string
	for {
		var m agency.Message
		var ok bool
		d.do(func(tx *store.Tx) (err error) {
			if m, ok, err = Claim(tx, who); !ok || err != nil {
				return err
			}
			return MarkRead(tx, who, m.ID)
		})
		if !ok {
			break
		}
		order = append(order, string(m.ID))
	}
	if got := strings.Join(order, " "); got != "handed claimed all2 urgent waits open" {
		t.Errorf("ann reads %s", got)
	}
	if err := b.Send(context.Background(), msg("new", "bob", "ann")); err != nil {
		t.Error(err)
	}
	// What was sent before the change is known by its words.
	again := msg("done", "bob", "ann")
	again.Subject, again.Body = "about done", "body of done"
	if err := b.Send(context.Background(), again); err != nil {
		t.Errorf("the same again: %v", err)
	}
	again.Body = "other"
	if err := b.Send(context.Background(), again); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("other words: %v", err)
	}
	d.do(func(tx *store.Tx) error {
		n, err := Sweep(tx, 100)
		if n != 1 { // the response to "shown"
			t.Errorf("%d were over", n)
		}
		return err
	})
}

// TestTheFirstBoardLosesNothing is the same for the first schema of all.
func TestTheFirstBoardLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	old := openWith(t, path, until(t, "0001"))
	fillFrom(t, old, "testdata/before_0002.sql")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, DB: openWith(t, path, Migrations())}
	d.want("1:pending 2:delivered 3:read 4:processed 5:failed")
	d.do(func(tx *store.Tx) error {
		ps, err := Posts(tx, run)
		for _, p := range ps {
			if p.From != "human" || p.To != "ann" || p.Type != agency.MessageNote || p.Body != "body of "+string(p.ID) ||
				p.ThreadRoot != p.ID || !p.CreatedAt.Equal(store.Time(5)) || (p.Reason == "too late") != (p.ID == "5") {
				t.Errorf("%+v", p)
			}
		}
		who := Recipient{Run: run, Agent: "ann", Session: "s1"}
		ms, e := ClaimAll(tx, who, 10)
		if len(ms) != 2 || ms[0].ID != "2" || ms[1].ID != "1" {
			t.Errorf("claimed: %+v", ms)
		}
		return errors.Join(err, e, MarkProcessed(tx, who, "3"))
	})
	d.want("1:delivered 2:delivered 3:processed 4:processed 5:failed")
}
