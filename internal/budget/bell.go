package budget

import (
	"sync"

	"agency/internal/agency"
	"agency/internal/store"
)

// moved tells that something was settled, or that the queue of a run has moved.
func moved() store.Topic[agency.RunID] { return store.Topic[agency.RunID]{Name: "budget"} }

// Ended is a request that holds nothing any more, and what it came to.
type Ended struct {
	Run   agency.RunID
	Key   string
	Money agency.Money
}

// Endings tells of requests that were settled, released or charged.
func Endings() store.Topic[Ended] { return store.Topic[Ended]{Name: "budget/ended"} }

func tellEnded(tx *store.Tx, run agency.RunID, key string, money agency.Money) {
	store.Publish(tx, Endings(), Ended{run, key, money})
}

// Bell rings for those who wait for a reservation, whenever it is worth asking
// again. The database is the record; the bell only saves looking.
type Bell struct {
	mu     sync.Mutex
	ring   chan struct{}
	cancel func()
}

// NewBell hangs a bell into a store; Close takes it down.
func NewBell(db *store.DB) *Bell {
	b := &Bell{ring: make(chan struct{})}
	b.cancel = store.Subscribe(db, moved(), func([]agency.RunID) { b.Ring() })
	return b
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ring)
	b.ring = make(chan struct{})
}

// Next is closed at the next ring. Who takes it before it asks misses none.
func (b *Bell) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring
}

// Close ends the ringing.
func (b *Bell) Close() { b.cancel() }
