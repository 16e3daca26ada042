package session

import (
	"context"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/store"
)

// beats tells the board that the agents of this process are there while they
// wait for a model or a command. A settled turn is a heartbeat by itself; what
// is older is renewed for all of them in one transaction, a third of
// board.HeartbeatInterval apart, so that none is ever late.
type beats struct {
	db    *store.DB
	every time.Duration

	mu    sync.Mutex
	all   map[*beat]bool
	leave func() // ends the goroutine and waits for it
}

// beat is one session at work.
type beat struct {
	run   agency.RunID
	agent agency.AgentID
	fence agency.Fence

	mu   sync.Mutex
	last time.Time // durable, or about to be
}

func (b *beat) now() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
}

func (b *beat) older(than time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last.Before(than)
}

func newBeats(db *store.DB, every time.Duration) *beats {
	if every <= 0 {
		every = board.HeartbeatInterval / 3
	}
	return &beats{db: db, every: every, all: map[*beat]bool{}}
}

// enter begins the heartbeats of a session. The first one starts the
// goroutine, the last one to exit ends it.
func (b *beats) enter(spec Spec, fence agency.Fence) *beat {
	one := &beat{run: spec.Run, agent: spec.Agent, fence: fence, last: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[one] = true
	if len(b.all) == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.run(ctx)
		}()
		b.leave = func() { cancel(); <-done }
	}
	return one
}

func (b *beats) exit(one *beat) {
	b.mu.Lock()
	delete(b.all, one)
	var leave func()
	if len(b.all) == 0 {
		leave, b.leave = b.leave, nil
	}
	b.mu.Unlock()
	if leave != nil {
		leave()
	}
}

func (b *beats) run(ctx context.Context) {
	t := time.NewTicker(b.every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			b.renew(ctx)
		}
	}
}

// renew writes the heartbeats that are due, those of one fence together. A
// heartbeat that cannot be written is as good as none: nothing fails for it.
func (b *beats) renew(ctx context.Context) {
	due := map[agency.Fence][]*beat{}
	limit := time.Now().Add(-b.every)
	b.mu.Lock()
	for one := range b.all {
		if one.older(limit) {
			due[one.fence] = append(due[one.fence], one)
		}
	}
	b.mu.Unlock()
	for fence, all := range due {
		err := b.db.WriteFenced(ctx, fence, func(tx *store.Tx) error {
			for _, one := range all {
				if err := board.Heartbeat(tx, one.run, one.agent); err != nil && !gone(err) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			continue
		}
		for _, one := range all {
			one.now()
		}
	}
}

// gone tells that the board knows no such live agent.
func gone(err error) bool {
	kind := agency.KindOf(err)
	return kind == agency.KindNotFound || kind == agency.KindConflict
}
