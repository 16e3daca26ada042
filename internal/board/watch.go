package board

import (
	"context"
	"iter"
	"strings"
	"sync"

	"agency/internal/store"
)

// page is how many versions a watcher reads at a time.
const page = 256

// WatchState yields the versions of a key with an Entry.ID above after, first
// those that are kept, then those to come, each once and in order, until the
// context ends (its cause is the last error) or the caller breaks.
func (b *Board) WatchState(ctx context.Context, k Key, after int64) iter.Seq2[Entry, error] {
	return b.watch(ctx, k, after, false)
}

// WatchStates is WatchState for all keys of the namespace that begin with
// k.Name.
func (b *Board) WatchStates(ctx context.Context, k Key, after int64) iter.Seq2[Entry, error] {
	return b.watch(ctx, k, after, true)
}

func (b *Board) watch(ctx context.Context, k Key, after int64, all bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := k.checkSpace(); err != nil {
			yield(Entry{}, err)
			return
		}
		w := &watcher{key: k, all: all, wake: make(chan struct{}, 1)}
		b.watches.enter(w) // before the first look, so that nothing falls between
		defer b.watches.leave(w)
		for {
			found, err := b.news(ctx, w, after)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range found {
				after = e.ID
				if w.matches(e) && !yield(e, nil) {
					return
				}
			}
			if len(found) == page {
				continue
			}
			select {
			case <-w.wake:
			case <-b.over:
				yield(Entry{}, ErrClosed)
				return
			case <-ctx.Done():
				yield(Entry{}, context.Cause(ctx))
				return
			}
		}
	}
}

// news are the next versions in a watcher's namespace.
func (b *Board) news(ctx context.Context, w *watcher, after int64) (found []Entry, err error) {
	err = b.db.Read(ctx, func(s *store.Snapshot) error {
		found, err = versions(s, `WHERE space = ? AND id > ? ORDER BY id LIMIT ?`, w.key.space(), after, page)
		return err
	})
	return found, err
}

// watches are the watchers of this process, by namespace.
type watches struct {
	mu sync.Mutex
	in map[string]map[*watcher]bool
}

type watcher struct {
	key  Key
	all  bool // of the keys that begin with the name
	wake chan struct{}
}

func (w *watcher) matches(e Entry) bool {
	return e.Name == w.key.Name || w.all && strings.HasPrefix(e.Name, w.key.Name)
}

func newWatches() *watches { return &watches{in: map[string]map[*watcher]bool{}} }

func (s *watches) enter(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := w.key.space()
	if s.in[space] == nil {
		s.in[space] = map[*watcher]bool{}
	}
	s.in[space][w] = true
}

func (s *watches) leave(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := w.key.space()
	if delete(s.in[space], w); len(s.in[space]) == 0 {
		delete(s.in, space)
	}
}

// feed wakes whom new versions concern; they read them from the database. It
// runs on the writer.
func (s *watches) feed(all []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range all {
		for w := range s.in[e.space()] {
			if !w.matches(e) {
				continue
			}
			select {
			case w.wake <- struct{}{}:
			default: // is awake already
			}
		}
	}
}
