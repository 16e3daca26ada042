package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"agency/internal/linux/cgroup"
	"agency/internal/supervisor"
)

// A sandbox is kept for the next command that is to see the same: starting one
// costs ten times what a command in it costs. What a command could leave behind
// is gone with its namespaces, and one that was killed takes its sandbox along.

const (
	// defaultIdle is how long a sandbox waits for its next command.
	defaultIdle = time.Minute
	// maxIdle sandboxes wait at one time; the one that has waited longest
	// makes room.
	maxIdle = 8
)

// pool keeps the sandboxes of a Runner.
type pool struct {
	cgroup *cgroup.Hierarchy
	census *Census
	idle   time.Duration // negative: none is kept

	mu     sync.Mutex
	kept   []*keptBox // the longest waiting first
	closed bool
	ending sync.WaitGroup
}

type keptBox struct {
	*box
	timer *time.Timer
}

// run runs a command in a sandbox of its plan, one that waits for it or a new
// one.
func (p *pool) run(ctx context.Context, c prepared, o ends) (supervisor.Report, Cause, error) {
	text, err := json.Marshal(c.plan)
	if err != nil {
		return supervisor.Report{}, "", err
	}
	key := string(text)
	if b := p.take(key); b != nil {
		rep, wall, err := p.in(ctx, b, c.req, o)
		if !errors.Is(err, errStale) {
			return rep, wall, err
		}
	}
	b, err := p.open(ctx, c.plan, key, c.req.Limits)
	if err != nil {
		return supervisor.Report{}, "", err
	}
	return p.in(ctx, b, c.req, o)
}

// open makes a sandbox of a plan, whose text is the key.
func (p *pool) open(ctx context.Context, plan supervisor.Plan, key string, l supervisor.Limits) (*box, error) {
	g := p.cgroup.Open(wallsOf(l))
	b, err := openBox(ctx, plan, g)
	if err != nil {
		g.Close()
		return nil, err
	}
	b.key = key
	if b.census = p.census; b.census != nil {
		b.census.enter(b)
	}
	return b, nil
}

// in runs a command in a sandbox, and keeps the sandbox if nothing happened to
// it.
func (p *pool) in(ctx context.Context, b *box, req supervisor.Request, o ends) (supervisor.Report, Cause, error) {
	rep, wall, err := b.run(ctx, req, o)
	if b.spent || !p.put(b) {
		b.close()
	}
	return rep, wall, err
}

// take takes a sandbox that waits.
func (p *pool) take(key string) *box {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.kept) - 1; i >= 0; i-- {
		k := p.kept[i]
		if k.key != key || !k.alive() {
			continue
		}
		p.drop(i)
		return k.box
	}
	return nil
}

// drop forgets the i-th sandbox. p.mu is held.
func (p *pool) drop(i int) {
	p.kept[i].timer.Stop()
	p.kept = slices.Delete(p.kept, i, i+1)
}

// evict ends the i-th sandbox. p.mu is held.
func (p *pool) evict(i int) {
	p.ending.Go(p.kept[i].close)
	p.drop(i)
}

// put keeps a sandbox for its next command. Where none is kept it lets it end by
// itself: its command is gone, and nobody needs to wait for what it stood in.
func (p *pool) put(b *box) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.idle < 0 || b.plan.Once {
		p.ending.Go(b.close)
		return true
	}
	if len(p.kept) >= maxIdle {
		p.evict(0)
	}
	k := &keptBox{box: b}
	k.timer = time.AfterFunc(p.idle, func() { p.expire(k) })
	p.kept = append(p.kept, k)
	return true
}

// expire ends a sandbox that nobody has used for long, unless it was taken in
// this very moment.
func (p *pool) expire(k *keptBox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.kept, k); i >= 0 {
		p.evict(i)
	}
}

// release ends the sandboxes that wait and show anything of a folder.
func (p *pool) release(dir string) {
	dir = resolved(dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.kept) - 1; i >= 0; i-- {
		if p.kept[i].plan.Shows(dir) {
			p.evict(i)
		}
	}
}

// close ends the sandboxes that wait, and keeps none from now on.
func (p *pool) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	for len(p.kept) > 0 {
		p.evict(0)
	}
	p.mu.Unlock()
	p.ending.Wait()
}
