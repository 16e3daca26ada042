package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// The room of deleted rows goes back to the disk, and nobody who reads or
// writes meanwhile loses anything.
func TestShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := open(t, Options{Path: path})
	blob := make([]byte, 64<<10)
	if _, err := rand.Read(blob); err != nil {
		t.Fatal(err)
	}
	write := func(fn func(tx *Tx) error) {
		t.Helper()
		if err := db.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE heap (id INTEGER PRIMARY KEY, body BLOB)")
		return err
	})
	if freed, err := db.Shrink(t.Context()); err != nil || freed != 0 {
		t.Errorf("an empty store gave %d bytes (%v)", freed, err)
	}
	for range 64 {
		write(func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO heap (body) VALUES (?)", blob)
			return err
		})
	}
	write(func(tx *Tx) error {
		_, err := tx.Exec("DELETE FROM heap WHERE id > 4")
		return err
	})
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			err := db.Write(context.Background(), func(tx *Tx) error {
				_, err := tx.Exec("INSERT INTO heap (id, body) VALUES (?, ?)", 1000+n, fmt.Sprint(n))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			err := db.Read(context.Background(), func(s *Snapshot) error {
				var first int
				return s.QueryRow("SELECT count(*) FROM heap WHERE id <= 4").Scan(&first)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	freed, err := db.Shrink(t.Context())
	wg.Wait()
	if err != nil || freed < 3<<20 {
		t.Errorf("gave %d bytes (%v)", freed, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<20 {
		t.Errorf("the file has %d bytes (%v)", info.Size(), err)
	}
	err = db.Read(t.Context(), func(s *Snapshot) error {
		var n int
		if err := s.QueryRow("SELECT count(*) FROM heap").Scan(&n); err != nil || n != 12 {
			t.Errorf("%d rows (%v)", n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
