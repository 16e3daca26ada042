package lock

import (
	"context"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/store"
)

// AcquireToken is RequestToken that waits for its turn, for as long as the
// context lasts: its cause is the error then, and the place in the queue is
// given up. Waiting costs no query; whoever releases the token hands it over in
// its own transaction.
func (m *Manager) AcquireToken(ctx context.Context, r TokenRequest) (agency.Fence, error) {
	for {
		w := m.enter(turn{r.TokenKey, r.Agent}) // before the request, so that no grant is missed
		var t Token
		err := m.db.Write(ctx, func(tx *store.Tx) (err error) {
			t, err = RequestToken(tx, r)
			return err
		})
		if err == nil && t.Holder != r.Agent {
			var f agency.Fence
			if f, err = m.awaitTurn(ctx, w, t.Left); err == nil && f == (agency.Fence{}) {
				m.leave(w)
				continue // the holder's time is over
			}
			t.Fence = f
		}
		m.leave(w)
		return t.Fence, err
	}
}

// awaitTurn waits for a grant, at most until the hold of the present holder is
// over; the fence is zero then.
func (m *Manager) awaitTurn(ctx context.Context, w *waitingTurn, left time.Duration) (agency.Fence, error) {
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case f := <-w.granted:
		return f, nil
	case <-timer.C:
		return agency.Fence{}, nil
	case <-m.over:
		return agency.Fence{}, board.ErrClosed // the place is kept for whoever asks after a restart
	case <-ctx.Done():
	}
	err := m.db.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return CancelToken(tx, w.key, w.agent) })
	if err == nil {
		err = context.Cause(ctx)
	}
	return agency.Fence{}, err
}

// Manager lets callers of this process wait for tokens.
type Manager struct {
	db   *store.DB
	stop func()
	over chan struct{} // closed by Close
	once sync.Once
	mu   sync.Mutex
	wait map[turn][]*waitingTurn
}

// NewManager makes the manager of a store.
func NewManager(db *store.DB) *Manager {
	m := &Manager{db: db, over: make(chan struct{}), wait: map[turn][]*waitingTurn{}}
	m.stop = store.Subscribe(db, tokenGranted(), m.feed)
	return m
}

// Close ends the waiting of those who wait, whose error is board.ErrClosed. It
// is idempotent.
func (m *Manager) Close() {
	m.once.Do(func() {
		m.stop()
		close(m.over)
	})
}

type turn struct {
	key   TokenKey
	agent agency.AgentID
}

type waitingTurn struct {
	turn
	granted chan agency.Fence // of one
}

func (m *Manager) enter(at turn) *waitingTurn {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &waitingTurn{at, make(chan agency.Fence, 1)}
	m.wait[at] = append(m.wait[at], w)
	return w
}

func (m *Manager) leave(w *waitingTurn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(m.wait[w.turn], func(v *waitingTurn) bool { return v == w })
	if m.wait[w.turn] = list; len(list) == 0 {
		delete(m.wait, w.turn)
	}
}

// feed hands over what has been granted. It runs on the writer.
func (m *Manager) feed(all []granted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range all {
		for _, w := range m.wait[turn{g.key, g.agent}] {
			select {
			case <-w.granted: // an older one, that was taken back unseen
			default:
			}
			w.granted <- g.fence
		}
	}
}
