package session

import (
	"context"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/decision"
	"agency/internal/store"
	"agency/internal/text"
)

// Presence is what the board shows of a session at work.
type Presence struct {
	*Member
	beat   *heartbeat
	joined bool // in this part
	told   bool // something, with the Join
}

// Told tells whether the commit that holds the Join sends the agent something, of which
// no memory knows before the commit is durable.
func (p *Presence) Told() bool { return !p.joined && p.told }

// Joined notes that a commit which holds a Join is durable.
func (p *Presence) Joined() { p.joined = true }

// Join makes the agent known to its run as at work, and live again where an
// earlier session of it had ended: once a part, in its first commit.
func (p *Presence) Join(tx *store.Tx) error {
	if p.joined {
		return nil
	}
	err := board.Join(tx, board.Agent{
		Run: p.Spec.Run, ID: p.Spec.Agent, Role: p.Spec.Role, Contract: p.Spec.Contract, Status: board.AgentActive,
	})
	if err == nil && p.Spec.BesideOthers() {
		var n int
		n, err = decision.CatchUp(tx, p.Spec.Run, p.Spec.Contract, p.Spec.Agent, p.Spec.Part == 1)
		p.told = n > 0
	}
	if err == nil {
		var n int
		n, err = board.CatchUp(tx, p.Spec.Run, p.Spec.Agent)
		p.told = p.told || n > 0
	}
	if err != nil {
		return err
	}
	return p.tell(tx, board.Change{Status: board.AgentActive})
}

// Report tells the others what the agent did in a turn that is settled; it is
// the agent's heartbeat.
func (p *Presence) Report(tx *store.Tx, u agency.Usage, calls []Call) error {
	ch := board.Change{Add: board.Metrics{Turns: 1, Tokens: u.Billed(), ToolCalls: int64(len(calls))}}
	for _, k := range calls {
		ch.LastTool, ch.Activity = text.Head(k.Use.Name, 64), text.Head(k.Use.Name+Gist(k.Use.Args), 120)
		if k.Result.Failed {
			ch.Add.Errors++
		}
		if k.Result.Wrote != "" {
			ch.Add.Files++
			ch.LastFile = k.Result.Wrote
		}
	}
	return p.tell(tx, ch)
}

// tell changes what the board shows of the agent. An agent that somebody ended
// stays ended, and its turn is settled all the same.
func (p *Presence) tell(tx *store.Tx, ch board.Change) error {
	p.beat.now()
	err := board.Update(tx, p.Spec.Run, p.Spec.Agent, ch)
	if gone(err) {
		return nil
	}
	return err
}

// Leave tells how the part has ended: the agent waits for what comes of it. It
// leaves only with its contract, which others decide, or with the run.
func (p *Presence) Leave(tx *store.Tx, o Outcome) error {
	ch := board.Change{Status: board.AgentWaiting, Activity: string(o.Kind)}
	switch {
	case o.Kind == Stopped:
		return board.Leave(tx, p.Spec.Run, p.Spec.Agent, board.AgentTerminated, o.Reason)
	case o.Kind == Parked:
		ch.Activity = "waits for " + string(o.For)
	case o.Kind == Blocked, o.Kind == Incomplete:
		ch.Status, ch.Activity = board.AgentBlocked, string(o.Kind)+": "+text.Head(o.Reason, 120)
	}
	if o.For == ForBudget {
		ch.Status = board.AgentBlocked
	}
	return p.tell(tx, ch)
}

// Heartbeats tell the board that the agents of this process are there while they
// wait for a model or a command. A settled turn is a heartbeat by itself; what
// is older is renewed for all of them in one transaction, a third of
// board.HeartbeatInterval apart, so that none is ever late.
type Heartbeats struct {
	db    *store.DB
	every time.Duration

	mu    sync.Mutex
	all   map[*heartbeat]bool
	leave func() // ends the goroutine and waits for it
}

// heartbeat is one session at work.
type heartbeat struct {
	run   agency.RunID
	agent agency.AgentID
	fence agency.Fence

	mu   sync.Mutex
	last time.Time // durable, or about to be
}

func (b *heartbeat) now() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
}

func (b *heartbeat) older(than time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last.Before(than)
}

// NewHeartbeats makes those of a process; every is how far they are apart while
// nothing else is written, 0: as the board wants it.
func NewHeartbeats(db *store.DB, every time.Duration) *Heartbeats {
	if every <= 0 {
		every = board.HeartbeatInterval / 3
	}
	return &Heartbeats{db: db, every: every, all: map[*heartbeat]bool{}}
}

// Enter begins the heartbeats of a session. The first one starts the
// goroutine, the last one to exit ends it.
func (b *Heartbeats) Enter(m *Member, fence agency.Fence) *Presence {
	one := &heartbeat{run: m.Spec.Run, agent: m.Spec.Agent, fence: fence, last: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[one] = true
	if len(b.all) == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.run(ctx)
		}()
		b.leave = func() { cancel(); <-done }
	}
	return &Presence{Member: m, beat: one}
}

// Exit ends the heartbeats of a session.
func (b *Heartbeats) Exit(p *Presence) {
	b.mu.Lock()
	delete(b.all, p.beat)
	var leave func()
	if len(b.all) == 0 {
		leave, b.leave = b.leave, nil
	}
	b.mu.Unlock()
	if leave != nil {
		leave()
	}
}

func (b *Heartbeats) run(ctx context.Context) {
	t := time.NewTicker(b.every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			b.renew(ctx)
		}
	}
}

// renew writes the heartbeats that are due, those of one fence together. A
// heartbeat that cannot be written is as good as none: nothing fails for it.
func (b *Heartbeats) renew(ctx context.Context) {
	due := map[agency.Fence][]*heartbeat{}
	limit := time.Now().Add(-b.every)
	b.mu.Lock()
	for one := range b.all {
		if one.older(limit) {
			due[one.fence] = append(due[one.fence], one)
		}
	}
	b.mu.Unlock()
	for fence, all := range due {
		err := b.db.WriteFenced(ctx, fence, func(tx *store.Tx) error {
			for _, one := range all {
				if err := board.Heartbeat(tx, one.run, one.agent); err != nil && !gone(err) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			continue
		}
		for _, one := range all {
			one.now()
		}
	}
}

// gone tells that the board knows no such live agent.
func gone(err error) bool {
	kind := agency.KindOf(err)
	return kind == agency.KindNotFound || kind == agency.KindConflict
}
