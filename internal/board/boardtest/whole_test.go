package boardtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/board/state"
	"agency/internal/store"
)

// What the parts of the board do together.

const run = agency.RunID("run-1")

// desk is the whole board, with the words of the tests.
type desk struct{ *boardtest.Fixture }

func newDesk(t *testing.T) desk {
	t.Helper()
	return desk{boardtest.NewFixture(t, state.Migrations())}
}

// note is a message of a person to ann.
func note(id, body string) agency.Message {
	return agency.Message{ID: agency.MessageID(id), RunID: run, From: agency.FromHuman, To: "ann", Type: agency.MessageNote, Body: body}
}

func ann() board.Recipient {
	return board.Recipient{Run: run, Agent: "ann", Role: "scaffolder", Session: "s1"}
}

func (d desk) send(ms ...agency.Message) {
	d.Helper()
	for _, m := range ms {
		d.Do(func(tx *store.Tx) error { return board.Send(tx, m) })
	}
}

func (d desk) want(statuses string) {
	d.Helper()
	var out []string
	d.Do(func(tx *store.Tx) error {
		ms, err := board.Messages(tx, run)
		for _, m := range ms {
			out = append(out, string(m.ID)+":"+string(m.Status))
		}
		return err
	})
	if got := strings.Join(out, " "); got != statuses {
		d.Errorf("%s, want %s", got, statuses)
	}
}

func stateKey(name string) state.Key { return state.Key{Namespace: state.OfRun, Run: run, Name: name} }

func value(name, json string) state.Write {
	return state.Write{Key: stateKey(name), Value: []byte(json), By: "ada"}
}

func (d desk) put(w state.Write) (e state.Entry) {
	d.Helper()
	d.Do(func(tx *store.Tx) (err error) { e, err = state.Put(tx, w); return err })
	return e
}

func (d desk) see(k state.Key, want string) {
	d.Helper()
	got := "none"
	d.Do(func(tx *store.Tx) error {
		e, err := state.Get(tx, k)
		if agency.KindOf(err) == agency.KindNotFound {
			return nil
		}
		got = fmt.Sprintf("%d:%s", e.Version, e.Value)
		return err
	})
	if got != want {
		d.Errorf("%s is %s, want %s", k, got, want)
	}
}

func TestAnotherHostGoesOn(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "ann", "bob", "cid")
	d.send(note("m1", "one"), note("m2", "two"))
	d.Do(func(tx *store.Tx) error { _, _, err := board.Claim(tx, ann()); return err })
	d.want("m1:delivered m2:pending")
	d.Mono = 100 * time.Second
	d.Do(func(tx *store.Tx) error { return board.Heartbeat(tx, run, "bob") })
	d.Restart()
	d.Wall = d.Wall.Add(-1000 * time.Hour)
	for range 2 { // once more is nothing
		d.Do(func(tx *store.Tx) error { return board.Recover(tx, run) })
	}
	d.want("m1:pending m2:pending")
	d.Do(func(tx *store.Tx) error {
		late, err := board.Missed(tx, run)
		if len(late) != 0 {
			t.Errorf("the host was away, not %+v", late)
		}
		return err
	})
}

func TestCheckpoints(t *testing.T) {
	d := newDesk(t)
	d.Join("ann", "bob")
	d.send(note("m1", "one"))
	save := state.Write{Key: state.CheckpointKey(run, "ann"), Value: []byte(`{"step":1}`), By: "ann"}
	d.Do(func(tx *store.Tx) error { _, err := board.ClaimAll(tx, ann(), 1); return err })
	d.Do(func(tx *store.Tx) error { return board.MarkRead(tx, ann(), "m1") })
	d.Do(func(tx *store.Tx) error { return board.MarkProcessed(tx, ann(), "m1") })
	e := d.put(save)
	read := func(agent agency.AgentID) string {
		var out []string
		d.Do(func(tx *store.Tx) error {
			all, err := state.Checkpoints(tx, run, agent)
			for _, c := range all {
				out = append(out, fmt.Sprintf("%s %s %s %s", c.Agent, c.Type, c.Reference, c.State))
			}
			return err
		})
		return strings.Join(out, "\n")
	}
	mine := fmt.Sprintf("ann message_processed m1 \nann state_committed %d {\"step\":1}", e.ID)
	if got := read("ann"); got != mine {
		t.Errorf("got\n%s\nwant\n%s", got, mine)
	}
}

