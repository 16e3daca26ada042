package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"agency/internal/agency"
)

// maxBatch bounds how many closures share a transaction, and with it how long
// the first of them waits.
const maxBatch = 256

// maxGather bounds the wait for callers that are expected back. Half the
// measured time of a commit is the other bound: a wait may cost less than the
// commit that it saves.
const maxGather = time.Millisecond

// maxYields is how often callers that are expected back are let run before the
// writer goes to sleep for them: waking it up for each costs more.
const maxYields = 4

// stale is how long the size of the last batch says something about the next.
const stale = 5 * time.Millisecond

// The states of a request: a caller whose context ends may take back a
// request that has not begun.
const (
	queued int32 = iota
	running
	takenBack
)

type request struct {
	fn     func(*Tx) error
	alone  func() error // runs between transactions instead of fn
	shared sharer       // runs once for all of its requests in the batch instead of fn
	item   any          // for shared
	fence  *agency.Fence
	state  atomic.Int32
	tx     Tx
	err    error
	done   chan struct{}
}

// queue is what waits for the writer.
type queue struct {
	gate     sync.RWMutex // closed, and sending on requests
	closed   bool
	requests chan *request
}

func (q *queue) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r.done = make(chan struct{})
	q.gate.RLock()
	if q.closed {
		q.gate.RUnlock()
		return ErrClosed
	}
	q.requests <- r
	q.gate.RUnlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(queued, takenBack) {
		return context.Cause(ctx)
	}
	<-r.done
	return r.err
}

// close takes no more requests.
func (q *queue) close() {
	q.gate.Lock()
	defer q.gate.Unlock()
	q.closed = true
	close(q.requests)
}

// writer is the one goroutine that writes, and what is its own.
type writer struct {
	db      *DB
	queue   queue
	drained chan struct{} // closed when all requests are answered; nil before start
	pool    *sql.DB
	conn    *conn
	batch   *batch
	rhythm  rhythm
	memory  memory
	longLog bool
	seams   seams
}

func newWriter(db *DB, pool *sql.DB, o Options) *writer {
	return &writer{
		db: db, pool: pool, queue: queue{requests: make(chan *request, maxBatch)},
		memory: memory{values: map[any]any{}}, longLog: o.LongLog, seams: o.seams,
	}
}

// start begins to answer requests.
func (w *writer) start(ctx context.Context) (err error) {
	if w.conn, err = newConn(ctx, w.pool, w.db.path); err != nil {
		return err
	}
	if w.longLog {
		if _, err := w.conn.pragma("wal_autocheckpoint(" + strconv.Itoa(logPages) + ")"); err != nil {
			return err
		}
		lengthenLog(w.db.path)
	}
	w.drained = make(chan struct{})
	go w.loop()
	return nil
}

// drain takes no more requests and waits until those that came are answered.
func (w *writer) drain() {
	w.queue.close()
	if w.drained != nil {
		<-w.drained
	}
}

func (w *writer) close() error {
	var err error
	if w.conn != nil {
		err = w.conn.close()
	}
	return errors.Join(err, w.pool.Close())
}

// rhythm is what the writer knows about its callers, to tell a crowd that
// will be back in a moment from a lone caller.
type rhythm struct {
	crowd  int           // callers of the last batch plus those queued at its end
	commit time.Duration // moving average of a commit
	ended  time.Time
}

// loop is the writer: the only goroutine that uses the connection after Open.
func (w *writer) loop() {
	orderly := false
	defer func() {
		if !orderly { // a closure has called runtime.Goexit; the next goroutine goes on
			go w.loop()
			return
		}
		close(w.drained)
	}()
	for r := range w.queue.requests {
		for r != nil {
			r = w.runBatch(r)
		}
	}
	orderly = true
}

// runBatch runs a request and those that share its transaction, and gives the
// one that it took from the queue and cannot share.
func (w *writer) runBatch(first *request) (next *request) {
	if !first.state.CompareAndSwap(queued, running) {
		return nil
	}
	if first.alone != nil {
		first.err = errGoexit
		defer close(first.done)
		first.err = first.alone()
		return nil
	}
	b := &batch{w: w, now: w.db.now().UTC().Truncate(time.Microsecond).Round(0), mono: w.db.mono()}
	if f := w.db.redact.Load(); f != nil {
		b.redact = *f
	}
	w.batch = b
	defer func() { // only a Goexit in a closure comes here with a batch still set
		if w.batch != nil {
			b.finish()
		}
	}()
	b.take(first)
	for b.callers < maxBatch && b.dead == nil {
		r := w.nextRequest(b)
		if r == nil {
			break
		}
		if r.alone != nil {
			next = r
			break
		}
		if r.state.CompareAndSwap(queued, running) {
			b.take(r)
		}
	}
	b.runShares()
	b.finish()
	return next
}

// nextRequest is the next request for the batch: one that is queued, or one that
// is likely to come within less than the commit it would otherwise cost.
// Callers that were acknowledged together come back together, while those
// that were queued meanwhile are already here: without a wait they would form
// two cohorts that commit in turn.
func (w *writer) nextRequest(b *batch) *request {
	select {
	case r := <-w.queue.requests:
		return r // nil once closed
	default:
	}
	if w.seams.noGather || b.callers >= w.rhythm.crowd || time.Since(w.rhythm.ended) > stale {
		return nil
	}
	for range maxYields { // those that were just acknowledged are runnable: let them run
		runtime.Gosched()
		select {
		case r := <-w.queue.requests:
			return r
		default:
		}
	}
	timer := time.NewTimer(min(w.rhythm.commit/2, maxGather))
	defer timer.Stop()
	select {
	case r := <-w.queue.requests:
		return r
	case <-timer.C:
		return nil
	}
}
