//go:build unix

package daemon

import (
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/store"
)

// To remove a run takes its blobs, but none that another run names; and every
// name of a blob that any table holds is one that the sweep knows of.
func TestRemoveSweepsBlobs(t *testing.T) {
	w := newWork(t, quick)
	w.cfg.Commands.Test = "grep -rq CONTENT ."
	d, c := w.start(Options{})
	for _, id := range []agency.RunID{"run-1", "run-2"} {
		req := w.request(id, true)
		req.Land = agency.LandBranch
		if _, err := c.Start(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		w.until(c, id, 0, "run_succeeded")
	}
	before := blobNames(t, d.parts.db)
	if len(before.unknown) > 0 || len(before.known) == 0 {
		t.Fatalf("names of blobs that the sweep would miss: %v (of %d)", before.unknown, len(before.known))
	}
	was, err := c.Transcript(t.Context(), "run-2", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context(), "run-1", api.ByRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	after := blobNames(t, d.parts.db)
	if after.stored != len(after.known) || after.stored == before.stored {
		t.Errorf("%d blobs stored, %d named; before %d", after.stored, len(after.known), before.stored)
	}
	is, err := c.Transcript(t.Context(), "run-2", "")
	if err != nil || len(is.Lines) != len(was.Lines) {
		t.Errorf("the other run lost its transcript: %d lines, %d before, %v", len(is.Lines), len(was.Lines), err)
	}
	noise := make([]byte, 4<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	err = d.parts.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.PutBlob(noise)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context(), "run-2", api.ByRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.place.DB()); err != nil || info.Size() > 2<<20 {
		t.Errorf("the store keeps %d bytes for nothing (%v)", info.Size(), err)
	}
	if last := blobNames(t, d.parts.db); last.stored != 0 {
		t.Errorf("%d blobs are left of no run", last.stored)
	}
}

type names struct {
	stored  int
	known   map[string]bool     // by the sweep
	unknown map[string][]string // to it: table.column
}

// blobNames looks through every column of every table.
func blobNames(t *testing.T, db *store.DB) names {
	t.Helper()
	n := names{known: map[string]bool{}, unknown: map[string][]string{}}
	hash := regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	err := db.Read(t.Context(), func(s *store.Snapshot) error {
		stored := map[string]bool{}
		if err := column(s, "SELECT hash FROM store_blob", func(v string) { stored[v] = true }); err != nil {
			return err
		}
		n.stored = len(stored)
		for _, set := range Migrations() {
			for _, q := range set.Blobs {
				if err := column(s, q, func(v string) { n.known[v] = v != "" || n.known[v] }); err != nil {
					return err
				}
			}
		}
		delete(n.known, "")
		var columns []string
		err := column(s, `SELECT m.name || '.' || p.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p
			WHERE m.type = 'table' AND m.name <> 'store_blob'`, func(v string) { columns = append(columns, v) })
		if err != nil {
			return err
		}
		for _, at := range columns {
			table, name, _ := strings.Cut(at, ".")
			err := column(s, fmt.Sprintf(`SELECT CAST(%q AS TEXT) FROM %q`, name, table), func(v string) {
				for _, h := range hash.FindAllString(v, -1) {
					if stored[h] && !n.known[h] {
						n.unknown[h] = append(n.unknown[h], at)
					}
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func column(s *store.Snapshot, q string, each func(string)) error {
	rows, err := s.Query(q)
	if err != nil {
		return err
	}
	for rows.Next() {
		var v *string
		if err := rows.Scan(&v); err != nil {
			return err
		}
		if v != nil {
			each(*v)
		}
	}
	return rows.Err()
}

// --yes given at resume lasts as that of run does.
func TestYesAtResumeLasts(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	c.Close()
	d.Close()
	d, c = w.start(Options{})
	doc, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test", Yes: true})
	if err != nil || !doc.Yes {
		t.Fatalf("%+v %v", doc, err)
	}
	w.until(c, "run-1", 0, "run_succeeded")
	gates, err := c.Gates(t.Context(), "run-1")
	if err != nil || gates[0].Decision.By != "--yes" {
		t.Errorf("%+v %v", gates, err)
	}
	c.Close()
	d.Close()
	_, c = w.start(Options{})
	if doc, err := c.Inspect(t.Context(), "run-1"); err != nil || !doc.Yes {
		t.Errorf("yes is forgotten: %v", err)
	}
}
