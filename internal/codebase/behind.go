package codebase

import (
	"context"
	"sync"
)

// Jobs that are done behind answers.
const (
	indexing  = "indexing"
	embedding = "embedding"
)

// behind are jobs that are done behind answers, one of a name at a time. The zero value is
// ready.
type behind struct {
	work sync.WaitGroup

	mu     sync.Mutex
	stop   map[string]context.CancelFunc // of those at work
	closed bool
}

// start starts a job, unless one of its name is at work; its context ends with close, and
// with indexTime.
func (b *behind) start(name string, do func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.stop[name] != nil {
		return
	}
	if b.stop == nil {
		b.stop = map[string]context.CancelFunc{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), indexTime)
	b.stop[name] = cancel
	b.work.Go(func() {
		defer cancel()
		do(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.stop, name)
	})
}

// busy tells whether a job of a name is at work.
func (b *behind) busy(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stop[name] != nil
}

func (b *behind) wait() { b.work.Wait() }

// close ends all jobs and lets none start.
func (b *behind) close() {
	b.mu.Lock()
	b.closed = true
	for _, stop := range b.stop {
		stop()
	}
	b.mu.Unlock()
	b.work.Wait()
}
