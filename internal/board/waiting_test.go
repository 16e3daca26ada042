package board

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

// newBoard is a board without limits.
func (d *desk) newBoard() *Board {
	d.Helper()
	b, err := Open(d.Context(), d.DB, Options{MaxQueue: 1 << 20})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = b.Close() })
	return b
}

func (d *desk) boardSend(b *Board, m agency.Message) {
	d.Helper()
	if err := b.Send(d.Context(), m); err != nil {
		d.Fatal(err)
	}
}

// quiet checks that what memory knows is what a new
// count finds.
func (b *Board) quiet(t *testing.T) {
	t.Helper()
	b.boxes.mu.Lock()
	have, coming := b.boxes.n, len(b.boxes.coming)
	b.boxes.mu.Unlock()
	if coming != 0 {
		t.Errorf("%d inboxes expect mail when all is done", coming)
	}
	if err := b.db.Write(t.Context(), census); err != nil {
		t.Fatal(err)
	}
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	if !maps.Equal(have.pending, b.boxes.n.pending) {
		t.Errorf("memory counts %v pending, the database %v", have.pending, b.boxes.n.pending)
	}
	if !maps.EqualFunc(have.taken, b.boxes.n.taken, maps.Equal) {
		t.Errorf("memory counts %v taken, the database %v", have.taken, b.boxes.n.taken)
	}
}

var errTakenBack = errors.New("taken back")

// TestManyAgentsLoseNothing lets agents send and claim at once, by what memory says of
// their inboxes, with claims and sends that are taken back: each message that was sent
// is claimed once.
func TestManyAgentsLoseNothing(t *testing.T) {
	const agents, each = 10, 12
	d := newDesk(t)
	b := d.newBoard()
	names := make([]agency.AgentID, agents)
	for i := range names {
		names[i] = agency.AgentID(fmt.Sprintf("a%d", i))
	}
	d.join(names...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	sent, got := map[agency.MessageID]bool{}, map[agency.MessageID]int{}
	done := make(chan struct{})
	check := func() {
		mu.Lock()
		defer mu.Unlock()
		if len(sent) == agents*each && len(got) == len(sent) {
			select {
			case <-done:
			default:
				close(done)
			}
		}
	}
	var receivers, senders sync.WaitGroup
	for i, name := range names {
		senders.Go(func() { b.sendMany(t, rand.New(rand.NewPCG(1, uint64(i))), names, i, each, &mu, sent) })
		receivers.Go(func() {
			dice := rand.New(rand.NewPCG(2, uint64(i)))
			who := as(name, "s")
			for ctx.Err() == nil {
				if !b.Waiting(who) {
					runtime.Gosched()
					continue
				}
				var m agency.Message
				var ok bool
				err := b.db.Write(t.Context(), func(tx *store.Tx) (err error) {
					if m, ok, err = Claim(tx, who); err == nil && dice.IntN(4) == 0 {
						err = errTakenBack
					}
					return err
				})
				if err != nil && !errors.Is(err, errTakenBack) {
					t.Error(err)
					return
				}
				if err != nil || !ok { // another of the role was quicker
					continue
				}
				mu.Lock()
				got[m.ID]++
				mu.Unlock()
				check()
			}
		})
	}
	senders.Wait()
	check()
	<-done
	cancel()
	receivers.Wait()
	for id, n := range got {
		if n != 1 || !sent[id] {
			t.Errorf("message %s was claimed %d times, acknowledged: %v", id, n, sent[id])
		}
	}
	b.quiet(t)
}

func (b *Board) sendMany(t *testing.T, dice *rand.Rand, names []agency.AgentID, me, each int, mu *sync.Mutex, sent map[agency.MessageID]bool) {
	for n := 0; n < each; n++ {
		m := msg(fmt.Sprintf("m%d-%d", me, n), string(names[me]), "@scaffolder")
		if to := dice.IntN(len(names)); to != me && dice.IntN(3) > 0 {
			m.To, m.ToRole = string(names[to]), ""
		}
		m.Priority = dice.IntN(3)
		fail := dice.IntN(4) == 0
		err := b.db.Write(t.Context(), func(tx *store.Tx) error {
			if err := b.SendTx(tx, m); err != nil || !fail {
				return err
			}
			return errTakenBack
		})
		switch {
		case fail && errors.Is(err, errTakenBack):
			n-- // the same id again
		case err != nil:
			t.Error(err)
		default:
			mu.Lock()
			sent[m.ID] = true
			mu.Unlock()
		}
	}
}

func TestKeepEndsWhatIsOver(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), Migrations()},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, DB: db}
	t.Cleanup(func() { _ = db.Close() })
	d.join("ann", "bob")
	b := d.newBoard()
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- b.Maintain(ctx) }()
	m := msg("1", "bob", "ann")
	m.TTL, m.RequiresResponse, m.RespondWithin = time.Millisecond, true, 2*time.Millisecond
	d.boardSend(b, m)
	want := map[agency.MessageID]bool{"1/ann/failed": true, "1/overdue": true}
	for len(want) > 0 {
		if !b.Waiting(as("bob", "s")) {
			runtime.Gosched()
			continue
		}
		d.do(func(tx *store.Tx) error {
			ms, err := ClaimAll(tx, as("bob", "s"), 10)
			for _, n := range ms {
				delete(want, n.ID)
			}
			return err
		})
	}
	cancel()
	if err := <-kept; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
