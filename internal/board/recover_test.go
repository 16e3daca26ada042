package board

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// restart has another host take the store: its monotonic clock begins anew.
func (d *desk) restart(path string) {
	d.Helper()
	if err := d.Close(); err != nil {
		d.Fatal(err)
	}
	d.mono = 0
	d.open(path)
	if _, err := d.RaiseEpoch(d.Context()); err != nil {
		d.Fatal(err)
	}
}

func TestAnotherHostGoesOn(t *testing.T) {
	d := &desk{T: t, wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	path := filepath.Join(t.TempDir(), "t.db")
	d.open(path)
	d.join("ada", "ann", "bob", "cid")
	d.send(note("m1", "one"), note("m2", "two"))
	d.do(func(tx *store.Tx) error { _, _, err := Claim(tx, ann()); return err })
	d.want("m1:delivered m2:pending")
	old := d.lock("ada", "a.go", false)
	d.lock("bob", "b.go", true)
	d.lock("cid", "b.go", true)
	f := d.ask("ada").Fence
	d.ask("bob")
	d.ask("cid")
	d.mono = 100 * time.Second
	d.do(func(tx *store.Tx) error { return Heartbeat(tx, run, "bob") })
	locks := d.locks()
	d.restart(path)
	d.wall = d.wall.Add(-1000 * time.Hour)
	for range 2 { // once more is nothing
		d.do(func(tx *store.Tx) error { return Recover(tx, run) })
	}
	d.want("m1:pending m2:pending")
	if got := d.locks(); got != locks {
		t.Errorf("locks %q, were %q", got, locks)
	}
	if tok := d.token("contested ada bob cid"); !f.Less(tok.Fence) || tok.Left != TokenHold-100*time.Second {
		t.Errorf("%+v after %v", tok, f)
	}
	d.refuse(agency.KindDenied, func(tx *store.Tx) error { return CheckLock(tx, run, "a.go", old) })
	d.refuse(agency.KindDenied, func(tx *store.Tx) error { return ReleaseToken(tx, review(), "ada", f) })
	d.locked("bob", "a.go", true)
	d.lock("ada", "a.go", false)
	d.do(func(tx *store.Tx) error {
		late, err := Missed(tx, run)
		if len(late) != 0 {
			t.Errorf("the host was away, not %+v", late)
		}
		return err
	})

	// Another host finds that ada has ended meanwhile.
	d.do(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE board_agent SET status = 'terminated', completed_at = 1 WHERE agent_id = 'ada'`)
		return err
	})
	d.restart(path)
	d.do(func(tx *store.Tx) error { return Recover(tx, run) })
	d.token("contested bob cid")
	if got := d.locks(); got != "bob:b.go shared, cid:b.go shared" {
		t.Error(got)
	}
}

func TestCheckpoints(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.join("ann", "bob")
	if err := b.Send(t.Context(), note("m1", "one")); err != nil {
		t.Fatal(err)
	}
	save := Write{Key: StateKey(run, "ann"), Value: []byte(`{"step":1}`), By: "ann"}
	d.do(func(tx *store.Tx) error { _, err := ClaimAll(tx, ann(), 1); return err })
	d.do(func(tx *store.Tx) error { return MarkRead(tx, ann(), "m1") })
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "m1") })
	e := d.put(save)
	d.give("ann", d.ask("ann").Fence)
	d.give("bob", d.ask("bob").Fence)
	read := func(agent agency.AgentID) string {
		var out []string
		d.do(func(tx *store.Tx) error {
			all, err := Checkpoints(tx, run, agent)
			for _, c := range all {
				out = append(out, fmt.Sprintf("%s %s %s %s", c.Agent, c.Type, c.Reference, c.State))
			}
			return err
		})
		return strings.Join(out, "\n")
	}
	mine := fmt.Sprintf("ann message_processed m1 \nann state_committed %d {\"step\":1}\nann token_released review/main {\"step\":1}", e.ID)
	if got := read("ann"); got != mine {
		t.Errorf("got\n%s\nwant\n%s", got, mine)
	}
	if got := read(""); got != mine+"\nbob token_released review/main " {
		t.Errorf("got\n%s", got)
	}
}

func TestARunEndsAndIsForgotten(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	d.send(note("m1", "one"))
	d.do(func(tx *store.Tx) error { _, err := ClaimAll(tx, ann(), 1); return err })
	d.do(func(tx *store.Tx) error { return MarkRead(tx, ann(), "m1") })
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "m1") })
	d.send(note("m2", "two"))
	d.lock("ann", "a.go", false)
	d.ask("ann")
	d.ask("bob")
	d.put(value("k", "1"))
	d.put(value("k", "2"))
	global := Write{Key: Key{Namespace: Global, Name: "k"}, Value: []byte("1"), By: "ada"}
	d.put(global)
	other := value("k", "1")
	other.Run = "run-2"
	d.put(other)
	for range 2 {
		d.do(func(tx *store.Tx) error { return End(tx, run, AgentTerminated, "the run has ended") })
	}
	d.token("available")
	if got := d.locks(); got != "" {
		t.Error(got)
	}
	d.want("m1:processed m2:failed")
	d.do(func(tx *store.Tx) error { return Retain(tx, run) })
	d.want("m2:failed")
	d.see(key("k"), "2:2")
	d.do(func(tx *store.Tx) error {
		past, err := StateHistory(tx, key("k"))
		if len(past) != 1 {
			t.Errorf("history: %+v", past)
		}
		return err
	})
	d.do(func(tx *store.Tx) error { return Forget(tx, run) })
	d.see(key("k"), "none")
	d.want("")
	d.do(func(tx *store.Tx) error {
		for _, table := range []string{"board_agent", "board_state", "board_state_head", "board_token", "board_token_wait", "board_delivery", "lease_held"} {
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
	d.join("ada", "bob")
	d.lock("ada", "a.go", false)
	d.ask("ada")
	d.ask("bob")
	w := value("k", "1")
	w.TTL = time.Minute
	d.put(w)
	d.mono = TokenHold
	for _, want := range []int{3, 0} {
		d.do(func(tx *store.Tx) error {
			n, err := Tidy(tx, 100)
			if n != want {
				t.Errorf("tidied %d, want %d", n, want)
			}
			return err
		})
	}
	d.token("held bob")
}
