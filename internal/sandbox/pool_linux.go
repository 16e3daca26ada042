package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/linux/cgroup"
	"agency/internal/linux/landlock"
	"agency/internal/linux/socket"
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

// Company are the commands of one session of which some go on while later ones run. In the
// full tier they have one sandbox for as long as any of them goes on, and so one network;
// elsewhere each has its own, and the machine's network, where that is open. The zero
// Company has none.
//
// One that goes on cannot write the checkout, so that the host may take it into a tree or
// change it meanwhile. A file that another command has opened there and hands it through a
// socket it may write, a folder not: that is what Landlock refuses, without which none goes
// on in company.
type Company struct {
	// turn is held by who talks to the sandbox: a command from its start to its end, one
	// that goes on until it has begun.
	turn sync.Mutex
	box  *box // nil: none goes on
}

// run runs a command of the full tier. Begun, where set, is called once it goes on beside
// later ones.
func (c *Company) run(ctx context.Context, p *pool, cmd prepared, o ends, begun func()) (supervisor.Report, Cause, error) {
	c.turn.Lock()
	leave := sync.OnceFunc(c.turn.Unlock)
	defer leave()
	b, err := c.join(ctx, p, cmd, begun != nil)
	switch {
	case err != nil:
		return supervisor.Report{}, "", err
	case b == nil:
		if c.box != nil {
			o.out.tell("what commands see has changed since the background commands began: this one does not reach them; stop them and start them again")
		}
		leave()
		return p.run(ctx, cmd, o)
	case begun == nil:
		return b.runTogether(ctx, cmd.req, o, nil)
	}
	defer func() {
		leave()
		c.part(b)
	}()
	cmd.req.Stays = true
	return b.runTogether(ctx, cmd.req, o, func() {
		leave()
		begun()
	})
}

// join finds the sandbox of a command, and makes the first. None: nothing goes on that the
// command could run beside, for it is to see something else.
func (c *Company) join(ctx context.Context, p *pool, cmd prepared, stays bool) (*box, error) {
	if stays && landlock.InForce() == 0 {
		return nil, agency.Errorf(agency.KindDenied, "no command can go on in the background: this machine's kernel has no Landlock (Linux before 5.19, or switched off)")
	}
	plan := cmd.plan
	plan.Together = true
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	key := string(text)
	if c.box != nil && !c.box.alive() {
		c.box = nil // those that were in it part with it
	}
	switch {
	case c.box == nil && stays:
		if c.box, err = p.open(ctx, plan, key, cmd.req.Limits); err != nil {
			return nil, err
		}
	case c.box == nil, c.box.key != key && !stays:
		return nil, nil
	case c.box.key != key:
		return nil, agency.Errorf(agency.KindConflict, "what commands see has changed since the background commands began: stop them, and start them again with this one")
	}
	if stays {
		c.box.stay++
	}
	return c.box, nil
}

// part ends the sandbox when the last that went on in it has ended.
func (c *Company) part(b *box) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if b.stay--; b.stay > 0 {
		return
	}
	if c.box == b {
		c.box = nil
	}
	b.close()
}

// runTogether is run for one of several commands, which is ended by its leash alone. After an
// error the sandbox is ended, with all of them.
func (b *box) runTogether(ctx context.Context, req supervisor.Request, o ends, begun func()) (rep supervisor.Report, wall Cause, err error) {
	if begun == nil {
		b.busy.Store(true)
	}
	if err := b.ready(req.Limits); err != nil {
		b.end()
		return rep, "", agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	st, leash, err := b.openTogether(o)
	if err != nil {
		b.end()
		return rep, "", agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	defer func() { _ = leash.Close() }()
	sent := b.send(req, st.theirs)
	st.handOver()
	stop := context.AfterFunc(ctx, func() { _ = leash.CloseWrite() })
	told := sent
	if told == nil {
		told = supervisor.ReadFrame(b.conn, &rep)
	}
	if told == nil && rep.Setup == "" && begun != nil {
		begun()
		told = supervisor.ReadFrame(leash, &rep)
	}
	stop()
	if told != nil || rep.Setup != "" {
		b.end()
	} else if begun == nil {
		b.busy.Store(false)
	}
	st.wait()
	wall = b.held()
	switch {
	case sent != nil && ctx.Err() == nil:
		return rep, "", agency.Errorf(agency.KindTransient, "sandbox: %w", sent)
	case told != nil:
		return supervisor.Report{Cause: supervisor.Killed}, wall, nil
	case rep.Setup != "":
		return rep, "", setupError(rep.Setup)
	}
	return rep, wall, nil
}

// openTogether opens a command's streams, its leash, and for the first the way out of all.
func (b *box) openTogether(o ends) (st *streams, leash *socket.Socket, err error) {
	if st, err = openStreams(o); err != nil {
		return nil, nil, err
	}
	leash, theirs, err := socket.Pair()
	if err == nil {
		st.theirs = append(st.theirs, theirs)
		err = b.openWay(st, o.egress)
	}
	if err == nil {
		return st, leash, nil
	}
	if leash != nil {
		_ = leash.Close()
	}
	st.handOver()
	st.wait()
	return nil, nil, err
}

func (b *box) openWay(st *streams, egress Outlet) error {
	if egress == nil || b.way != nil {
		return nil
	}
	channel, end, err := openChannel(egress)
	if err == nil {
		st.theirs, b.way = append(st.theirs, channel), end
	}
	return err
}

// ready and held are those of the group, of which several commands ask. Its wall of tasks is
// above what the namespaces of all hold: one that has used up its own takes none from PID 1,
// which could start no other then, nor from who came before. Kernels before 6.14 have no
// walls of namespaces, and there it may.
func (b *box) ready(l supervisor.Limits) error {
	b.walls.Lock()
	defer b.walls.Unlock()
	w := wallsOf(l)
	w.Tasks = (b.stay+1)*supervisor.MostTasks(l.Tasks) + initTasks
	return b.group.Ready(w)
}

func (b *box) held() Cause {
	b.walls.Lock()
	defer b.walls.Unlock()
	return wallHeld(b.group)
}
