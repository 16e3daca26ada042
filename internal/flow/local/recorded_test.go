package local

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/flowtest"
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
			m := newMachine(t)
			m.play(agency.RunID(name), uint64(i))
			b, err := json.MarshalIndent(m.history(agency.RunID(name)), "", " ")
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
		if err := Replay(t.Context(), "v", h, (&flowtest.Player{Prog: flowtest.Everything()}).Main); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		prefixesReplay(t, h)
		wantFault(t, Replay(t.Context(), "w", h, (&flowtest.Player{Prog: flowtest.Everything()[1:]}).Main), "recorded by version v, this is version w")
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
		if err := Replay(t.Context(), "v", part, (&flowtest.Player{Prog: flowtest.Everything()}).Main); err != nil {
			t.Fatalf("the first %d records: %v", i, err)
		}
	}
}

// play runs the program with a fate, and gives what it saw.
func (m machine) play(run agency.RunID, seed uint64) []string {
	m.Helper()
	e := m.Engine(flowtest.Options{Registry: flowtest.Work(), Version: "v", Now: func() time.Time { return time.Unix(1e9, 0) }, Fate: &seed})
	p := &flowtest.Player{Prog: flowtest.Everything()}
	if err := e.Run(m.Context(), run, p.Main, flow.Hooks{}); err != nil {
		m.Fatal(err)
	}
	return p.Trace
}
