package store_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"agency/internal/store"
)

// Hooks run in the transaction of the fact, in the order of the sets, and what
// one refuses is not kept.
func TestHooks(t *testing.T) {
	moved, other := store.Topic[int]{Name: "moved"}, store.Topic[string]{Name: "moved"}
	schema := fstest.MapFS{"0001_t.sql": {Data: []byte("CREATE TABLE t (n INTEGER NOT NULL);\n")}}
	follower := fstest.MapFS{"0001_f.sql": {Data: []byte("CREATE TABLE f (n INTEGER NOT NULL);\n")}}
	var ran []string
	refusal := errors.New("refused")
	add := func(name string) store.Hook {
		return store.On(moved, func(tx *store.Tx, n int) error {
			ran = append(ran, name)
			_, err := tx.Exec("INSERT INTO f (n) VALUES (?)", n)
			return err
		})
	}
	refuse := store.On(moved, func(_ *store.Tx, n int) error {
		if n < 0 {
			return refusal
		}
		return nil
	})
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Sets: []store.Set{
		{Name: "t", FS: schema}, {Name: "f", FS: follower, Hooks: []store.Hook{refuse, add("first"), add("second")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tell := func(n int) error {
		return db.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec("INSERT INTO t (n) VALUES (?)", n); err != nil {
				return err
			}
			return errors.Join(store.Tell(tx, moved, n), store.Tell(tx, other, "nobody listens"))
		})
	}
	if err := tell(1); err != nil {
		t.Fatal(err)
	}
	if err := tell(-1); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if want := []string{"first", "second", "first", "second"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	for table, want := range map[string]int{"t": 1, "f": 2} {
		var n int
		if err := db.Read(t.Context(), func(s *store.Snapshot) error { return s.QueryRow("SELECT count(*) FROM " + table).Scan(&n) }); err != nil || n != want {
			t.Errorf("%d rows in %s, want %d: %v", n, table, want, err)
		}
	}
}
