package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

// execution is one Run of a run. Its fields belong to the holder of the
// token: Run's goroutine, or the branch that it has resumed.
type execution struct {
	e     *Engine
	run   agency.RunID
	fence agency.Fence
	hooks Hooks

	ctx     context.Context // of the activities
	stopAll context.CancelFunc
	joined  sync.WaitGroup // branches and activities
	inbox   inbox

	history  []Record // as loaded, without code records
	pos      int      // the next of them
	recorded bool     // the present tick is from the history
	code     string   // the code version that wrote last, "" for none
	seq      int64    // rows in the journal
	pending  []Record // not yet written
	offline  bool     // compare only: stop where the history ends

	branches []*branch
	runnable []*branch
	current  *branch
	draining []*branch
	halted   error

	keys       map[string]bool
	versions   map[string]int
	calls      map[string]*handle
	unlaunched []*handle
	inflight   int
	timers     map[string]*handle
	elapsed    map[string]time.Duration
	timersGone []string
	fired      []*handle // since the last write
	saved      time.Duration
	signals    map[string][]json.RawMessage
	receivers  map[string][]*handle
	peekers    map[string][]*handle
	delivered  map[string]bool // signal ids
	signalSeq  int64
	kept       map[string]keptResult
	quiet      bool
}

type keptResult struct {
	hash string
	rec  Record
}

func newExecution(e *Engine, run agency.RunID, fence agency.Fence, hooks Hooks) *execution {
	return &execution{
		e: e, run: run, fence: fence, hooks: hooks, inbox: newInbox(),
		keys: map[string]bool{}, versions: map[string]int{}, calls: map[string]*handle{},
		timers: map[string]*handle{}, elapsed: map[string]time.Duration{},
		signals: map[string][]json.RawMessage{}, receivers: map[string][]*handle{}, peekers: map[string][]*handle{},
		delivered: map[string]bool{}, kept: map[string]keptResult{},
	}
}

// errOffline ends a comparison whose history the code has matched.
var errOffline = errors.New("end of the history")

// execute is the life of a Run.
func (x *execution) execute(ctx context.Context, main func(flow.Ctx) error) error {
	x.ctx, x.stopAll = context.WithCancel(ctx)
	defer x.stopAll()
	x.recorded = len(x.history) > 0
	x.saved = x.e.o.Clock.Mono()
	root := x.newBranch(nil, "", func(b flow.Backend) error { return main(flow.NewCtx(x.run, b)) })
	x.loop(ctx, root)
	if x.hooks.Ending != nil {
		x.hooks.Ending()
	}
	x.wind()
	if x.halted == nil {
		return root.err
	}
	if !x.offline && !errors.Is(x.halted, store.ErrFenced) {
		// What was paid for is not lost; if even this cannot be written, the
		// steps run again, which they are made for.
		_ = x.keep()
	}
	return x.halted
}

// maxUnwritten bounds what several deliveries at once collect for one write.
const maxUnwritten = 64

func (x *execution) loop(ctx context.Context, root *branch) {
	for {
		x.tick()
		if x.halted != nil || x.over(root) {
			return
		}
		if ctx.Err() != nil {
			x.halt(context.Cause(ctx))
			return
		}
		if x.pos < len(x.history) {
			x.replayNext()
			continue
		}
		x.recorded = false
		if x.offline {
			x.halt(errOffline)
			return
		}
		if !x.next(ctx) {
			return
		}
	}
}

// next delivers one event, writing the journal and starting effects before it
// waits.
func (x *execution) next(ctx context.Context) bool {
	if len(x.pending) < maxUnwritten && x.e.seams.choose == nil {
		if ev, ok := x.poll(ctx); ok {
			x.apply(ev)
			return true
		}
	}
	if err := x.flush(); err != nil {
		x.halt(err)
		return false
	}
	x.launch()
	ev, ok := x.wait(ctx)
	if ok {
		x.apply(ev)
	}
	return ok
}

// over ends the run when its function has returned.
func (x *execution) over(root *branch) bool {
	if !root.over {
		return false
	}
	if _, detail := x.match(Record{Kind: KindEnd, Error: failureOf(root.err)}); detail != "" {
		x.mismatch("", detail)
		return true
	}
	if x.pos < len(x.history) {
		x.mismatch(x.history[x.pos].Key, fmt.Sprintf("the code has ended, the journal goes on with %s", x.history[x.pos]))
	} else if !x.offline {
		if err := x.flush(); err != nil {
			x.halt(err)
		}
	}
	return true
}

// tick runs branches until all of them wait.
func (x *execution) tick() {
	for len(x.runnable) > 0 && x.halted == nil {
		b := x.runnable[0]
		x.runnable = x.runnable[1:]
		b.queued = false
		if !b.over {
			x.step(b)
		}
		if b.over && b.parent == nil {
			return // the run's function has returned: what is left is unwound
		}
	}
}

