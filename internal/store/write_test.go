package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
)

func TestFailuresDoNotUndoNeighbours(t *testing.T) {
	db := open(t, at(t))
	mustWrite(t, db, put("taken"))
	boom := errors.New("boom")
	bad := []struct {
		name string
		fn   func(*Tx) error
		want func(error) bool
	}{
		{"error", func(tx *Tx) error { return errors.Join(put("lost1")(tx), boom) }, func(err error) bool { return errors.Is(err, boom) }},
		{"panic", func(tx *Tx) error { _ = put("lost2")(tx); panic("boom") }, func(err error) bool { return strings.Contains(err.Error(), "panic") }},
		{"goexit", func(tx *Tx) error { _ = put("lost3")(tx); runtime.Goexit(); return nil }, func(err error) bool { return errors.Is(err, errGoexit) }},
		{"constraint", func(tx *Tx) error { return errors.Join(put("lost4")(tx), put("taken")(tx)) }, IsConstraint},
		{"syntax", func(tx *Tx) error { _ = put("lost5")(tx); _, err := tx.Exec("INSRT"); return err }, func(error) bool { return true }},
	}
	var wg sync.WaitGroup
	for round := range 10 {
		for i := range 10 {
			wg.Go(func() {
				if err := db.Write(context.Background(), put(fmt.Sprint("kept-", round, "-", i))); err != nil {
					t.Error(err)
				}
			})
		}
		for _, b := range bad {
			wg.Go(func() {
				if err := db.Write(context.Background(), b.fn); err == nil || !b.want(err) {
					t.Errorf("%s: got %v", b.name, err)
				}
			})
		}
	}
	wg.Wait()
	have := tokens(t, db)
	if len(have) != 101 {
		t.Fatalf("%d rows, want 101", len(have))
	}
	for token := range have {
		if strings.HasPrefix(token, "lost") {
			t.Errorf("%s of a failed closure was kept", token)
		}
	}
}

// sees tells whether another connection sees a token: whether it is committed.
func sees(t *testing.T, other *sql.DB, token string) bool {
	t.Helper()
	var n int
	if err := other.QueryRow("SELECT count(*) FROM note WHERE token = ?", token).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n == 1
}

func TestHooksRunAfterTheCommitInOrder(t *testing.T) {
	o := at(t)
	db := open(t, o)
	other := raw(t, o.Path)
	topic := Topic[string]{Name: "t"}
	var order []string
	cancel := Subscribe(db, topic, func(vs []string) { order = append(order, vs...) })
	Subscribe(db, topic, func([]string) { panic("a subscriber's panic is its own") })
	for i := range 20 {
		token := fmt.Sprint(i)
		returned := false
		mustWrite(t, db, func(tx *Tx) error {
			if err := put(token)(tx); err != nil {
				return err
			}
			Publish(tx, topic, token+" published")
			tx.AfterCommit(func() {
				if !sees(t, other, token) || returned {
					t.Errorf("hook of %s ran before the commit or after the answer", token)
				}
				order = append(order, token+" hook")
			})
			return nil
		})
		returned = true
		if !sees(t, other, token) {
			t.Fatalf("%s was acknowledged before its commit", token)
		}
		if diff := cmp.Diff([]string{token + " hook", token + " published"}, order); diff != "" {
			t.Fatal(diff)
		}
		order = nil
	}
	err := db.Write(t.Context(), func(tx *Tx) error {
		tx.AfterCommit(func() { t.Error("hook of a failed closure ran") })
		Publish(tx, topic, "failed")
		return errors.New("no")
	})
	if err == nil || len(order) != 0 {
		t.Fatalf("%v, %v", err, order)
	}
	cancel()
	mustWrite(t, db, func(tx *Tx) error { Publish(tx, topic, "unheard"); return put("x")(tx) })
	if len(order) != 0 {
		t.Fatalf("heard after cancel: %v", order)
	}
}

func TestContextBeforeTheStart(t *testing.T) {
	db := open(t, at(t))
	ctx, cancel := context.WithCancel(t.Context())
	begun, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		mustWrite(t, db, func(*Tx) error { close(begun); <-release; return nil })
	})
	<-begun
	answer := make(chan error, 1)
	go func() { answer <- db.Write(ctx, put("late")) }()
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(release)
	wg.Wait()
	mustWrite(t, db, put("next"))
	if tokens(t, db)["late"] {
		t.Fatal("ran although its context had ended")
	}
}

func TestFence(t *testing.T) {
	for _, planted := range []bool{false, true} {
		o := at(t)
		o.seams.noFence = planted
		db := open(t, o)
		first, err := db.RaiseEpoch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fence := agency.Fence{Epoch: first, N: 3}
		err = db.WriteFenced(t.Context(), fence, func(tx *Tx) error {
			if tx.Fence != fence {
				t.Errorf("fence %v in the transaction", tx.Fence)
			}
			return put("mine")(tx)
		})
		if err != nil {
			t.Fatal(err)
		}
		other := raw(t, o.Path) // another process takes the store
		if _, err := other.Exec("UPDATE store_epoch SET epoch = epoch + 1"); err != nil {
			t.Fatal(err)
		}
		err = db.WriteFenced(t.Context(), fence, put("stale"))
		refused := errors.Is(err, ErrFenced) && agency.KindOf(err) == agency.KindDenied && !tokens(t, db)["stale"]
		if refused == planted {
			t.Fatalf("planted %v: got %v", planted, err)
		}
	}
}

func TestForeignLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	o := at(t)
	db := open(t, o)
	conn, err := raw(t, o.Path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	unlocked := time.AfterFunc(3*time.Second, func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	})
	defer unlocked.Stop()
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			if err := db.Write(context.Background(), put(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if d := time.Since(begun); d < 2900*time.Millisecond || d > 5*time.Second {
		t.Fatalf("a lock of 3 s held the clients for %s", d)
	}
	if n := len(tokens(t, db)); n != 32 {
		t.Fatalf("%d of 32 rows", n)
	}
}

func TestStatementsNest(t *testing.T) {
	db := open(t, at(t))
	for i := range 5 {
		mustWrite(t, db, put(fmt.Sprint(i)))
	}
	const q = "SELECT token FROM note ORDER BY id"
	var seen []string
	mustWrite(t, db, func(tx *Tx) error {
		rows, err := tx.Query(q)
		if err != nil {
			return err
		}
		for rows.Next() {
			var outer, inner string
			if err := rows.Scan(&outer); err != nil {
				return err
			}
			if err := tx.QueryRow(q).Scan(&inner); err != nil { // the same statement, while its rows are read
				return err
			}
			seen = append(seen, outer+inner)
		}
		return rows.Err()
	})
	if diff := cmp.Diff([]string{"00", "10", "20", "30", "40"}, seen); diff != "" {
		t.Fatal(diff)
	}
	mustWrite(t, db, func(tx *Tx) error { // rows left open
		rows, err := tx.Query(q)
		rows.Next()
		return err
	})
	mustWrite(t, db, put("after"))
	if len(db.writer.conn.open) != 0 {
		t.Fatal("rows are still open")
	}
}

func TestTxRefuses(t *testing.T) {
	db := open(t, at(t))
	var kept *Tx
	mustWrite(t, db, func(tx *Tx) error {
		kept = tx
		for _, q := range []string{"COMMIT", "rollback", " BEGIN", "PRAGMA synchronous = OFF", "attach 'x' as y", "END;"} {
			if _, err := tx.Exec(q); err == nil {
				t.Errorf("%s was allowed", q)
			}
		}
		return nil
	})
	if _, err := kept.Exec("DELETE FROM note"); !errors.Is(err, errTxDone) {
		t.Fatalf("a transaction outlived its closure: %v", err)
	}
}

func TestRedaction(t *testing.T) {
	const canary = "sk-canary-0123456789"
	o := at(t)
	o.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), canary, "[redacted]")) }
	db := open(t, o)
	type named string
	type raw []byte
	pointer := canary
	args := []any{
		canary, []byte(canary), named(canary), raw(canary), json.RawMessage(`"` + canary + `"`),
		sql.NullString{String: canary, Valid: true},
		&pointer, "key=" + canary + "!",
	}
	var hash agency.Hash
	for i, a := range args {
		mustWrite(t, db, func(tx *Tx) (err error) {
			if _, err = tx.Exec("INSERT INTO note (token, body) VALUES (?, ?)", i, a); err != nil {
				return err
			}
			if err = tx.QueryRow("INSERT INTO note (token, body) VALUES (?, ?) RETURNING id", 200+i, a).Scan(new(int)); err != nil {
				return err
			}
			hash, err = tx.PutBlob([]byte("blob of " + canary))
			return err
		})
	}
	blob, err := db.Blob(t.Context(), hash)
	if err != nil || string(blob) != "blob of [redacted]" {
		t.Fatalf("%q, %v", blob, err)
	}
	noCanary(t, o.Path, canary)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	noCanary(t, o.Path, canary)
}

func TestReadIsASnapshot(t *testing.T) {
	db := open(t, at(t))
	mustWrite(t, db, put("a"))
	count := func(s *Snapshot) (n int) {
		if err := s.QueryRow("SELECT count(*) FROM note").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	err := db.Read(t.Context(), func(s *Snapshot) error {
		if n := count(s); n != 1 {
			t.Errorf("%d rows", n)
		}
		mustWrite(t, db, put("b"))
		if n := count(s); n != 1 {
			t.Errorf("a snapshot has changed: %d rows", n)
		}
		_, err := s.Query("INSERT INTO note (token, body) VALUES ('c', '') RETURNING id")
		return err
	})
	if err == nil {
		t.Fatal("a snapshot could write")
	}
	if n := len(tokens(t, db)); n != 2 {
		t.Fatalf("%d rows", n)
	}
	if err := db.Read(t.Context(), func(*Snapshot) error { panic("boom") }); err == nil {
		t.Fatal("a panic was swallowed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = db.Read(ctx, func(s *Snapshot) error { _, err := s.Query("SELECT 1"); return err })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestBlobs(t *testing.T) {
	db := open(t, at(t))
	contents := [][]byte{{}, []byte("x"), []byte(strings.Repeat("long ", 100_000)), {0, 1, 2, 255}}
	for _, want := range contents {
		var first, second agency.Hash
		mustWrite(t, db, func(tx *Tx) (err error) {
			first, err = tx.PutBlob(want)
			return err
		})
		mustWrite(t, db, func(tx *Tx) (err error) {
			second, err = tx.PutBlob(want)
			return err
		})
		got, err := db.Blob(t.Context(), first)
		if err != nil || first != second || first != HashOf(want) || string(got) != string(want) {
			t.Fatalf("%d bytes: %v, %s and %s", len(want), err, first, second)
		}
	}
	wantKind(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.PutBlob(make([]byte, MaxBlob+1))
		return err
	}), agency.KindInvalid)
	_, err := db.Blob(t.Context(), HashOf([]byte("unknown")))
	wantKind(t, err, agency.KindNotFound)
	mustWrite(t, db, func(tx *Tx) error {
		_, err := tx.Exec("UPDATE store_blob SET codec = 0, data = x'6f74686572'")
		return err
	})
	if _, err = db.Blob(t.Context(), HashOf([]byte("x"))); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a changed blob: %v", err)
	}
}
