package event_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (*store.DB, *event.Log) {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{
		Path: filepath.Join(t.TempDir(), "s.db"), Sets: []store.Set{event.Migrations()},
	})
	if err != nil {
		t.Fatal(err)
	}
	log := event.NewLog(db)
	t.Cleanup(func() { _ = errors.Join(log.Close(), db.Close()) })
	return db, log
}

func note(run agency.RunID, n int) agency.Event {
	return agency.Event{
		RunID: run, Category: agency.CategoryState, Type: "state_changed", Severity: agency.SeverityInfo,
		Summary: fmt.Sprint(n), Details: []byte(fmt.Sprintf(`{"n":%d}`, n)),
	}
}

func appendNotes(t testing.TB, log *event.Log, run agency.RunID, from, n int) {
	t.Helper()
	evs := make([]agency.Event, n)
	for i := range evs {
		evs[i] = note(run, from+i)
	}
	if err := log.Append(context.Background(), evs...); err != nil {
		t.Fatal(err)
	}
}

// follow takes n events from the log.
func follow(t testing.TB, log *event.Log, after int64, f event.Filter, n int) (out []agency.Event) {
	t.Helper()
	if n == 0 {
		return nil
	}
	for ev, err := range log.Tail(t.Context(), after, f) {
		if err != nil {
			t.Error(err)
			return out
		}
		if out = append(out, ev); len(out) == n {
			break
		}
	}
	return out
}

// inOrder checks that the summaries count up from first without gap or
// repetition.
func inOrder(t testing.TB, evs []agency.Event, first int) {
	t.Helper()
	for i, ev := range evs {
		if ev.Summary != fmt.Sprint(first+i) {
			t.Fatalf("event %d (id %d) is %s, want %d", i, ev.ID, ev.Summary, first+i)
		}
	}
}

func TestStoredEqualsFollowed(t *testing.T) {
	db, log := open(t)
	db.SetRedact(func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "canary", "[redacted]")) })
	full := agency.Event{
		RunID: "r", Category: agency.CategoryGate, Type: "gate_opened", Severity: agency.SeverityWarning,
		AgentID: "a", Role: "generalist", Tier: "t4", ContractID: "main", RelatedMessage: "m", RelatedState: 7,
		Summary: "a canary", Details: []byte(`{"k":"canary"}`),
	}
	bare := agency.Event{RunID: "r", Summary: "bare"}
	appendNotes(t, log, "r", 0, 1) // the ring begins here
	if err := log.Append(t.Context(), full, bare); err != nil {
		t.Fatal(err)
	}
	followed := follow(t, log, 1, event.Filter{}, 2)
	stored, err := log.Since(t.Context(), 1, event.Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, followed); diff != "" {
		t.Fatalf("stored and followed differ:\n%s", diff)
	}
	full.ID, full.Time = 2, stored[0].Time
	full.Summary, full.Details = "a [redacted]", []byte(`{"k":"[redacted]"}`)
	if diff := cmp.Diff(full, stored[0]); diff != "" {
		t.Fatal(diff)
	}
}

// TestManyAtOnceAreStoredInOrder: those of one kind, of several and of several
// runs, fewer and more than one statement takes.
func TestManyAtOnceAreStoredInOrder(t *testing.T) {
	db, log := open(t)
	var want []agency.Event
	for _, n := range []int{1, 2, 15, 16, 17, 40} {
		for _, kinds := range []int{1, 2, 3} {
			evs := make([]agency.Event, n)
			for i := range evs {
				run := agency.RunID("r1")
				if kinds == 3 && i%5 == 4 {
					run = "r2"
				}
				evs[i] = note(run, len(want)+i)
				if kinds > 1 && i%2 == 1 {
					evs[i].Category, evs[i].Type, evs[i].Severity = agency.CategorySystem, "host_started", agency.SeverityError
					evs[i].AgentID, evs[i].RelatedMessage, evs[i].RelatedState, evs[i].Details = "a", "m", int64(i), nil
				}
			}
			if err := db.Write(t.Context(), func(tx *store.Tx) error { return event.AppendAll(tx, evs) }); err != nil {
				t.Fatal(err)
			}
			want = append(want, evs...)
		}
	}
	got, err := log.Since(t.Context(), 0, event.Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, got, 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	errs, err := log.Since(t.Context(), 0, event.Filter{MinSeverity: agency.SeverityError}, 0)
	if err != nil || len(errs) == 0 || errs[0].Type != "host_started" {
		t.Errorf("%d errors, %v", len(errs), err)
	}
}

func TestRollbackIsNotFollowed(t *testing.T) {
	db, log := open(t)
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := event.Append(tx, note("r", 99)); err != nil {
			return err
		}
		return errors.New("no")
	})
	if err == nil {
		t.Fatal("no error")
	}
	appendNotes(t, log, "r", 0, 2)
	inOrder(t, follow(t, log, 0, event.Filter{}, 2), 0)
}

