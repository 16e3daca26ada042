package board

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// ErrNoMail is what Receive returns when no message came in time.
var ErrNoMail = errors.New("no message came in time")

// ErrClosed is what those who wait get when the board is closed.
var ErrClosed = errors.New("the board is closed")

// receiver is one Receive that waits. All but arrived is the boxes' own, under
// their lock.
type receiver struct {
	who   Recipient
	types []agency.MessageType
	state receiving
	// arrived gets one value: the message, or nil to look for it oneself; nil
	// for one of Await.
	arrived chan *agency.Message
	wake    func() // of Await
}

// nudge has a receiver that was parked look for itself.
func (r *receiver) nudge() {
	if r.wake != nil {
		go r.wake() // the caller is the writer
		return
	}
	r.arrived <- nil
}

type receiving uint8

const (
	away     receiving = iota // looks for itself
	parked                    // sleeps at its boxes
	promised                  // a transaction that is not durable yet has a message for it
	leaving                   // promised, but its time is over: it takes what comes
)

func (r *receiver) wants(t agency.MessageType) bool {
	return len(r.types) == 0 || slices.Contains(r.types, t)
}

// Receive is Claim that waits: until a message comes, the context ends (its
// cause is the error) or the board's ReceiveTimeout is over (ErrNoMail). A
// waiting receiver costs no query; a sender hands it the message in its own
// transaction. Several receivers of a role are served in the order in which
// they came. The message is delivered when Receive returns it.
func (b *Board) Receive(ctx context.Context, who Recipient, types ...agency.MessageType) (agency.Message, error) {
	timeout := time.NewTimer(b.o.ReceiveTimeout)
	defer timeout.Stop()
	for {
		r := &receiver{who: who, types: types, arrived: make(chan *agency.Message, 1)}
		if !b.boxes.parkIdle(r) {
			m, ok, err := b.claimOrPark(ctx, r)
			if ok || err != nil {
				return m, err
			}
		}
		var err error
		select {
		case m := <-r.arrived:
			if m != nil {
				return *m, nil
			}
			continue
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timeout.C:
			err = ErrNoMail
		case <-b.over:
			err = ErrClosed
		}
		if m := b.boxes.leave(r); m != nil {
			return *m, nil
		}
		return agency.Message{}, err
	}
}

// Await calls f once, when something waits for a recipient that Claim would
// find: at once where it does already. Nothing is taken, and another of the role
// may be quicker. It is for those that wait long: no goroutine is held, and some
// hundred bytes. After stop f is not called any more, unless it has begun.
func (b *Board) Await(who Recipient, f func()) (stop func()) {
	r := &receiver{who: who, wake: f}
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	if !b.boxes.idle(who) {
		r.nudge()
		return func() {}
	}
	b.boxes.enter(r) // what is sent but not durable yet wakes it with its commit
	return func() { b.boxes.unpark(r) }
}

// claimOrPark looks in the database and, where there is nothing, parks the
// receiver before any later sender's transaction begins.
func (b *Board) claimOrPark(ctx context.Context, r *receiver) (m agency.Message, ok bool, err error) {
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		m, ok, err = Claim(tx, r.who, r.types...)
		if err == nil && !ok {
			b.boxes.park(r)
			tx.OnAbort(func() { b.boxes.unpark(r) })
		}
		return err
	})
	return m, ok, err
}

// parkIdle parks a receiver for whom nothing waits or is about to.
func (b *boxes) parkIdle(r *receiver) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.idle(r.who) {
		return false
	}
	for _, key := range r.who.boxes() {
		if b.coming[key] > 0 {
			return false
		}
	}
	b.enter(r)
	return true
}

func (b *boxes) park(r *receiver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enter(r)
}

// unpark takes back a park. It runs on the writer, so it waits for nothing.
func (b *boxes) unpark(r *receiver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.state == parked {
		b.exit(r, away)
	}
}

func (b *boxes) enter(r *receiver) {
	r.state = parked
	b.asleep++
	for _, key := range r.who.boxes() {
		b.parked[key] = append(b.parked[key], r)
	}
}

// exit takes a parked receiver out of its boxes.
func (b *boxes) exit(r *receiver, to receiving) {
	r.state = to
	b.asleep--
	for _, key := range r.who.boxes() {
		list := b.parked[key]
		i := slices.Index(list, r)
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			delete(b.parked, key)
		} else {
			b.parked[key] = list
		}
	}
}

// poke has the first receiver that wants such a message look for it, and all
// that are woken without taking anything.
func (b *boxes) poke(key boxKey, t agency.MessageType) {
	poked := false
	for _, r := range slices.Clone(b.parked[key]) {
		if r.wake != nil || !poked && r.wants(t) {
			poked = poked || r.wake == nil
			b.exit(r, away)
			r.nudge()
		}
	}
}

