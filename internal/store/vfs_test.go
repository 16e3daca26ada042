package store

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// writeCalls is how often this process has written, as the system counts it.
func writeCalls(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := strings.Cut(string(text), "syscw: ")
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestACommitIsWrittenAtOnce: a commit of many pages takes few calls, and is
// there when it is acknowledged.
func TestACommitIsWrittenAtOnce(t *testing.T) {
	o := at(t)
	db := open(t, o)
	mustWrite(t, db, put("first"))
	const pages = 200
	before := writeCalls(t)
	mustWrite(t, db, func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO note (token, body) VALUES ('large', zeroblob(?))", pages*4096)
		return err
	})
	// Each call takes some 30 pages; one by one they would be 2 each.
	if n := writeCalls(t) - before; n > pages/10 {
		t.Errorf("a commit of %d pages took %d calls", pages, n)
	}
	dead := o
	dead.Path = copyStore(t, o.Path, -1)
	after := open(t, dead)
	if err := after.Check(t.Context()); err != nil || !tokens(t, after)["large"] {
		t.Errorf("after an end at once: %v, %v", err, tokens(t, after))
	}
}

// TestALogThatSpills: a transaction that is larger than the cache reads back
// what it has written to the log and not synced.
func TestALogThatSpills(t *testing.T) {
	db := open(t, at(t))
	const rows = 300
	mustWrite(t, db, func(tx *Tx) error {
		for i := range rows { // 30 MB with a cache of 8
			if _, err := tx.Exec("INSERT INTO note (token, body) VALUES (?, ?)", i, strings.Repeat(string(rune('a'+i%26)), 100_000)); err != nil {
				return err
			}
		}
		for i := range rows {
			var body string
			if err := tx.QueryRow("SELECT body FROM note WHERE token = ?", fmt.Sprint(i)).Scan(&body); err != nil {
				return err
			}
			if body != strings.Repeat(string(rune('a'+i%26)), 100_000) {
				return fmt.Errorf("row %d reads back as something else", i)
			}
		}
		return nil
	})
	if err := db.Check(t.Context()); err != nil || len(tokens(t, db)) != rows {
		t.Fatalf("%v, %d rows", err, len(tokens(t, db)))
	}
}
