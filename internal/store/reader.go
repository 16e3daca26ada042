package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"runtime/debug"
	"time"
)

// Snapshot is a consistent view of the database for one closure: everything
// committed before its first query, nothing after.
type Snapshot struct {
	db   *DB
	ctx  context.Context
	s    *conn
	done bool
}

// Mono is the host's monotonic clock, as Tx.Mono.
func (s *Snapshot) Mono() time.Duration { return s.db.mono() }

// Query runs a statement that returns rows.
func (s *Snapshot) Query(query string, args ...any) (*Rows, error) {
	if s.done {
		return nil, errTxDone
	}
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	if err := checkQuery(query); err != nil {
		return nil, err
	}
	var redact func([]byte) []byte
	if f := s.db.redact.Load(); f != nil {
		redact = *f
	}
	args, err := redactArgs(redact, args)
	if err != nil {
		return nil, err
	}
	rows, err := s.s.query(query, args...)
	return rows, explain(s.db.path, err)
}

// QueryRow is Query for at most one row.
func (s *Snapshot) QueryRow(query string, args ...any) *Row {
	rows, err := s.Query(query, args...)
	return &Row{rows: rows, err: err}
}

// Read runs fn on a snapshot; it waits for a free reader. The context is
// looked at while waiting and before each query.
func (db *DB) Read(ctx context.Context, fn func(*Snapshot) error) error {
	s, err := db.readers.take(ctx)
	if err != nil {
		return err
	}
	defer db.readers.put(s)
	if _, err := s.exec("BEGIN"); err != nil {
		return explain(db.path, err)
	}
	snap := &Snapshot{db: db, ctx: ctx, s: s}
	defer func() {
		snap.done = true
		s.closeRows()
		_, _ = s.exec("ROLLBACK") // nothing was written
	}()
	return look(fn, snap)
}

func look(fn func(*Snapshot) error, s *Snapshot) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError("a store read", v, debug.Stack())
		}
	}()
	return fn(s)
}

// readers is the pool of read-only connections, opened as they are needed.
type readers struct {
	db    *sql.DB
	path  string
	slots chan *conn // nil: may be opened
	over  chan struct{}
}

func newReaders(db *sql.DB, path string) *readers {
	n := max(4, 2*runtime.GOMAXPROCS(0))
	r := &readers{db: db, path: path, slots: make(chan *conn, n), over: make(chan struct{})}
	for range n {
		r.slots <- nil
	}
	return r
}

func (r *readers) take(ctx context.Context) (*conn, error) {
	select {
	case <-r.over:
		return nil, ErrClosed
	default:
	}
	select {
	case s := <-r.slots:
		if s != nil {
			return s, nil
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-r.over:
		return nil, ErrClosed
	}
	s, err := newConn(context.WithoutCancel(ctx), r.db, r.path)
	if err != nil {
		r.slots <- nil
	}
	return s, err
}

func (r *readers) put(s *conn) { r.slots <- s }

// close waits for the readers at work.
func (r *readers) close() error {
	close(r.over)
	var errs []error
	for range cap(r.slots) {
		if s := <-r.slots; s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(append(errs, r.db.Close())...)
}

// Get reads what f reads of a key, in a snapshot of its own.
func Get[K, T any](ctx context.Context, db *DB, f func(Querier, K) (T, error), key K) (out T, err error) {
	err = db.Read(ctx, func(s *Snapshot) error {
		out, err = f(s, key)
		return err
	})
	return out, err
}
