package native

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
	"agency/internal/session"
	"agency/internal/store"
)

// Where a provider gives no counts, every place that shows them says so, also
// after the process that counted has died.
func TestEstimatedCountsAreLabelled(t *testing.T) {
	script, err := rehearsal.Parse("bare.yaml", []byte(`
version: 1
rules:
  - {when: {turn: 1}, calls: [{tool: read_file, args: {path: main.txt}}], quirks: [no_usage]}
  - {calls: [{tool: signal_complete, args: {evidence: [{criterion: goal, kind: file, ref: main.txt}]}}]}
`))
	must(t, err)
	web := httptest.NewServer(wire.New(rehearsal.NewPlayer(script), wire.Options{}))
	defer web.Close()
	k := newKit(t, budget.Limits{Money: agency.Dollar})
	k.lineup.Model = overWire("openai", web.URL, llm.HTTPOptions{})
	died := false
	k.between = func(at string) error {
		if at == "acted" && !died {
			died = true
			return errDied
		}
		return nil
	}
	if _, err := k.do(t.Context(), spec()); err == nil {
		t.Fatal("the process did not die")
	}
	k.takeOver()
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	k.read(func(q *store.Snapshot) error {
		lines, err := budget.Lines(q, testRun)
		if err != nil || len(lines) != 1 || !lines[0].Usage.Estimated {
			t.Errorf("%v: lines %+v", err, lines)
		}
		var turns []bool
		events, err := event.Since(q, 0, event.Filter{Run: testRun}, 1000)
		for _, ev := range events {
			if ev.Type == "turn_completed" {
				var d agency.TurnCompleted
				must(t, json.Unmarshal(ev.Details, &d))
				turns = append(turns, d.Estimated)
				if strings.HasSuffix(ev.Summary, ", estimated") != d.Estimated {
					t.Errorf("summary %q, estimated %v", ev.Summary, d.Estimated)
				}
			}
		}
		if len(turns) != 2 || !turns[0] || turns[1] {
			t.Errorf("turns estimated: %v, want the first", turns)
		}
		return err
	})
}
