package native

import (
	"context"
	"strings"
	"sync"
	"time"

	"agency/internal/registry"
	"agency/internal/store"
)

// orderEvery is how often it is looked whether sessions that wait for an answer are told to
// end: between turns each sees that at once.
const orderEvery = 2 * time.Second

// watch sees the requests of all sessions of a Runner. It gives those up whose sessions the
// overseer tells to end, or that wait to be sent again in a run that is to pause, by one timer.
type watch struct {
	mu   sync.Mutex
	of   map[*stint]*conversation
	next *time.Timer
	last map[string]time.Time // by provider, when it answered a session
}

// heard notes that a model has answered.
func (w *watch) heard(model string, now time.Time) {
	provider, _, _ := strings.Cut(model, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[provider] = now
}

// answered tells whether a provider has answered a session since then.
func (w *watch) answered(provider string, since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[provider].After(since)
}

func (w *watch) enter(c *conversation, s *stint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[s] = c
	if len(w.of) == 1 {
		w.next = time.AfterFunc(orderEvery, w.look)
	}
}

func (w *watch) leave(s *stint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, s)
	if len(w.of) == 0 {
		w.next.Stop()
	}
}

func (w *watch) look() {
	w.mu.Lock()
	by := map[*store.DB]map[*stint]*conversation{}
	for s, c := range w.of {
		if by[c.DB] == nil {
			by[c.DB] = map[*stint]*conversation{}
		}
		by[c.DB][s] = c
	}
	w.mu.Unlock()
	for db, of := range by {
		_ = db.Read(context.Background(), func(q *store.Snapshot) error {
			for s, c := range of {
				_ = obey(q, c, s) // what cannot be read is looked for again
			}
			return nil
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.of) > 0 {
		w.next.Reset(orderEvery)
	}
}

// obey gives the session's request up where that is wanted.
func obey(q *store.Snapshot, c *conversation, s *stint) error {
	order, err := registry.Ordered(q, c.Spec.Run, c.id)
	if err != nil {
		return err
	}
	if order != nil {
		s.cancel(errOrdered)
		return nil
	}
	if s.rests.Load() && s.stale != nil && s.stale() {
		s.cancel(errChosen)
		return nil
	}
	ctl, err := registry.ReadControl(q, c.Spec.Run)
	if err == nil && ctl.Pause && s.rests.Load() { // read last: who sends again looks for a pause first
		s.cancel(errPaused)
	}
	return err
}
