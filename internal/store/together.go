package store

import "context"

// Together is a kind of write whose callers share one closure: those that come
// to the same transaction are handed to it at once, so that it can do for all
// of them what would cost each of them as much. It runs after the closures of
// Write in the batch.
type Together[T any] struct {
	db *DB
	fn func(tx *Tx, items []T, errs []error) error
}

// NewTogether makes a kind of write. fn sets the error of an item that it
// refuses, for which it has written nothing. Where it returns an error itself
// nothing of it is kept, and it is called again for each item alone, whose
// error is then that of the one caller.
func NewTogether[T any](db *DB, fn func(tx *Tx, items []T, errs []error) error) *Together[T] {
	return &Together[T]{db, fn}
}

// Write hands an item to the closure and returns when it is durable, or was
// refused. It is as DB.Write otherwise.
func (g *Together[T]) Write(ctx context.Context, item T) error {
	err := g.db.submit(ctx, &request{shared: g, item: item})
	if g.db.room(ctx, err) {
		return g.db.submit(ctx, &request{shared: g, item: item})
	}
	return err
}

func (g *Together[T]) share(tx *Tx, rs []*request) error {
	items, errs := make([]T, len(rs)), make([]error, len(rs))
	for i, r := range rs {
		items[i] = r.item.(T) //nolint:errcheck // Write is the only one that sets it
	}
	if err := g.fn(tx, items, errs); err != nil {
		return err
	}
	for i, r := range rs {
		r.err = errs[i]
	}
	return nil
}

// sharer is a Together of any type.
type sharer interface {
	share(tx *Tx, rs []*request) error
}

// share is the requests of a batch that are of one kind.
type share struct {
	of sharer
	rs []*request
}

// join keeps a request for the end of the batch.
func (b *batch) join(r *request) {
	r.err = errGoexit // stays when the closure never returns
	b.members = append(b.members, r)
	for _, s := range b.shares {
		if s.of == r.shared {
			s.rs = append(s.rs, r)
			return
		}
	}
	b.shares = append(b.shares, &share{r.shared, []*request{r}})
}

// runShares runs each kind once, and again for each of its requests where
// together they fail.
func (b *batch) runShares() {
	for _, s := range b.shares {
		all := &request{fn: func(tx *Tx) error { return s.of.share(tx, s.rs) }}
		b.run(all)
		if all.err == nil && b.dead == nil {
			continue
		}
		all.tx.abort()
		for _, r := range s.rs {
			alone := &request{fn: func(tx *Tx) error {
				if err := s.of.share(tx, []*request{r}); err != nil {
					return err
				}
				return r.err
			}}
			if len(s.rs) > 1 {
				b.run(alone)
			} else {
				alone.err = all.err
			}
			r.err = alone.err
		}
	}
}
