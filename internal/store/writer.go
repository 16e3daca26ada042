package store

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
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

// Write runs fn in a write transaction and returns when it is durable, or
// when fn or the commit has failed and nothing of it is kept. Closures run
// one at a time, in the order in which they arrive. A context that ends before
// fn has begun returns its error and fn does not run; one that ends later has
// no effect. fn runs once more where the disk was full and the context is
// Needed.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return db.insist(ctx, fn, nil)
}

// WriteFenced is Write with tx.Fence set, for a run's own writes: refused
// (KindDenied, ErrFenced) when the fence's epoch is not the store's.
func (db *DB) WriteFenced(ctx context.Context, fence agency.Fence, fn func(*Tx) error) error {
	return db.insist(ctx, fn, &fence)
}

// insist tries once more with the room of the reserve where the disk is full
// and the write is needed.
func (db *DB) insist(ctx context.Context, fn func(*Tx) error, fence *agency.Fence) error {
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
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r.done = make(chan struct{})
	db.gate.RLock()
	if db.closed {
		db.gate.RUnlock()
		return ErrClosed
	}
	db.requests <- r
	db.gate.RUnlock()
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

// batch is one transaction and the closures that share it. begun tells whether
// the transaction is open, clean whether nothing in it is kept yet: a closure
// that finds it clean needs no savepoint, since all can be rolled back.
type batch struct {
	db      *DB
	begun   bool
	clean   bool
	now     time.Time
	mono    time.Duration
	redact  func([]byte) []byte
	members []*request
	shares  []*share
	callers int   // those that are to be acknowledged
	kept    int   // closures whose work is part of the transaction
	dead    error // the transaction is gone
	epoch   int64
	epochOK bool
	outbox  map[any]deliverer
	order   []deliverer
}

// rhythm is what the writer knows about its callers, to tell a crowd that
// will be back in a moment from a lone caller.
type rhythm struct {
	crowd  int           // callers of the last batch plus those queued at its end
	commit time.Duration // moving average of a commit
	ended  time.Time
}

// writeLoop is the writer: the only goroutine that uses db.writer after Open.
func (db *DB) writeLoop() {
	orderly := false
	defer func() {
		if !orderly { // a closure has called runtime.Goexit; the next goroutine goes on
			go db.writeLoop()
			return
		}
		close(db.drained)
	}()
	for r := range db.requests {
		for r != nil {
			r = db.runBatch(r)
		}
	}
	orderly = true
}

// runBatch runs a request and those that share its transaction, and gives the
// one that it took from the queue and cannot share.
func (db *DB) runBatch(first *request) (next *request) {
	if !first.state.CompareAndSwap(queued, running) {
		return nil
	}
	if first.alone != nil {
		first.err = errGoexit
		defer close(first.done)
		first.err = first.alone()
		return nil
	}
	b := &batch{db: db, now: db.now().UTC().Truncate(time.Microsecond).Round(0), mono: db.mono()}
	if f := db.redact.Load(); f != nil {
		b.redact = *f
	}
	db.batch = b
	defer func() { // only a Goexit in a closure comes here with a batch still set
		if db.batch != nil {
			b.finish()
		}
	}()
	b.take(first)
	for b.callers < maxBatch && b.dead == nil {
		r := db.another(b)
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

// take runs a request, or keeps it for the end where it shares its closure.
func (b *batch) take(r *request) {
	b.callers++
	if r.shared != nil {
		b.join(r)
		return
	}
	b.run(r)
}

// another is the next request for the batch: one that is queued, or one that
// is likely to come within less than the commit it would otherwise cost.
// Callers that were acknowledged together come back together, while those
// that were queued meanwhile are already here: without a wait they would form
// two cohorts that commit in turn.
func (db *DB) another(b *batch) *request {
	select {
	case r := <-db.requests:
		return r // nil once closed
	default:
	}
	if db.noGather || b.callers >= db.rhythm.crowd || time.Since(db.rhythm.ended) > stale {
		return nil
	}
	for range maxYields { // those that were just acknowledged are runnable: let them run
		runtime.Gosched()
		select {
		case r := <-db.requests:
			return r
		default:
		}
	}
	timer := time.NewTimer(min(db.rhythm.commit/2, maxGather))
	defer timer.Stop()
	select {
	case r := <-db.requests:
		return r
	case <-timer.C:
		return nil
	}
}

// run executes one closure.
func (b *batch) run(r *request) {
	b.members = append(b.members, r)
	if b.dead != nil {
		return
	}
	if r.err = b.begin(); r.err != nil {
		return
	}
	if r.err = b.admit(r); r.err != nil {
		return
	}
	solo := b.clean
	if !solo {
		if _, r.err = b.db.writer.exec("SAVEPOINT closure"); r.err != nil {
			b.dead = explain(b.db.path, r.err)
			return
		}
	}
	r.tx = Tx{Now: b.now, Mono: b.mono, batch: b}
	if r.fence != nil {
		r.tx.Fence = *r.fence
	}
	defer b.leave(r, solo)
	r.err = errGoexit // stays when fn never returns
	r.err = call(r.fn, &r.tx)
}

// begin opens the transaction where it is not open.
func (b *batch) begin() error {
	if b.begun {
		return nil
	}
	if _, err := b.db.writer.exec("BEGIN IMMEDIATE"); err != nil {
		b.dead = explain(b.db.path, err)
		return b.dead
	}
	b.begun, b.clean = true, true
	b.db.memory.begin(b.db.writer)
	return nil
}

// leave keeps what a closure has done, or undoes it: with the whole
// transaction where there is nothing else in it.
func (b *batch) leave(r *request, solo bool) {
	r.tx.done = true
	w := b.db.writer
	w.closeRows()
	if r.err == nil {
		r.err = r.tx.dead // the closure has ignored it; the store must not
	}
	if r.err == nil && !solo {
		_, r.err = w.exec("RELEASE closure")
	}
	if r.err == nil {
		b.kept++
		b.clean = false
		return
	}
	b.epochOK = false // the closure may have raised it
	b.db.memory.forget()
	if solo {
		// SQLite may have rolled back by itself, then this says so and is right.
		_, _ = w.exec("ROLLBACK")
		b.begun = false
		return
	}
	if _, err := w.exec("ROLLBACK TO closure"); err != nil {
		b.dead = explain(b.db.path, r.err)
		return
	}
	if _, err := w.exec("RELEASE closure"); err != nil {
		b.dead = explain(b.db.path, err)
	}
}

func call(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError("a store transaction", v, debug.Stack())
		}
	}()
	return fn(tx)
}

// admit refuses a writer of another epoch.
func (b *batch) admit(r *request) error {
	if r.fence == nil || b.db.noFence {
		return nil
	}
	epoch, err := b.currentEpoch()
	if err != nil {
		return err
	}
	if r.fence.Epoch != epoch {
		return agency.Errorf(agency.KindDenied, "write of epoch %d, the store is at %d: %w", r.fence.Epoch, epoch, ErrFenced).
			WithMend("nothing is lost: the host that has taken over goes on")
	}
	return nil
}

// currentEpoch is read once a transaction: BEGIN IMMEDIATE keeps other
// processes from raising it meanwhile.
func (b *batch) currentEpoch() (int64, error) {
	if b.epochOK {
		return b.epoch, nil
	}
	rows, err := b.db.writer.query("SELECT epoch FROM store_epoch")
	row := &Row{rows: rows, err: err}
	if err := row.Scan(&b.epoch); err != nil {
		return 0, explain(b.db.path, err)
	}
	b.epochOK = true
	return b.epoch, nil
}

// finish commits, runs the hooks and acknowledges, in this order.
func (b *batch) finish() {
	db := b.db
	db.batch = nil
	if db.ackEarly {
		b.acknowledge()
	}
	begun := time.Now()
	err := b.commit()
	ended := time.Now()
	if err == nil && b.kept > 0 {
		db.reserve.refill(b.mono)
		db.rhythm.commit += (ended.Sub(begun) - db.rhythm.commit) / 8
	}
	for _, r := range b.members {
		switch {
		case err != nil && r.err == nil:
			r.err = err
		case r.err == nil:
			for _, hook := range r.tx.hooks {
				guard("an after-commit hook", hook)
			}
			continue
		}
		r.tx.abort()
	}
	for _, box := range b.order {
		box.deliver(&db.topics)
	}
	db.rhythm.crowd = b.callers + len(db.requests)
	if !db.ackEarly {
		b.acknowledge()
	}
	db.rhythm.ended = time.Now()
}

func (b *batch) acknowledge() {
	for _, r := range b.members {
		if r.done != nil { // a share is nobody's own
			close(r.done)
		}
	}
}

// commit makes the batch durable, or leaves the connection outside any
// transaction.
func (b *batch) commit() error {
	w := b.db.writer
	if b.dead == nil && b.kept > 0 {
		_, err := w.exec("COMMIT")
		if err == nil {
			b.db.memory.commit(w)
			return nil
		}
		b.db.memory.forget()
		b.dead = explain(b.db.path, err)
	}
	if b.begun {
		_, _ = w.exec("ROLLBACK") // as in leave
	}
	return b.dead
}

// guard runs code of others on the writer's goroutine, whose panic must not
// end the writer: what it wrote is durable already.
func guard(what string, fn func()) {
	defer func() {
		if v := recover(); v != nil {
			slog.Error("panic after a commit", "error", panicError(what, v, debug.Stack()))
		}
	}()
	fn()
}
