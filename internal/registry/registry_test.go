package registry

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

func open(t *testing.T) *store.DB {
	t.Helper()
	return storetest.Open(t, store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), Migrations()},
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
}

func write(t *testing.T, db *store.DB, fn func(*store.Tx) error) {
	t.Helper()
	if err := db.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

var sample = agency.Run{ID: "run-1", Goal: "do it", Mode: agency.ModeSingle, State: agency.StatePlanning, Branch: "agency/run-1/main"}

func withRun(t *testing.T) *store.DB {
	db := open(t)
	write(t, db, func(tx *store.Tx) error { return CreateRun(tx, sample, json.RawMessage(`{"version":1}`)) })
	return db
}

func events(t *testing.T, db *store.DB) string {
	t.Helper()
	evs, err := event.NewLog(db).Since(context.Background(), 0, event.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range evs {
		words = append(words, string(e.Type))
	}
	return strings.Join(words, " ")
}

func TestRunKeepsItsStart(t *testing.T) {
	db := withRun(t)
	if err := db.Write(context.Background(), func(tx *store.Tx) error { return CreateRun(tx, sample, nil) }); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("the same id again: %v", err)
	}
	write(t, db, func(tx *store.Tx) error { return SetState(tx, sample.ID, agency.StateRunning, "") })
	write(t, db, func(tx *store.Tx) error { return SetState(tx, sample.ID, agency.StateRunning, "") })
	write(t, db, func(tx *store.Tx) error { return SetMerged(tx, sample.ID, "abc") })
	write(t, db, func(tx *store.Tx) error { return SetState(tx, sample.ID, agency.StateSucceeded, "") })
	err := db.Write(context.Background(), func(tx *store.Tx) error { return SetState(tx, sample.ID, agency.StateRunning, "") })
	if agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a finished run ran again: %v", err)
	}
	if got := events(t, db); got != "run_started state_changed run_succeeded" {
		t.Errorf("events: %s", got)
	}
	err = db.Read(context.Background(), func(q *store.Snapshot) error {
		run, err := Run(q, sample.ID)
		if err != nil {
			return err
		}
		config, err := Copy(q, sample.ID)
		if run.Goal != "do it" || run.Merged != "abc" || run.FinishedAt.IsZero() || string(config) != `{"version":1}` {
			t.Errorf("read %+v with %s", run, config)
		}
		if _, err := Run(q, "nope"); agency.KindOf(err) != agency.KindNotFound || agency.MendOf(err) != "agency ps" {
			t.Errorf("an unknown run: %v", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAdvanceOncePerStep(t *testing.T) {
	db := withRun(t)
	c := agency.Contract{ID: "main", RunID: sample.ID, Title: "t", RetryBudget: 2}
	for range 2 {
		write(t, db, func(tx *store.Tx) error { return CreateContract(tx, c) })
		write(t, db, func(tx *store.Tx) error {
			got, err := Advance(tx, sample.ID, "main", "s1", agency.Started{Agent: "g"})
			if err == nil && (got.Attempts != 1 || got.StartedAt.IsZero()) {
				t.Errorf("after the start: %+v", got)
			}
			return err
		})
	}
	other := c
	other.Title = "another"
	if err := db.Write(context.Background(), func(tx *store.Tx) error { return CreateContract(tx, other) }); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("other words under the same id: %v", err)
	}
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		_, err := Advance(tx, sample.ID, "main", "s2", agency.HasLanded{})
		return err
	})
	if agency.KindOf(err) != agency.KindConflict {
		t.Errorf("landed while working: %v", err)
	}
	// The refused step left no mark: the same key may still be used.
	write(t, db, func(tx *store.Tx) error {
		_, err := Advance(tx, sample.ID, "main", "s2", agency.ClaimMade{})
		return err
	})
}

func TestGateHasOneDecision(t *testing.T) {
	db := withRun(t)
	g := agency.Gate{ID: "run-1.merge-1", RunID: sample.ID, Kind: agency.GateMerge, Summary: "ready"}
	for range 2 {
		write(t, db, func(tx *store.Tx) error { return OpenGate(tx, g) })
		write(t, db, func(tx *store.Tx) error { return ExpireGate(tx, g.ID) })
	}
	decide := func(verb agency.Verb, by string) error {
		return db.Write(context.Background(), func(tx *store.Tx) error {
			_, err := Decide(tx, g.ID, agency.Decision{Verb: verb, By: by})
			return err
		})
	}
	if err := decide("maybe", "x"); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("an answer that is none: %v", err)
	}
	answers := make(chan error, 8)
	for i := range 8 {
		verb := agency.Approve
		if i%2 == 1 {
			verb = agency.Reject
		}
		go func() { answers <- decide(verb, "x") }()
	}
	won := 0
	for range 8 {
		switch err := <-answers; {
		case err == nil:
			won++
		case agency.KindOf(err) != agency.KindConflict || !strings.Contains(err.Error(), "answered already"):
			t.Errorf("a late answer: %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d answers won", won)
	}
	if got := events(t, db); strings.Count(got, "gate_pending") != 1 || strings.Count(got, "gate_paused") != 1 ||
		strings.Count(got, "gate_resumed") != 1 || strings.Count(got, "gate_approved")+strings.Count(got, "gate_rejected") != 1 {
		t.Errorf("events: %s", got)
	}
	_ = db.Read(context.Background(), func(q *store.Snapshot) error {
		open, err := OpenGates(q, sample.ID)
		if err != nil || len(open) != 0 {
			t.Errorf("still open: %v %v", open, err)
		}
		return err
	})
}

// A pause by a person is told of each gate at which the run waits, and of the run
// where it waits at none; so is what ends it. An end is no resumption.
func TestPausesAreTold(t *testing.T) {
	db := withRun(t)
	move := func(to agency.RunState) {
		write(t, db, func(tx *store.Tx) error { return SetState(tx, sample.ID, to, "") })
	}
	move(agency.StatePaused)
	move(agency.StateRunning)
	for _, id := range []agency.GateID{"run-1.a", "run-1.b"} {
		write(t, db, func(tx *store.Tx) error {
			return OpenGate(tx, agency.Gate{ID: id, RunID: sample.ID, Kind: agency.GateQuestion, Summary: "?"})
		})
	}
	move(agency.StatePaused)
	move(agency.StateWaiting)
	move(agency.StatePaused)
	move(agency.StateCancelled)
	got := events(t, db)
	if strings.Count(got, "gate_paused") != 5 || strings.Count(got, "gate_resumed") != 3 {
		t.Errorf("events: %s", got)
	}
}

// Why a run was cut off is kept until it goes on, and why it ended for good.
func TestCausesAreKept(t *testing.T) {
	db := withRun(t)
	cut, ended := agency.Failure{Kind: agency.FailedCrashed, Cause: "its host died"}, agency.Failure{Kind: agency.FailedCancelled, Cause: "cancelled by me"}
	for _, step := range []struct {
		by   func(tx *store.Tx) error
		want agency.FailureKind
	}{
		{func(tx *store.Tx) error { return Stop(tx, sample.ID, agency.StateInterrupted, cut, cut.Cause) }, cut.Kind},
		{func(tx *store.Tx) error { return SetState(tx, sample.ID, agency.StateRunning, "") }, ""},
		{func(tx *store.Tx) error { return Stop(tx, sample.ID, agency.StateCancelled, ended, ended.Cause) }, ended.Kind},
		{func(tx *store.Tx) error { return Stop(tx, sample.ID, agency.StateCancelled, cut, cut.Cause) }, ended.Kind},
	} {
		write(t, db, step.by)
		run, err := store.Get(t.Context(), db, Run, sample.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := agency.FailureKind("")
		if run.Failure != nil {
			got = run.Failure.Kind
		}
		if got != step.want {
			t.Errorf("%s: kept %q, want %q", run.State, got, step.want)
		}
	}
}

// Another attempt is told, and why it is needed; the first is none.
func TestAnotherAttemptIsTold(t *testing.T) {
	db := withRun(t)
	write(t, db, func(tx *store.Tx) error {
		return CreateContract(tx, agency.Contract{ID: "again", RunID: sample.ID, Status: agency.StatusPending, RetryBudget: 2})
	})
	for i, f := range []agency.Fact{agency.Started{Agent: "g"}, agency.Returned{Reason: "it is red"}, agency.Started{Agent: "g"}} {
		if n := strings.Count(events(t, db), "retried"); n != 0 {
			t.Fatalf("%d events before fact %d", n, i)
		}
		write(t, db, func(tx *store.Tx) error {
			_, err := Advance(tx, sample.ID, "again", agency.StepKey("s"+string(rune('0'+i))), f)
			return err
		})
	}
	evs, err := event.NewLog(db).Since(t.Context(), 0, event.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range evs {
		if ev.Type == "retried" {
			d, err := agency.DecodeDetail(ev)
			if r, ok := d.(*agency.Retried); !ok || err != nil || r.Attempt != 2 || r.Cause != "it is red" || ev.ContractID != "again" {
				t.Errorf("%+v %+v %v", ev, d, err)
			}
			return
		}
	}
	t.Error("nothing is told")
}

func TestCancelIsNotTakenBack(t *testing.T) {
	db := withRun(t)
	write(t, db, func(tx *store.Tx) error { return SetControl(tx, sample.ID, Control{Cancel: true, By: "me"}) })
	write(t, db, func(tx *store.Tx) error { return SetControl(tx, sample.ID, Control{Pause: true, By: "me"}) })
	_ = db.Read(context.Background(), func(q *store.Snapshot) error {
		c, err := ReadControl(q, sample.ID)
		if err != nil || !c.Cancel || !c.Pause {
			t.Errorf("control %+v, %v", c, err)
		}
		return err
	})
}

func TestOnlyFinishedRunsAreDeleted(t *testing.T) {
	db := withRun(t)
	del := func() error {
		return db.Write(context.Background(), func(tx *store.Tx) error { return DeleteRun(tx, sample.ID) })
	}
	if err := del(); agency.KindOf(err) != agency.KindConflict || agency.MendOf(err) == "" {
		t.Errorf("a run at work was deleted: %v", err)
	}
	write(t, db, func(tx *store.Tx) error { return CreateContract(tx, agency.Contract{ID: "main", RunID: sample.ID}) })
	write(t, db, func(tx *store.Tx) error { return SetState(tx, sample.ID, agency.StateCancelled, "") })
	if err := del(); err != nil {
		t.Fatal(err)
	}
	_ = db.Read(context.Background(), func(q *store.Snapshot) error {
		if cs, err := Contracts(q, sample.ID); err != nil || len(cs) != 0 {
			t.Errorf("its contracts are still there: %v %v", cs, err)
		}
		return nil
	})
	if !errors.As(del(), new(*agency.Error)) {
		t.Error("a deleted run was deleted again")
	}
}

// A run's number is unique, rises, and does not come again where its run is removed.
func TestNumbersAreNotReused(t *testing.T) {
	db := open(t)
	numberOf := func(id agency.RunID) (n int) {
		run := sample
		run.ID = id
		write(t, db, func(tx *store.Tx) error { return CreateRun(tx, run, json.RawMessage(`{}`)) })
		got, err := store.Get(context.Background(), db, Run, id)
		if err != nil {
			t.Fatal(err)
		}
		return got.Number
	}
	first, second := numberOf("run-a"), numberOf("run-b")
	write(t, db, func(tx *store.Tx) error {
		return errors.Join(SetState(tx, "run-b", agency.StateCancelled, ""), DeleteRun(tx, "run-b"))
	})
	if third := numberOf("run-b"); first != 1 || second != 2 || third != 3 {
		t.Errorf("numbers %d, %d, %d", first, second, third)
	}
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		return errors.Join(CreateRun(tx, agency.Run{ID: "run-c", State: agency.StatePlanning}, json.RawMessage(`{}`)), errors.New("no"))
	})
	if fourth := numberOf("run-d"); err == nil || fourth != 4 {
		t.Errorf("after a run that was not recorded: %d", fourth)
	}
}

// A person's answer stands in the log with the question and who gave it, and so do the words of one
// who approves.
func TestAnswersAreTold(t *testing.T) {
	question := agency.Gate{RunID: "r", Kind: agency.GateQuestion, Summary: "Which greeting?", Options: []string{"hello", "hi"}}
	merge := agency.Gate{RunID: "r", Kind: agency.GateMerge}
	for _, tc := range []struct {
		g    agency.Gate
		d    agency.Decision
		want string
	}{
		{question, agency.Decision{Verb: agency.Approve, Note: "2", By: "ann"}, "question answered by ann: hi (the question: Which greeting?)"},
		{question, agency.Decision{Verb: agency.Approve, Note: "good\nday", By: "ann"}, "question answered by ann: good day (the question: Which greeting?)"},
		{question, agency.Decision{Verb: agency.Reject, By: "ann"}, "question not answered by ann (the question: Which greeting?)"},
		{question, agency.Decision{Verb: agency.Reject, Note: "you know", By: "ann"}, "question not answered by ann: you know (the question: Which greeting?)"},
		{merge, agency.Decision{Verb: agency.Approve, Note: "well done", By: "ann"}, "merge gate approved by ann: well done"},
		{merge, agency.Decision{Verb: agency.Approve, By: "ann"}, "merge gate approved by ann"},
	} {
		tc.g.Decision = tc.d
		if got := decisionEvent(tc.g).Summary; got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
