package store

import (
	"log/slog"
	"runtime/debug"
	"time"

	"agency/internal/agency"
)

// batch is one transaction and the closures that share it. begun tells whether
// the transaction is open, clean whether nothing in it is kept yet: a closure
// that finds it clean needs no savepoint, since all can be rolled back.
type batch struct {
	w       *writer
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

// take runs a request, or keeps it for the end where it shares its closure.
func (b *batch) take(r *request) {
	b.callers++
	if r.shared != nil {
		b.join(r)
		return
	}
	b.run(r)
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
		if _, r.err = b.w.conn.exec("SAVEPOINT closure"); r.err != nil {
			b.dead = explain(b.w.db.path, r.err)
			return
		}
	}
	r.tx = Tx{Now: b.now, Mono: b.mono, batch: b}
	if r.fence != nil {
		r.tx.Fence = *r.fence
	}
	defer b.settle(r, solo)
	r.err = errGoexit // stays when fn never returns
	r.err = call(r.fn, &r.tx)
}

// begin opens the transaction where it is not open.
func (b *batch) begin() error {
	if b.begun {
		return nil
	}
	if _, err := b.w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		b.dead = explain(b.w.db.path, err)
		return b.dead
	}
	b.begun, b.clean = true, true
	b.w.memory.begin(b.w.conn)
	return nil
}

// settle keeps what a closure has done, or undoes it: with the whole
// transaction where there is nothing else in it.
func (b *batch) settle(r *request, solo bool) {
	r.tx.done = true
	w := b.w.conn
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
	b.w.memory.forget()
	if solo {
		// SQLite may have rolled back by itself, then this says so and is right.
		_, _ = w.exec("ROLLBACK")
		b.begun = false
		return
	}
	if _, err := w.exec("ROLLBACK TO closure"); err != nil {
		b.dead = explain(b.w.db.path, r.err)
		return
	}
	if _, err := w.exec("RELEASE closure"); err != nil {
		b.dead = explain(b.w.db.path, err)
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
	if r.fence == nil || b.w.seams.noFence {
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
	rows, err := b.w.conn.query(selectEpoch)
	row := &Row{rows: rows, err: err}
	if err := row.Scan(&b.epoch); err != nil {
		return 0, explain(b.w.db.path, err)
	}
	b.epochOK = true
	return b.epoch, nil
}

// finish commits, runs the hooks and acknowledges, in this order.
func (b *batch) finish() {
	w := b.w
	w.batch = nil
	if w.seams.ackEarly {
		b.acknowledge()
	}
	begun := time.Now()
	err := b.commit()
	ended := time.Now()
	if err == nil && b.kept > 0 {
		w.db.reserve.refill(b.mono)
		w.rhythm.commit += (ended.Sub(begun) - w.rhythm.commit) / 8
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
		box.deliver(&w.db.topics)
	}
	w.rhythm.crowd = b.callers + len(w.queue.requests)
	if !w.seams.ackEarly {
		b.acknowledge()
	}
	w.rhythm.ended = time.Now()
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
	w := b.w.conn
	if b.dead == nil && b.kept > 0 {
		_, err := w.exec("COMMIT")
		if err == nil {
			b.w.memory.commit(w)
			return nil
		}
		b.w.memory.forget()
		b.dead = explain(b.w.db.path, err)
	}
	if b.begun {
		_, _ = w.exec("ROLLBACK") // as in settle
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
