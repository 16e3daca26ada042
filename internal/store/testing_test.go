package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	"agency/internal/agency"

	"go.uber.org/goleak"
)

func notes() Set {
	return Set{Name: "notes", FS: fstest.MapFS{"0001_init.sql": {Data: []byte(`CREATE TABLE note (id INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY, token TEXT NOT NULL UNIQUE, body ANY NOT NULL);
`)}}}
}

func at(t testing.TB) Options {
	return Options{Path: filepath.Join(t.TempDir(), "s.db"), Sets: []Set{notes()}}
}

func open(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func put(token string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO note (token, body) VALUES (?, ?)", token, "body of "+token)
		return err
	}
}

func mustWrite(t testing.TB, db *DB, fn func(*Tx) error) {
	t.Helper()
	if err := db.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func tokens(t testing.TB, db *DB) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := db.Read(context.Background(), func(s *Snapshot) error {
		rows, err := s.Query("SELECT token FROM note")
		if err != nil {
			return err
		}
		for rows.Next() {
			var token string
			if err := rows.Scan(&token); err != nil {
				return err
			}
			out[token] = true
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantKind(t *testing.T, err error, kind agency.Kind) {
	t.Helper()
	if err == nil || agency.KindOf(err) != kind {
		t.Fatalf("got %v, want kind %s", err, kind)
	}
	if kind == agency.KindTransient && agency.MendOf(err) == "" {
		t.Fatalf("%v does not say how to mend it", err)
	}
}

// raw opens the file beside the store, as another program would.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	goleak.VerifyTestMain(m)
}