// promise finds a parked receiver for a message that a transaction is about to
// write, if nothing is before it in its box. The receiver gets it after the
// commit; where there is none, it waits on.
func (b *boxes) promise(tx *store.Tx, key boxKey, m agency.Message) *promise {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.first(key, m.Type); r != nil {
		b.exit(r, promised)
		if m.ToRole != "" {
			m.To = string(r.who.Agent)
		}
		m.Status = agency.MailDelivered
		p := &promise{to: r, by: b}
		tx.AfterCommit(func() {
			if !p.over {
				b.keep(r, &m)
			}
		})
		tx.OnAbort(p.void)
		return p
	}
	b.coming[key]++
	arrived := func() { b.arrived(key) }
	tx.AfterCommit(arrived)
	tx.OnAbort(arrived)
	return nil
}

// promise is a message that a parked receiver gets if it is written.
type promise struct {
	to   *receiver
	by   *boxes
	over bool // it will not be kept
}

// void ends a promise whose message was not written; once more, or for none,
// it is nothing.
func (p *promise) void() {
	if p != nil && !p.over {
		p.over = true
		p.by.breakOff(p.to)
	}
}

func (b *boxes) first(key boxKey, t agency.MessageType) *receiver {
	if b.n.pending[key]+b.coming[key] > 0 {
		return nil
	}
	for _, r := range b.parked[key] {
		if r.wake == nil && r.wants(t) {
			return r
		}
	}
	return nil
}

func (b *boxes) arrived(key boxKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.coming[key]--; b.coming[key] == 0 {
		delete(b.coming, key)
	}
}

// keep keeps a promise.
func (b *boxes) keep(r *receiver, m *agency.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.state = away
	r.arrived <- m
}

// breakOff ends a promise that will not be kept: the receiver looks again.
func (b *boxes) breakOff(r *receiver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.state = away
	r.arrived <- nil
}

// leave ends the waiting of a receiver. What was handed to it at the last
// moment is returned and is its own; where it was woken for a message that it
// will not fetch now, the next is.
func (b *boxes) leave(r *receiver) *agency.Message {
	b.mu.Lock()
	switch r.state {
	case parked:
		b.exit(r, away)
		b.mu.Unlock()
		return nil
	case promised:
		r.state = leaving
	case away, leaving:
	}
	b.mu.Unlock()
	m := <-r.arrived
	if m == nil {
		b.passOn(r)
	}
	return m
}

// passOn wakes another receiver for what one was woken for.
func (b *boxes) passOn(r *receiver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range r.who.boxes() {
		if b.n.pending[key] == 0 {
			continue
		}
		for _, other := range slices.Clone(b.parked[key]) {
			b.exit(other, away)
			other.nudge()
		}
	}
}

func (w Recipient) boxes() []boxKey {
	keys := []boxKey{keyOf(w.Run, agentBox(w.Agent))}
	if w.Role != "" {
		keys = append(keys, keyOf(w.Run, roleBox(w.Role)))
	}
	return keys
}

// Subscribe yields the messages of a run, of the given types where there are
// any, each once and in the order in which they were sent: those that were
// sent after the event of id after, then those to come, until the context ends
// (its cause is the last error) or the caller breaks. It takes nothing from
// any inbox, and a slow subscriber misses nothing: it is served from the log
// of events.
func (b *Board) Subscribe(ctx context.Context, run agency.RunID, after int64, types ...agency.MessageType) iter.Seq2[agency.Message, error] {
	return func(yield func(agency.Message, error) bool) {
		for ev, err := range b.o.Events.Tail(ctx, after, event.Filter{Run: run, Category: agency.CategoryMessage}) {
			if err != nil {
				yield(agency.Message{}, err)
				return
			}
			m, ok, err := b.sentBy(ctx, ev, types)
			if err == nil && !ok {
				continue
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// sentBy is the message whose sending an event tells, if it is of one of the
// types.
func (b *Board) sentBy(ctx context.Context, ev agency.Event, types []agency.MessageType) (m agency.Message, ok bool, err error) {
	if ev.Type != "message_sent" {
		return m, false, nil
	}
	d, err := agency.DecodeDetail(ev)
	if err != nil {
		return m, false, err
	}
	s, ok := d.(*agency.MessageSent)
	if !ok || len(types) > 0 && s.Type != "" && !slices.Contains(types, s.Type) {
		return m, false, nil
	}
	err = b.db.Read(ctx, func(q *store.Snapshot) error {
		m, err = Get(q, ev.RunID, s.Message)
		return err
	})
	if agency.KindOf(err) == agency.KindNotFound { // its run has been removed meanwhile
		return m, false, nil
	}
	return m, err == nil && (len(types) == 0 || slices.Contains(types, m.Type)), err
}
