package local

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

var record = flag.Bool("record", false, "write the recorded histories anew")

// recordedHistory is a history in testdata and the seed it was made with.
func recordedHistory(t *testing.T, name string) History {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var h History
	if err := json.Unmarshal(b, &h); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRecordedHistories(t *testing.T) {
	if *record {
		for i, name := range []string{"everything-1", "everything-2"} {
			tr := newTrial(t, uint64(i))
			want, _, _ := tr.undisturbed(t, agency.RunID(name), everything)
			b, err := json.MarshalIndent(History{Run: agency.RunID(name), Records: want}, "", " ")
			if err == nil {
				err = os.WriteFile(filepath.Join("testdata", name+".json"), append(b, '\n'), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"everything-1", "everything-2"} {
		h := recordedHistory(t, name)
		if err := Replay(t.Context(), "v", h, (&player{prog: everything}).main); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		prefixesReplay(t, h)
		wantFault(t, Replay(t.Context(), "w", h, (&player{prog: everything[1:]}).main), "recorded by version v, this is version w")
	}
}

// prefixesReplay cuts the history where a run can have been killed: before a
// delivery. Several deliveries may have shared a write, so a cut need not have
// happened, but each must be matched.
func prefixesReplay(t *testing.T, h History) {
	t.Helper()
	for i, r := range h.Records {
		if !r.delivery() {
			continue
		}
		part := History{Run: h.Run, Records: h.Records[:i]}
		if err := Replay(t.Context(), "v", part, (&player{prog: everything}).main); err != nil {
			t.Fatalf("the first %d records: %v", i, err)
		}
	}
}

func TestImportGoesOn(t *testing.T) {
	h := recordedHistory(t, "everything-1")
	tr := newTrial(t, 0)
	part := History{Run: "imported", Records: h.Records[:0]}
	for i, r := range h.Records {
		if r.delivery() && i > len(h.Records)/2 {
			part.Records = h.Records[:i]
			break
		}
	}
	err := tr.db.Write(t.Context(), func(tx *store.Tx) error { return Import(tx, part) })
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.db.Write(t.Context(), func(tx *store.Tx) error { return Import(tx, part) }); agency.KindOf(err) != agency.KindConflict {
		t.Fatalf("a second import: %v", err)
	}
	tr.disturbed(t, "imported", everything, nil, nil, h.Records, mustTrace(t, h))
	empty := Replay(t.Context(), "v", History{}, func(flow.Ctx) error { return errors.New("not run") })
	if empty == nil || !strings.Contains(empty.Error(), "empty") {
		t.Fatalf("got %v", empty)
	}
}

func mustTrace(t *testing.T, h History) []string {
	t.Helper()
	p := &player{prog: everything}
	if err := Replay(t.Context(), "v", h, p.main); err != nil {
		t.Fatal(err)
	}
	return p.trace
}
