package store

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// TestWhatIsRememberedIsTrue lets an owner remember the number of notes, and
// everything happen that may make it untrue.
func TestWhatIsRememberedIsTrue(t *testing.T) {
	o := at(t)
	db := open(t, o)
	other := raw(t, o.Path)
	mustWrite(t, db, func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE pair (id INTEGER PRIMARY KEY, other INTEGER REFERENCES pair DEFERRABLE INITIALLY DEFERRED)")
		return err
	})
	count := func(tx *Tx) (n int, asked bool) {
		if n, ok := tx.Memory()["notes"].(int); ok {
			return n, false
		}
		if err := tx.QueryRow("SELECT count(*) FROM note").Scan(&n); err != nil {
			t.Error(err)
		}
		tx.Memory()["notes"] = n
		return n, true
	}
	add := func(token string) func(*Tx) error {
		return func(tx *Tx) error {
			n, _ := count(tx)
			tx.Memory()["notes"] = n + 1
			return put(token)(tx)
		}
	}
	boom := errors.New("boom")
	lost := func(token string) func(*Tx) error {
		return func(tx *Tx) error { return errors.Join(add(token)(tx), boom) }
	}
	notes, asks := 0, 0
	check := func(when string, want, wantAsks int) {
		t.Helper()
		mustWrite(t, db, func(tx *Tx) error {
			n, asked := count(tx)
			if asked {
				asks++
			}
			notes = n
			return nil
		})
		if notes != want || asks != wantAsks {
			t.Errorf("%s: %d notes, want %d; asked %d times, want %d", when, notes, want, asks, wantAsks)
		}
	}
	check("at first", 0, 1)
	mustWrite(t, db, add("a"))
	check("after a write", 1, 1)
	mustWrite(t, db, func(tx *Tx) error { _, err := tx.Exec("UPDATE note SET body = ''"); return err })
	check("after another's write", 1, 1)
	if err := db.Write(t.Context(), lost("b")); !errors.Is(err, boom) {
		t.Error(err)
	}
	check("after a failure", 1, 2)
	if err := db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO pair VALUES (1, 2)")
		return errors.Join(add("c")(tx), err)
	}); err == nil {
		t.Error("the commit did not fail")
	}
	check("after a commit that failed", 1, 3)
	if _, err := other.Exec("INSERT INTO note (token, body) VALUES ('d', '')"); err != nil {
		t.Fatal(err)
	}
	check("after another process has written", 2, 4)
	check("and again", 2, 4)
}

// TestManyRememberWhatIsTrue has closures fail beside others in one transaction,
// while another process writes.
func TestManyRememberWhatIsTrue(t *testing.T) {
	o := at(t)
	db := open(t, o)
	other := raw(t, o.Path)
	boom := errors.New("boom")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 30 {
				fails := (i+n)%3 == 0
				err := db.Write(context.Background(), func(tx *Tx) error {
					have, ok := tx.Memory()["notes"].(int)
					var is int
					if err := tx.QueryRow("SELECT count(*) FROM note").Scan(&is); err != nil {
						return err
					}
					if ok && have != is {
						t.Errorf("remembered %d notes, there are %d", have, is)
					}
					tx.Memory()["notes"] = is + 1
					_, err := tx.Exec("INSERT INTO note (token, body) VALUES (hex(randomblob(8)), '')")
					if fails {
						err = boom
					}
					return err
				})
				if fails != errors.Is(err, boom) {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 30 {
			if _, err := other.Exec("INSERT INTO note (token, body) VALUES (hex(randomblob(8)), '')"); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
}