func TestARunEndsAndIsForgotten(t *testing.T) {
	d := newDesk(t)
	d.Join("ann", "bob")
	d.send(note("m1", "one"))
	d.Do(func(tx *store.Tx) error { _, err := board.ClaimAll(tx, ann(), 1); return err })
	d.Do(func(tx *store.Tx) error { return board.MarkRead(tx, ann(), "m1") })
	d.Do(func(tx *store.Tx) error { return board.MarkProcessed(tx, ann(), "m1") })
	d.send(note("m2", "two"))
	d.put(value("k", "1"))
	d.put(value("k", "2"))
	global := state.Write{Key: state.Key{Namespace: state.Global, Name: "k"}, Value: []byte("1"), By: "ada"}
	d.put(global)
	other := value("k", "1")
	other.Run = "run-2"
	d.put(other)
	for range 2 {
		d.Do(func(tx *store.Tx) error { return board.End(tx, run, board.AgentTerminated, "the run has ended") })
	}
	d.want("m1:processed m2:failed")
	d.Do(func(tx *store.Tx) error {
		return errors.Join(board.Prune(tx, run), state.Prune(tx, run))
	})
	d.want("m2:failed")
	d.see(stateKey("k"), "2:2")
	d.Do(func(tx *store.Tx) error {
		var versions int
		err := tx.QueryRow(`SELECT count(*) FROM board_state WHERE run_id = ? AND key = 'k'`, string(run)).Scan(&versions)
		if versions != 1 {
			t.Errorf("%d versions", versions)
		}
		return err
	})
	d.Do(func(tx *store.Tx) error {
		return errors.Join(board.Forget(tx, run), state.Forget(tx, run))
	})
	d.see(stateKey("k"), "none")
	d.want("")
	d.Do(func(tx *store.Tx) error {
		for _, table := range []string{"board_agent", "board_state", "board_state_head", "board_delivery"} {
			var n, want int
			if strings.HasPrefix(table, "board_state") {
				want = 2 // the repository's and the other run's
			}
			if err := tx.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil {
				return err
			}
			if n != want {
				t.Errorf("%d rows are left in %s, want %d", n, table, want)
			}
		}
		return nil
	})
	d.see(global.Key, "1:1")
}

func TestTidy(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob")
	w := value("k", "1")
	w.TTL = time.Minute
	d.put(w)
	d.Mono = time.Minute
	for _, want := range []int{1, 0} {
		d.Do(func(tx *store.Tx) error {
			n, err := state.Timed().Expire(tx, 100)
			if n != want {
				t.Errorf("tidied %d, want %d", n, want)
			}
			return err
		})
	}
}

// alarm is a clock that rings when the test says so.
type alarm struct {
	set  chan time.Duration // what was waited for
	ring func()             // the newest
}

func (a *alarm) after(d time.Duration, f func()) func() bool {
	a.ring = f
	a.set <- d
	return func() bool { return true }
}

// What has a time is ended when it comes. While nothing has one, nothing is
// written, and nobody looks but each cleanup.
func TestKeepWaitsForWhatIsDue(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob")
	a := &alarm{set: make(chan time.Duration, 16)}
	b, err := board.Open(t.Context(), d.DB, board.Options{After: a.after, Timed: []board.Timed{state.Timed()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- b.Maintain(ctx) }()
	next := func(want time.Duration) {
		t.Helper()
		if got := <-a.set; got != want {
			t.Errorf("waits for %s, want %s", got, want)
		}
	}
	tick := func() (at int64) {
		t.Helper()
		d.Do(func(tx *store.Tx) error { return tx.QueryRow(`SELECT tick FROM lease_clock`).Scan(&at) })
		return at
	}
	next(time.Hour)
	b.Limit(run, board.Limits{Cleanup: time.Minute})
	next(time.Minute)
	before := tick()
	for range 3 {
		d.Mono += time.Minute
		a.ring()
		next(time.Minute)
	}
	if now := tick(); now != before {
		t.Errorf("an idle board wrote: its clock went from %d to %d", before, now)
	}
	b.Limit(run, board.Limits{Cleanup: 10 * time.Hour})
	next(10 * time.Hour)

	w := value("k", "1")
	w.TTL = 50 * time.Minute
	d.put(w)
	next(50 * time.Minute)
	sooner := value("s", "1")
	sooner.TTL = 30 * time.Minute
	d.put(sooner)
	next(30 * time.Minute)
	d.Mono += 30 * time.Minute
	a.ring()
	next(20 * time.Minute)
	d.see(stateKey("s"), "none")
	d.see(stateKey("k"), "1:1")
	cancel()
	if err := <-kept; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWorn: what need not be kept is told of each part, once.
func TestWorn(t *testing.T) {
	d := newDesk(t)
	d.Join("ann", "bob")
	prunable := func(keys int) {
		t.Helper()
		d.Do(func(tx *store.Tx) error {
			s, err := state.Prunable(tx)
			if len(s) != keys {
				t.Errorf("prunable: %v, want %d", s, keys)
			}
			return err
		})
	}
	retain := func() {
		d.Do(func(tx *store.Tx) error { return state.Prune(tx, run) })
	}
	d.put(value("k", "1"))
	prunable(0)
	d.put(value("k", "2"))
	prunable(1)
	retain()
	prunable(0)
}

// TestOutputsAreShared: those that a handoff names are in the state, by the
// commit of the message or not at all.
func TestOutputsAreShared(t *testing.T) {
	d := newDesk(t)
	d.Join("ada", "bob", "tom")
	p := agency.HandoffPackage{
		Run: run, From: "ada", To: "tom", Contract: "c-ada", Status: agency.StatusInProgress, NextContract: "next", Outputs: []byte(`{"done":true}`),
	}
	key := state.OutputsKey(run, "c-ada")
	p.Outputs = []byte(`{"done"`)
	d.Refuse(agency.KindInvalid, func(tx *store.Tx) error { return board.Handoff(tx, 1, p) })
	d.see(key, "none")
	d.want("")
	p.Outputs = []byte(`{"done":true}`)
	for range 2 { // once more is nothing
		d.Do(func(tx *store.Tx) error { return board.Handoff(tx, 1, p) })
	}
	d.see(key, `1:{"done":true}`)
}
