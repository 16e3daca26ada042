package state

import (
	"context"
	"iter"
	"strings"
	"sync"

	"agency/internal/board"
	"agency/internal/store"
)

// page is how many versions a watch reads at a time.
const page = 256

// Watcher lets callers of this process follow keys.
type Watcher struct {
	db   *store.DB
	stop func()
	over chan struct{} // closed by Close
	once sync.Once
	mu   sync.Mutex
	in   map[Key]map[*watch]bool // by space
}

// NewWatcher makes the watcher of a store.
func NewWatcher(db *store.DB) *Watcher {
	w := &Watcher{db: db, over: make(chan struct{}), in: map[Key]map[*watch]bool{}}
	w.stop = store.Subscribe(db, stateChanged(), w.feed)
	return w
}

// Close ends the waiting of those who watch, whose error is board.ErrClosed. It
// is idempotent.
func (w *Watcher) Close() {
	w.once.Do(func() {
		w.stop()
		close(w.over)
	})
}

// Watch yields the versions of a key with an Entry.ID above after, first
// those that are kept, then those to come, each once and in order, until the
// context ends (its cause is the last error) or the caller breaks.
func (w *Watcher) Watch(ctx context.Context, k Key, after int64) iter.Seq2[Entry, error] {
	return w.follow(ctx, &watch{key: k}, after)
}

// WatchAll is Watch for all keys of the namespace that begin with k.Name.
func (w *Watcher) WatchAll(ctx context.Context, k Key, after int64) iter.Seq2[Entry, error] {
	return w.follow(ctx, &watch{key: k, all: true}, after)
}

func (w *Watcher) follow(ctx context.Context, one *watch, after int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := one.key.checkSpace(); err != nil {
			yield(Entry{}, err)
			return
		}
		one := &watch{key: one.key, all: one.all, wake: make(chan struct{}, 1)}
		w.enter(one) // before the first look, so that nothing falls between
		defer w.leave(one)
		for {
			found, err := w.news(ctx, one, after)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range found {
				after = e.ID
				if one.matches(e) && !yield(e, nil) {
					return
				}
			}
			if len(found) == page {
				continue
			}
			select {
			case <-one.wake:
			case <-w.over:
				yield(Entry{}, board.ErrClosed)
				return
			case <-ctx.Done():
				yield(Entry{}, context.Cause(ctx))
				return
			}
		}
	}
}

// news are the next versions in a watch's namespace.
func (w *Watcher) news(ctx context.Context, one *watch, after int64) (found []Entry, err error) {
	err = w.db.Read(ctx, func(s *store.Snapshot) error {
		found, err = entries(s, selectNews, string(one.key.Namespace), string(one.key.Run), one.key.Of, after, page)
		return err
	})
	return found, err
}

// watch is one that follows keys.
type watch struct {
	key  Key
	all  bool // that begin with the name
	wake chan struct{}
}

func (w *watch) matches(e Entry) bool {
	return e.Name == w.key.Name || w.all && strings.HasPrefix(e.Name, w.key.Name)
}

func (w *Watcher) enter(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	space := one.key.space()
	if w.in[space] == nil {
		w.in[space] = map[*watch]bool{}
	}
	w.in[space][one] = true
}

func (w *Watcher) leave(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	space := one.key.space()
	if delete(w.in[space], one); len(w.in[space]) == 0 {
		delete(w.in, space)
	}
}

// feed wakes whom new versions concern; they read them from the database. It
// runs on the writer.
func (w *Watcher) feed(all []Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range all {
		for one := range w.in[e.space()] {
			if !one.matches(e) {
				continue
			}
			select {
			case one.wake <- struct{}{}:
			default: // is awake already
			}
		}
	}
}
