package board

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// TestManySendersAtOnceEachGetTheirOwnAnswer: what they share is the commit
// only.
func TestManySendersAtOnceEachGetTheirOwnAnswer(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid", "eve")
	b := d.newBoard()
	first := msg("first", "bob", "ann")
	d.boardSend(b, first)
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "eve", AgentFailed, "gone") })
	other := first
	other.Body = "other words"
	void := msg("void", "bob", "ann")
	void.Body = " "
	bad := []struct {
		m    agency.Message
		want agency.Kind
	}{
		{other, agency.KindConflict},
		{void, agency.KindInvalid},
		{msg("gone", "bob", "eve"), agency.KindConflict},
		{msg("nobody", "bob", "dora"), agency.KindNotFound},
		{msg("ghost", "eve", "ann"), agency.KindConflict},
	}
	var all sync.WaitGroup
	const rounds = 40
	for n := range rounds {
		all.Go(func() {
			if err := b.Send(t.Context(), msg(fmt.Sprint("m", n), "bob", "ann")); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := b.Send(t.Context(), msg(fmt.Sprint("e", n), "cid", "*")); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := b.Send(t.Context(), first); err != nil {
				t.Errorf("the same again: %v", err)
			}
		})
		all.Go(func() {
			c := bad[n%len(bad)]
			if err := b.Send(t.Context(), c.m); err == nil || agency.KindOf(err) != c.want {
				t.Errorf("%s: %v, want %v", c.m.ID, err, c.want)
			}
		})
	}
	all.Wait()
	if n := b.Pending(run, "ann", ""); n != 1+2*rounds {
		t.Errorf("%d wait for ann", n)
	}
	d.do(func(tx *store.Tx) error {
		ms, err := Messages(tx, run)
		if len(ms) != 1+2*rounds {
			t.Errorf("%d messages", len(ms))
		}
		got, e := ClaimAll(tx, as("ann", "s1"), 1000)
		if len(got) != 1+2*rounds || got[0].ID != "first" {
			t.Errorf("%d were claimed", len(got))
		}
		evs, e2 := event.Since(tx, 0, event.Filter{Run: run, Types: []agency.EventType{"message_sent"}}, 0)
		if len(evs) != 1+2*rounds {
			t.Errorf("%d events", len(evs))
		}
		return errors.Join(err, e, e2)
	})
}
