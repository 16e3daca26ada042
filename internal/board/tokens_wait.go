package board

import (
	"context"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// AcquireToken is RequestToken that waits for its turn, for as long as the
// context lasts: its cause is the error then, and the place in the queue is
// given up. Waiting costs no query; whoever releases the token hands it over in
// its own transaction.
func (b *Board) AcquireToken(ctx context.Context, r TokenRequest) (agency.Fence, error) {
	for {
		w := b.turns.enter(turn{r.TokenKey, r.Agent}) // before the request, so that no grant is missed
		var t Token
		err := b.db.Write(ctx, func(tx *store.Tx) (err error) {
			t, err = RequestToken(tx, r)
			return err
		})
		if err == nil && t.Holder != r.Agent {
			var f agency.Fence
			if f, err = b.awaitTurn(ctx, w, t.Left); err == nil && f == (agency.Fence{}) {
				b.turns.leave(w)
				continue // the holder's time is over
			}
			t.Fence = f
		}
		b.turns.leave(w)
		return t.Fence, err
	}
}

// awaitTurn waits for a grant, at most until the hold of the present holder is
// over; the fence is zero then.
func (b *Board) awaitTurn(ctx context.Context, w *waitingTurn, left time.Duration) (agency.Fence, error) {
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case f := <-w.granted:
		return f, nil
	case <-timer.C:
		return agency.Fence{}, nil
	case <-b.over:
		return agency.Fence{}, ErrClosed // the place is kept for whoever asks after a restart
	case <-ctx.Done():
	}
	err := b.db.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return CancelToken(tx, w.key, w.agent) })
	if err == nil {
		err = context.Cause(ctx)
	}
	return agency.Fence{}, err
}

// turns are those who wait for a token in this process.
type turns struct {
	mu   sync.Mutex
	wait map[turn][]*waitingTurn
}

type turn struct {
	key   TokenKey
	agent agency.AgentID
}

type waitingTurn struct {
	turn
	granted chan agency.Fence // of one
}

func newTurns() *turns { return &turns{wait: map[turn][]*waitingTurn{}} }

func (t *turns) enter(at turn) *waitingTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &waitingTurn{at, make(chan agency.Fence, 1)}
	t.wait[at] = append(t.wait[at], w)
	return w
}

func (t *turns) leave(w *waitingTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.DeleteFunc(t.wait[w.turn], func(v *waitingTurn) bool { return v == w })
	if t.wait[w.turn] = list; len(list) == 0 {
		delete(t.wait, w.turn)
	}
}

// feed hands over what has been granted. It runs on the writer.
func (t *turns) feed(all []granted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range all {
		for _, w := range t.wait[turn{g.key, g.agent}] {
			select {
			case <-w.granted: // an older one, that was taken back unseen
			default:
			}
			w.granted <- g.fence
		}
	}
}
