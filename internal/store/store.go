// Package store keeps what must survive: one SQLite file in WAL mode, written
// by one goroutine and read by many.
//
// A write is a closure over a Tx. Closures of concurrent callers share one
// transaction (group commit), each inside its own savepoint, so that the
// failure of one does not undo its neighbours; Write returns after the
// transaction is durable (synchronous=FULL). A read is a closure over a
// Snapshot from a pool of read-only connections. Large values are blobs, named
// by the SHA-256 of their content and compressed.
//
// Each owner of tables brings its own SQL and its own migrations (a Set). The
// package knows no table but its own two: it does not decide who may write
// what beyond the host's epoch, keeps no cache of rows, and opens no other
// database.
//
// Conventions for owners: times are INTEGER microseconds since 1970 UTC (see
// Micros), hashes are TEXT, JSON is TEXT. Closures do no I/O, run no Write or
// Read of their own (that would wait for itself), and keep no Tx, Snapshot,
// Rows or Row after they return.
package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"agency/internal/agency"
)

// Options say what to open.
type Options struct {
	// Path is the database file. Its folder must exist; the file is created
	// with mode 0600.
	Path string
	// Sets are the owners' migrations, in order of dependency.
	Sets []Set
	// Now is the wall clock; default time.Now.
	Now func() time.Time
	// Mono is the host's monotonic clock, which stands still while the machine
	// sleeps; default the time since Open.
	Mono func() time.Duration
	// ReadOnly opens for looking: nothing is created or migrated.
	ReadOnly bool
	// Redact is applied to every string and byte slice that is bound and to
	// every blob; nil changes nothing. It must be pure and idempotent.
	Redact func([]byte) []byte
	// Reserve is how many bytes of disk are kept back for writes that are
	// Needed; 0 keeps none.
	Reserve int64
	// LongLog takes 17 MB of disk for a write-ahead log that commits overwrite
	// from the first on, and checkpoints seldom: for a store that is written for
	// long. It costs some milliseconds once.
	LongLog bool

	seams seams
}

// seams are what tests replace. The planted faults show that the suite sees
// them.
type seams struct {
	fsType   func(dir string) (name string, network bool, err error)
	maxPages int // size limit of the file, as a small disk would set
	noGather bool
	ackEarly bool // planted: acknowledge before the commit
	noFence  bool // planted: no check of the epoch
}

// DB is an open store. Its methods may be called by any goroutine.
type DB struct {
	path     string
	readOnly bool
	now      func() time.Time
	mono     func() time.Duration
	redact   atomic.Pointer[func([]byte) []byte]
	zip      compressor
	reserve  *reserve // nil: none is kept
	named    []string // queries of the blobs that rows name
	hooks    []Hook
	readers  *readers
	writer   *writer // nil: for looking only, or not opened yet
	topics   topics
	shut     sync.Once
	shutErr  error
}

// Close ends the store after the writes and reads under way. It is
// idempotent.
func (db *DB) Close() error {
	db.shut.Do(func() {
		var errs []error
		if db.writer != nil {
			db.writer.drain()
		}
		if db.readers != nil { // first: the last connection to close must be one that may checkpoint
			errs = append(errs, db.readers.close())
		}
		if db.writer != nil {
			errs = append(errs, db.writer.close())
		}
		db.zip.dec.Close()
		errs = append(errs, db.zip.enc.Close())
		db.shutErr = explain(db.path, errors.Join(errs...))
	})
	return db.shutErr
}

// Path is the database file.
func (db *DB) Path() string { return db.path }

// Mono is the monotonic clock that transactions carry.
func (db *DB) Mono() time.Duration { return db.mono() }

// SetRedact replaces the redaction for the transactions that begin later; nil
// switches it off.
func (db *DB) SetRedact(redact func([]byte) []byte) {
	if redact == nil {
		db.redact.Store(nil)
		return
	}
	db.redact.Store(&redact)
}

// Redact applies the current redaction.
func (db *DB) Redact(b []byte) []byte {
	if f := db.redact.Load(); f != nil {
		return (*f)(b)
	}
	return b
}

// RaiseEpoch takes the store for this host: writes fenced with an older epoch
// are refused from now on, in this process and in others.
func (db *DB) RaiseEpoch(ctx context.Context) (epoch int64, err error) {
	err = db.Write(ctx, func(tx *Tx) error {
		tx.batch.epochOK = false
		return tx.QueryRow(raiseEpoch).Scan(&epoch)
	})
	return epoch, err
}

// Write runs fn in a write transaction and returns when it is durable, or
// when fn or the commit has failed and nothing of it is kept. Closures run
// one at a time, in the order in which they arrive. A context that ends before
// fn has begun returns its error and fn does not run; one that ends later has
// no effect. fn runs once more where the disk was full and the context is
// Needed.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return db.writeWithReserve(ctx, fn, nil)
}

// WriteFenced is Write with tx.Fence set, for a run's own writes: refused
// (KindDenied, ErrFenced) when the fence's epoch is not the store's.
func (db *DB) WriteFenced(ctx context.Context, fence agency.Fence, fn func(*Tx) error) error {
	return db.writeWithReserve(ctx, fn, &fence)
}

// writeWithReserve tries once more with the room of the reserve where the disk is full
// and the write is needed.
func (db *DB) writeWithReserve(ctx context.Context, fn func(*Tx) error, fence *agency.Fence) error {
	err := db.submit(ctx, &request{fn: fn, fence: fence})
	if db.room(ctx, err) {
		return db.submit(ctx, &request{fn: fn, fence: fence})
	}
	return err
}

// room tells whether a write that has failed for want of room has some now.
func (db *DB) room(ctx context.Context, err error) bool {
	return errors.Is(err, ErrDiskFull) && isNeeded(ctx) && db.reserve.release()
}

func (db *DB) submit(ctx context.Context, r *request) error {
	if db.readOnly {
		return agency.Errorf(agency.KindDenied, "%s was opened for reading only", db.path)
	}
	return db.writer.queue.submit(ctx, r)
}

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
