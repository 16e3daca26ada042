package land_test

import (
	"testing"

	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// A resolution is compared with both sides in git; a landing keeps what it lost.
func TestResolutionIsCompared(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "start\nsum of price\nend\n"), false)
	base := w.run().Base()
	mine := w.claim("main", base, "a.txt", "start\nsum of price times count\nend\n")
	w.land("first", w.claim("other", base, "a.txt", "start\nsum of rounded price\nend\n"))
	head := w.repo.Rev(branch)
	if out := w.land("second", mine); out.Conflict == nil {
		t.Fatalf("%+v", out)
	}
	look := func(result string) land.Resolution {
		t.Helper()
		again := w.claim("again", head, "a.txt", result)
		out, err := w.queue().Resolution(t.Context(), "resolution", land.ResolutionSpec{
			Run: runID, Contract: "main", From: base, Ours: mine.Tree, Theirs: head, Result: again.Tree, Paths: []string{"a.txt"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for result, want := range map[string]land.Resolution{
		"start\nsum of rounded price times count\nend\n":                                  {},
		"start\nsum of price times count\nend\n":                                          {Theirs: []string{"a.txt: sum of rounded price"}, Alone: []string{"a.txt: as the work had it before, without sum of rounded price"}},
		"start\nsum of rounded price\nend\n":                                              {Ours: []string{"a.txt: sum of price times count"}, Alone: []string{"a.txt: as it had landed, without sum of price times count"}},
		"<<<<<<< x\nsum of rounded price\n=======\nsum of price times count\n>>>>>>> y\n": {Marked: []string{"a.txt"}},
	} {
		if diff := cmp.Diff(want, look(result)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", result, diff)
		}
	}

	last := w.claim("last", head, "a.txt", "start\nsum of price times count\nend\n")
	last.Contract, last.Workspace, last.Lost = "main", "last", []string{"a.txt: sum of rounded price"}
	if out := w.land("third", last); out.Landed == nil || !cmp.Equal(out.Landed.Lost, last.Lost) {
		t.Errorf("%+v", out)
	}
	err := w.db.Read(t.Context(), func(q *store.Snapshot) error {
		got, err := land.Landings(q, runID)
		if len(got) != 2 || !cmp.Equal(got[1].Lost, last.Lost) {
			t.Errorf("recorded %+v", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
