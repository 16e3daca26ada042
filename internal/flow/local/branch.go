package local

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
)

// branch is a coroutine of a run: a goroutine that runs only between a
// receive from resume and the following send on back.
type branch struct {
	x        *execution
	path     string // prefix of its keys, "" for the run's function
	parent   *branch
	handle   *handle // its result
	children []*branch
	owned    []*handle

	resume chan struct{}
	back   chan struct{}
	queued bool
	killed bool
	over   bool
	err    error
}

func (x *execution) newBranch(parent *branch, path string, fn func(flow.Backend) error) *branch {
	b := &branch{x: x, path: path, parent: parent, resume: make(chan struct{}), back: make(chan struct{})}
	b.handle = &handle{x: x, key: path, child: b}
	if parent != nil {
		parent.children = append(parent.children, b)
	}
	x.calls.joined.Go(func() { b.main(fn) })
	x.scheduler.add(b)
	return b
}

// main is the goroutine of the branch.
func (b *branch) main(fn func(flow.Backend) error) {
	<-b.resume
	returned := false
	defer func() {
		if v := recover(); v != nil {
			b.x.halt(agency.Errorf(agency.KindInternal, "run %s: panic in branch %q: %v\n%s", b.x.run, b.path, v, debug.Stack()))
		} else if !returned && !b.killed {
			b.x.halt(agency.Errorf(agency.KindInternal, "run %s: branch %q ended its goroutine", b.x.run, b.path))
		}
		b.over = true
		if returned && !b.killed {
			b.handle.settle(nil, b.err)
		}
		b.back <- struct{}{}
	}()
	if b.killed {
		return
	}
	b.err = fn(b)
	returned = true
}

// park gives the token back and waits to be resumed.
func (b *branch) park() {
	b.back <- struct{}{}
	<-b.resume
	if b.killed {
		runtime.Goexit()
	}
}

// enter is the first statement of each primitive.
func (b *branch) enter(key string) {
	if b.killed || b.x.halted != nil {
		runtime.Goexit() // also in deferred calls of a branch that unwinds
	}
	if b.x.scheduler.current != b {
		// The caller holds another branch's token: its own branch ends.
		b.x.fault(key, fmt.Sprintf("the context of branch %q is used in another branch", b.path))
	}
}

func (b *branch) full(key string) string {
	if b.path == "" {
		return key
	}
	return b.path + "/" + key
}

// Start implements flow.Backend.
func (b *branch) Start(op flow.Op) flow.Handle {
	b.enter(op.Key)
	x := b.x
	h := &handle{x: x, kind: op.Kind, key: b.full(op.Key), name: op.Name}
	switch op.Kind {
	case flow.OpCall:
		b.startCall(h, op)
	case flow.OpTimer:
		b.startTimer(h, op)
	case flow.OpReceive:
		x.claim(h.key)
		x.command(Record{Kind: KindReceive, Key: h.key, Name: op.Name})
		b.owned = append(b.owned, h)
		x.signals.want(h)
	case flow.OpPeek:
		b.owned = append(b.owned, h)
		x.signals.want(h)
	case flow.OpNow:
		x.claim(h.key)
		now := x.e.o.Now().UTC().Truncate(time.Microsecond)
		h.settle(x.command(Record{Kind: KindNow, Key: h.key, Data: quote(now)}).Data, nil)
	}
	return h
}

func quote(t time.Time) json.RawMessage {
	return json.RawMessage(strconv.Quote(t.Format(time.RFC3339Nano)))
}

func (b *branch) startCall(h *handle, op flow.Op) {
	x := b.x
	x.claim(h.key)
	hash, err := hashInput(op.Input)
	if err != nil {
		x.fault(h.key, "input is not JSON: "+err.Error())
	}
	h.call = &call{hash: hash, input: op.Input}
	x.command(Record{Kind: KindCall, Key: h.key, Name: op.Name, Hash: hash})
	b.owned = append(b.owned, h)
	x.calls.add(h)
}

func (b *branch) startTimer(h *handle, op flow.Op) {
	x := b.x
	x.claim(h.key)
	h.timer = &timer{h: h, wait: max(op.Wait, 0)}
	x.command(Record{Kind: KindTimer, Key: h.key, Hash: h.timer.wait.String()})
	b.owned = append(b.owned, h)
	x.timers.add(h.timer)
}

// Go implements flow.Backend.
func (b *branch) Go(key string, fn func(flow.Backend) error) flow.Handle {
	b.enter(key)
	path := b.full(key)
	b.x.claim(path)
	b.x.command(Record{Kind: KindGo, Key: path})
	return b.x.newBranch(b, path, fn).handle
}

// Await implements flow.Backend.
func (b *branch) Await(key string, handles ...flow.Handle) int {
	b.enter(key)
	for {
		if i := b.firstReady(handles); i >= 0 {
			if key != "" {
				full := b.full(key)
				b.x.claim(full)
				b.x.command(Record{Kind: KindSelect, Key: full, Choice: i})
			}
			return i
		}
		b.park()
	}
}

// firstReady looks for a result and, where there is none, leaves word to be
// resumed by the first.
func (b *branch) firstReady(handles []flow.Handle) int {
	for i, fh := range handles {
		h, ok := fh.(*handle)
		if !ok || h.x != b.x {
			b.x.fault(b.path, "a future of another run is waited for")
		}
		if h.ready() {
			return i
		}
	}
	for _, fh := range handles {
		if h := fh.(*handle); !slices.Contains(h.waiters, b) {
			h.waiters = append(h.waiters, b)
		}
	}
	return -1
}

// kill unwinds without a word to the journal. The caller holds the token.
func (b *branch) kill() {
	for _, c := range b.children {
		c.kill()
	}
	if !b.over && b.x.scheduler.current != b {
		b.killed = true
		b.x.scheduler.step(b)
	}
	for _, h := range b.owned {
		h.abandon()
	}
}

// atWork tells whether an abandoned call of the branch has not stopped yet.
func (b *branch) atWork() bool {
	for _, h := range b.owned {
		if h.kind == flow.OpCall && h.cancelled && !h.settled {
			return true
		}
	}
	for _, c := range b.children {
		if c.atWork() {
			return true
		}
	}
	return false
}