// TestNoLossNoRepetition has followers of every kind while writers append:
// from the start, from the middle, filtered, slow enough to fall out of the
// ring, and begun in the midst of it.
func TestNoLossNoRepetition(t *testing.T) {
	_, log := open(t)
	const total = 9000
	appendNotes(t, log, "mine", 0, 1000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { inOrder(t, follow(t, log, 0, event.Filter{Run: "mine"}, total), 0) })
		wg.Go(func() { inOrder(t, follow(t, log, 500, event.Filter{Run: "mine"}, total-500), 500) })
	}
	resume := make(chan struct{})
	wg.Go(func() {
		n := 0
		for ev, err := range log.Tail(t.Context(), 0, event.Filter{Run: "mine"}) {
			if err != nil || ev.Summary != fmt.Sprint(n) {
				t.Errorf("slow follower: %v at %d, %v", ev, n, err)
				return
			}
			if n++; n == 5 {
				<-resume // the ring moves on without it
			}
			if n == total {
				return
			}
		}
	})
	for at := 1000; at < total; at += 100 {
		appendNotes(t, log, "mine", at, 100)
		appendNotes(t, log, "other", at, 3)
		if at%2000 == 0 {
			wg.Go(func() { inOrder(t, follow(t, log, 0, event.Filter{Run: "mine"}, total), 0) })
		}
	}
	close(resume)
	wg.Wait()
}

func TestFilter(t *testing.T) {
	_, log := open(t)
	evs := []agency.Event{
		{RunID: "a", Type: "merged", Category: agency.CategoryGit, Severity: agency.SeverityDebug, ContractID: "x", Summary: "0"},
		{RunID: "a", Type: "log", AgentID: "ada", Category: agency.CategoryGate, Severity: agency.SeverityError, ContractID: "y", Summary: "1"},
		{RunID: "b", Type: "nudged", AgentID: "ada", Category: agency.CategoryGate, Severity: agency.SeverityCritical, ContractID: "x", Summary: "2"},
	}
	if err := log.Append(t.Context(), append([]agency.Event{{RunID: "z"}}, evs...)...); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		f    event.Filter
		want string
	}{
		{event.Filter{}, "0 1 2"},
		{event.Filter{Run: "a"}, "0 1"},
		{event.Filter{Category: agency.CategoryGate}, "1 2"},
		{event.Filter{MinSeverity: agency.SeverityError}, "1 2"},
		{event.Filter{MinSeverity: agency.SeverityCritical}, "2"},
		{event.Filter{Contract: "x"}, "0 2"},
		{event.Filter{Agent: "ada"}, "1 2"},
		{event.Filter{Types: []agency.EventType{"nudged", "merged"}}, "0 2"},
		{event.Filter{Types: []agency.EventType{"log"}, Agent: "ada", Run: "b"}, ""},
		{event.Filter{Run: "a", Contract: "x", MinSeverity: agency.SeverityInfo}, ""},
	}
	for _, tt := range tests {
		stored, err := log.Since(t.Context(), 1, tt.f, 10)
		if err != nil {
			t.Fatal(err)
		}
		if got := summaries(stored); got != tt.want {
			t.Errorf("%+v stored: %q, want %q", tt.f, got, tt.want)
		}
		if got := summaries(follow(t, log, 1, tt.f, len(strings.Fields(tt.want)))); got != tt.want {
			t.Errorf("%+v followed: %q, want %q", tt.f, got, tt.want)
		}
	}
}

func summaries(evs []agency.Event) string {
	var out []string
	for _, ev := range evs {
		out = append(out, ev.Summary)
	}
	return strings.Join(out, " ")
}

func TestTailEndsWithItsContext(t *testing.T) {
	_, log := open(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(0, func() { cancel(why) })
	var last error
	for _, err := range log.Tail(ctx, 0, event.Filter{}) {
		last = err
	}
	if !errors.Is(last, why) {
		t.Fatalf("got %v", last)
	}
}

func TestAFewMillionBytesLeaveTheRing(t *testing.T) {
	_, log := open(t)
	for n := range 30 {
		ev := note("r", n)
		ev.Details = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		if err := log.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	inOrder(t, follow(t, log, 0, event.Filter{}, 30), 0)
}

// TestHundredsFollow has many followers, each with a filter of its own, while
// writers append: each sees all that passes its filter, once and in order.
func TestHundredsFollow(t *testing.T) {
	_, log := open(t)
	const followers, agents, each = 400, 20, 30
	var wg sync.WaitGroup
	for n := range followers {
		f := event.Filter{Run: "r", Agent: agency.AgentID(fmt.Sprint(n % agents))}
		wg.Go(func() { inOrder(t, follow(t, log, 0, f, each), 0) })
	}
	var writers sync.WaitGroup
	for n := range agents {
		writers.Go(func() {
			for i := range each {
				ev := note("r", i)
				ev.AgentID = agency.AgentID(fmt.Sprint(n))
				if err := log.Append(context.Background(), ev); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	wg.Wait()
}
