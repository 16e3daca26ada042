package store

import (
	"errors"
	"sync"
)

// Topic names a stream of values that transactions publish to other parts of
// the same process: the database is the record, a topic only saves readers
// from asking it. The zero T and the name together are the identity.
type Topic[T any] struct{ Name string }

// Publish hands v to the topic's subscribers after the commit, in commit
// order; nothing is published when the closure fails.
func Publish[T any](tx *Tx, topic Topic[T], v T) {
	b := tx.batch
	tx.AfterCommit(func() {
		box, ok := b.outbox[topic].(*published[T])
		if !ok {
			box = &published[T]{topic: topic}
			if b.outbox == nil {
				b.outbox = map[any]deliverer{}
			}
			b.outbox[topic] = box
			b.order = append(b.order, box)
		}
		box.values = append(box.values, v)
	})
}

// Subscribe calls fn with the values of each later commit, in order, until
// cancel is called. fn runs on the writer's goroutine before the writers are
// acknowledged: it must be quick, must not write, and may keep the slice.
func Subscribe[T any](db *DB, topic Topic[T], fn func([]T)) (cancel func()) {
	db.topics.mu.Lock()
	defer db.topics.mu.Unlock()
	list, ok := db.topics.lists[topic].(*subscribers[T])
	if !ok {
		list = &subscribers[T]{}
		db.topics.lists[topic] = list
	}
	id := list.next
	list.next++
	if list.fns == nil {
		list.fns = map[int]func([]T){}
	}
	list.fns[id] = fn
	return func() {
		db.topics.mu.Lock()
		defer db.topics.mu.Unlock()
		delete(list.fns, id)
	}
}

// topics is who listens, by topic.
type topics struct {
	mu    sync.Mutex
	lists map[any]any // Topic[T] to *subscribers[T]
}

type subscribers[T any] struct {
	next int
	fns  map[int]func([]T)
}

type deliverer interface{ deliver(*topics) }

// published is what one batch has published to one topic.
type published[T any] struct {
	topic  Topic[T]
	values []T
}

func (l *published[T]) deliver(t *topics) {
	t.mu.Lock()
	list, ok := t.lists[l.topic].(*subscribers[T])
	var fns []func([]T)
	if ok {
		for _, fn := range list.fns {
			fns = append(fns, fn)
		}
	}
	t.mu.Unlock()
	for _, fn := range fns {
		guard("subscriber of "+l.topic.Name, func() { fn(l.values) })
	}
}

// Hook is what an owner of tables does when another owner tells of a fact: in
// the transaction of the fact, so that both are durable or neither is.
type Hook struct {
	topic any
	run   func(*Tx, any) error
}

// On makes a hook that runs in each transaction that tells of the topic.
func On[T any](topic Topic[T], fn func(*Tx, T) error) Hook {
	return Hook{topic, func(tx *Tx, v any) error { return fn(tx, v.(T)) }} //nolint:errcheck // Tell compares the topic, and with it the type
}

// Tell runs the hooks of a topic in the caller's transaction, in the order of
// the sets that the store was opened with. All of them run; the error is that of
// each that failed.
func Tell[T any](tx *Tx, topic Topic[T], v T) error {
	var errs []error
	for _, h := range tx.batch.w.db.hooks {
		if h.topic == any(topic) {
			errs = append(errs, h.run(tx, v))
		}
	}
	return errors.Join(errs...)
}
