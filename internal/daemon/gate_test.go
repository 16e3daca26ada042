//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/contractrun"
	"agency/internal/flow/outbox"
	"agency/internal/registry"
	"agency/internal/store"
)

// wall is a clock that is set forward and back under a host.
type wall struct{ off atomic.Int64 }

func (w *wall) now() time.Time        { return time.Now().Add(time.Duration(w.off.Load())) }
func (w *wall) set(off time.Duration) { w.off.Store(int64(off)) }

// A gate stays open over twenty hosts whose clocks go forward and back by
// hours and years; its deadline is announced once, and of many answers at
// once, repeated and late ones the first decides.
func TestGateOutlivesHostsAndClocks(t *testing.T) {
	const year = 366 * 24 * time.Hour
	jumps := []time.Duration{0, time.Hour, -time.Hour, year, -year}
	w := newWork(t, quick)
	clock := &wall{}
	d, c := w.start(Options{Now: clock.now})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	var gate agency.GateID
	for i := range 20 {
		clock.set(jumps[i%len(jumps)]) // under the living host, and for the next
		c.Close()
		d.Close()
		d, c = w.start(Options{Now: clock.now})
		doc, err := c.Inspect(t.Context(), "run-1")
		if err != nil || doc.State != agency.StateWaiting || doc.Live || len(doc.Gates) != 1 {
			t.Fatalf("host %d: %s live %v gates %d, %v", i, doc.State, doc.Live, len(doc.Gates), err)
		}
		gate = doc.Gates[0].ID
	}
	clock.set(-year)
	var wg sync.WaitGroup
	var won atomic.Int32
	for n := range 24 {
		wg.Go(func() {
			verb := agency.Approve
			if n%2 == 1 {
				verb = agency.Reject
			}
			_, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Gate: gate, Verb: verb, Note: "because", By: "test"})
			switch {
			case err == nil:
				won.Add(1)
			case agency.KindOf(err) != agency.KindConflict:
				t.Errorf("an answer: %v", err)
			}
		})
	}
	wg.Wait()
	clock.set(year)
	if _, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Gate: gate, Verb: agency.Approve, By: "late"}); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a late answer: %v", err)
	}
	if won.Load() != 1 {
		t.Errorf("%d answers won", won.Load())
	}
	if n := count(t, c, "run-1", "gate_paused"); n != 1 {
		t.Errorf("the deadline was announced %d times", n)
	}
	if n := count(t, c, "run-1", "gate_approved") + count(t, c, "run-1", "gate_rejected"); n != 1 {
		t.Errorf("decided %d times", n)
	}
}

// A whole run ends as it should on a clock that jumps by an hour or a year at
// every event: nothing waits for a time that never comes, nothing expires, no
// gate opens that would not have.
func TestWholeRunUnderAJumpingClock(t *testing.T) {
	const year = 366 * 24 * time.Hour
	for _, jump := range []time.Duration{time.Hour, -time.Hour, year, -year} {
		w := newWork(t, quick)
		clock := &wall{}
		d, c := w.start(Options{Now: clock.now})
		if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
			t.Fatal(err)
		}
		seen, last := 0, agency.Event{}
		for ev, err := range c.Events(t.Context(), api.EventQuery{Run: "run-1", Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			seen, last = seen+1, ev
			clock.set(jump * time.Duration(seen%2))
			if ev.Type == "run_succeeded" || ev.Type == "run_failed" {
				break
			}
		}
		if last.Type != "run_succeeded" || seen < 5 {
			t.Errorf("jumping by %v: %d events, the last one %s: %s", jump, seen, last.Type, last.Summary)
		}
		for _, never := range []agency.EventType{"gate_paused", "failed", "retried"} {
			if n := count(t, c, "run-1", never); n != 0 {
				t.Errorf("jumping by %v: %d times %s", jump, n, never)
			}
		}
		w.healthy(d, "run-1")
	}
}

func count(t *testing.T, c *api.Client, id agency.RunID, what agency.EventType) (n int) {
	t.Helper()
	for ev, err := range c.Events(t.Context(), api.EventQuery{Run: id}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == what {
			n++
		}
	}
	return n
}

// Pausing and resuming works however the clock stands: a clock that stands
// still, or is set back, gives no signal twice.
func TestPauseUnderAStandingClock(t *testing.T) {
	w := newWork(t, slow)
	at := time.Unix(1_700_000_000, 0)
	d, c := w.start(Options{Now: func() time.Time { return at }})
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	last := w.until(c, "run-1", 0, "turn_completed").ID
	for range 3 {
		if _, err := c.Pause(t.Context(), "run-1", api.ByRequest{By: "test"}); err != nil {
			t.Fatal(err)
		}
		last = w.until(c, "run-1", last, "run_paused").ID
		if _, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"}); err != nil {
			t.Fatal(err)
		}
		last = w.until(c, "run-1", last, "turn_completed").ID
	}
	if _, err := c.Cancel(t.Context(), "run-1", api.ByRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.healthy(d, "run-1")
}

// A host that is killed between a decision and its delivery owes the run the
// signal: the next host delivers it, and the run goes on by the decision.
func TestKilledBetweenDecisionAndDelivery(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	c.Close()
	d.Close()
	db, err := store.Open(t.Context(), store.Options{Path: w.place.DB(), Sets: Migrations()})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *store.Tx) error { // all that the killed host did
		open, err := registry.OpenGates(tx, "run-1")
		if err != nil || len(open) != 1 {
			return fmt.Errorf("%d gates, %w", len(open), err)
		}
		g, err := registry.Decide(tx, open[0].ID, agency.Decision{Verb: agency.Approve, By: "test"})
		if err != nil {
			return err
		}
		return outbox.Send(tx, g.RunID, contractrun.GateSignal(g.ID), "answer/"+string(g.ID), g.Decision)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	d, c = w.start(Options{})
	if _, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_succeeded")
	w.healthy(d, "run-1")
}
