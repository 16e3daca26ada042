package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/fstest"

	"agency/internal/agency"
)

func pages() Set {
	return Set{Name: "pages", Blobs: []string{"SELECT hash FROM page"}, FS: fstest.MapFS{"0001_init.sql": {Data: []byte(`CREATE TABLE page (name TEXT PRIMARY KEY, hash TEXT);
`)}}}
}

// putPage stores a blob and the row that names it, as owners do.
func putPage(name, text string) func(*Tx) error {
	return func(tx *Tx) error {
		h, err := tx.PutBlob([]byte(text))
		if err != nil {
			return err
		}
		_, err = tx.Exec("INSERT OR REPLACE INTO page (name, hash) VALUES (?, ?)", name, h)
		return err
	}
}

func dropPage(name string, swept *int64) func(*Tx) error {
	return func(tx *Tx) error {
		if _, err := tx.Exec("DELETE FROM page WHERE name = ?", name); err != nil {
			return err
		}
		n, err := tx.SweepBlobs()
		if swept != nil {
			*swept = n
		}
		return err
	}
}

func TestSweepTakesWhatNobodyNames(t *testing.T) {
	o := at(t)
	o.Sets = append(o.Sets, pages())
	db := open(t, o)
	mustWrite(t, db, putPage("a", "shared"))
	mustWrite(t, db, putPage("b", "shared"))
	mustWrite(t, db, putPage("a2", "only a's"))
	mustWrite(t, db, func(tx *Tx) error { // a row that names none
		_, err := tx.Exec("INSERT INTO page (name) VALUES ('empty')")
		return err
	})
	for _, step := range []struct {
		drop string
		want int64
	}{{"a", 0}, {"a2", 1}, {"b", 1}, {"b", 0}} {
		var swept int64
		mustWrite(t, db, dropPage(step.drop, &swept))
		if swept != step.want {
			t.Errorf("after %s: %d swept, want %d", step.drop, swept, step.want)
		}
	}
	if _, err := db.Blob(t.Context(), HashOf([]byte("shared"))); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("what nobody names is still there: %v", err)
	}
}

// A store whose sets name nothing keeps everything.
func TestSweepOfAStoreWithoutNames(t *testing.T) {
	db := open(t, at(t))
	var h agency.Hash
	mustWrite(t, db, func(tx *Tx) (err error) {
		if h, err = tx.PutBlob([]byte("x")); err != nil {
			return err
		}
		_, err = tx.SweepBlobs()
		return err
	})
	if _, err := db.Blob(t.Context(), h); err != nil {
		t.Error(err)
	}
}

// Writers of the same content and sweepers at once: what a row names is there.
func TestSweepBesideWriters(t *testing.T) {
	o := at(t)
	o.Sets = append(o.Sets, pages())
	db := open(t, o)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range 25 {
				name := fmt.Sprint(g, "/", i%3)
				fn := putPage(name, fmt.Sprint("text ", r.IntN(4)))
				if r.IntN(2) == 0 {
					fn = dropPage(name, nil)
				}
				if err := db.Write(context.Background(), fn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	err := db.Read(t.Context(), func(s *Snapshot) error {
		rows, err := s.Query("SELECT hash FROM page")
		if err != nil {
			return err
		}
		var hashes []agency.Hash
		for rows.Next() {
			var h agency.Hash
			if err := rows.Scan(&h); err != nil {
				return err
			}
			hashes = append(hashes, h)
		}
		for _, h := range hashes {
			if _, err := s.Blob(h); err != nil {
				t.Error(err)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