func (x *execution) enqueue(b *branch) {
	if !b.queued && !b.over {
		b.queued = true
		x.runnable = append(x.runnable, b)
	}
}

// halt stops the run with the first reason given.
func (x *execution) halt(err error) {
	if x.halted == nil {
		x.halted = err
	}
}

func (x *execution) mismatch(key, detail string) {
	recorded := x.code
	if recorded == "" {
		recorded = x.e.o.Version
	}
	x.halt(&flow.Fault{Run: x.run, Key: key, Detail: detail, Recorded: recorded, Running: x.e.o.Version})
}

// fault is mismatch for a branch, which does not go on.
func (x *execution) fault(key, detail string) {
	x.mismatch(key, detail)
	runtime.Goexit()
}

// claim refuses a key that was used before.
func (x *execution) claim(key string) {
	if x.keys[key] {
		x.fault(key, "the key is used twice")
	}
	x.keys[key] = true
}

// command notes what a branch does, or compares it with the history, whose
// record it gives.
func (x *execution) command(r Record) Record {
	got, detail := x.match(r)
	if detail != "" {
		x.fault(r.Key, detail)
	}
	return got
}

func (x *execution) match(r Record) (got Record, detail string) {
	if !x.recorded {
		x.pending = append(x.pending, r)
		return r, ""
	}
	if x.pos == len(x.history) {
		return r, fmt.Sprintf("the code goes on with %s, the journal has nothing there", r)
	}
	got = x.history[x.pos]
	if !got.matches(r) {
		if got.Kind == r.Kind && got.Key == r.Key && got.Name == r.Name && got.Hash != r.Hash {
			return r, fmt.Sprintf("%s has another input than was recorded", r)
		}
		return r, fmt.Sprintf("the code does %s where the journal has %s", r, got)
	}
	x.pos++
	return got, ""
}

// version settles a Version call; see flow.Version.
func (x *execution) version(change string, newest int) int {
	if v, ok := x.versions[change]; ok {
		return v
	}
	v := newest
	want := Record{Kind: KindVersion, Key: change, Data: json.RawMessage(strconv.Itoa(newest))}
	switch {
	case !x.recorded:
		x.pending = append(x.pending, want)
	case x.pos < len(x.history) && x.history[x.pos].matches(want):
		n, err := strconv.Atoi(string(x.history[x.pos].Data))
		if err != nil || n > newest {
			x.fault(change, fmt.Sprintf("the run has version %s of this change, the code knows up to %d", x.history[x.pos].Data, newest))
		}
		v = n
		x.pos++
	default:
		v = 0
	}
	x.versions[change] = v
	return v
}

// replayNext delivers the next record of the history.
func (x *execution) replayNext() {
	r := x.history[x.pos]
	if !r.delivery() {
		x.mismatch(r.Key, fmt.Sprintf("the journal goes on with %s, which the code does not do", r))
		return
	}
	x.pos++
	x.recorded = true
	x.deliver(r)
}

// deliver gives the branches what a record says has come.
func (x *execution) deliver(r Record) {
	switch r.Kind {
	case KindDone:
		h := x.calls[r.Key]
		if h == nil || h.settled || h.cancelled != (r.Error != nil && r.Error.Cancelled) {
			x.mismatch(r.Key, "the journal has a result for a call that the code did not make or treats otherwise")
			return
		}
		h.settle(r.Data, r.Error.err())
		x.drained()
	case KindSignal:
		x.delivered[r.Key] = true
		x.signals[r.Name] = append(x.signals[r.Name], r.Data)
		x.serve(r.Name)
	case KindFired:
		h := x.timers[r.Key]
		if h == nil {
			x.mismatch(r.Key, "the journal has a timer that the code did not set")
			return
		}
		delete(x.timers, r.Key)
		x.fired = append(x.fired, h)
		if h.persisted {
			x.timersGone = append(x.timersGone, h.key)
		}
		h.settle(nil, nil)
	}
}

// serve hands waiting signals to those who want them, in both orders of
// arrival.
func (x *execution) serve(name string) {
	for len(x.signals[name]) > 0 && len(x.receivers[name]) > 0 {
		h, payload := x.receivers[name][0], x.signals[name][0]
		x.receivers[name], x.signals[name] = x.receivers[name][1:], x.signals[name][1:]
		h.settle(payload, nil)
	}
	if len(x.signals[name]) > 0 {
		for _, h := range x.peekers[name] {
			h.notify()
		}
	}
}

// wind ends everything that still runs, and waits for it.
func (x *execution) wind() {
	x.stopAll()
	for i := len(x.branches) - 1; i >= 0; i-- {
		if b := x.branches[i]; !b.over {
			b.killed = true
			x.step(b)
		}
	}
	x.joined.Wait()
}

func (x *execution) setQuiet(q bool) {
	if x.quiet != q {
		x.quiet = q
		if x.hooks.Quiet != nil {
			x.hooks.Quiet(q)
		}
	}
}
