package boardtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"agency/internal/agency"
)

// Call is an operation as its client saw it: it was done at one moment between
// Begun and Ended.
type Call struct {
	Op
	Result
	Err          error
	Begun, Ended int64
}

// Race has clients use one key, one lock and one token at once, and checks that
// what they saw of each has an order (Herlihy and Wing 1990).
func (r *Rig) Race(ctx context.Context, seed uint64) error {
	run, err := r.ready(ctx)
	if err != nil {
		return err
	}
	agents := []string{"a", "b", "c"}
	for _, who := range agents {
		if _, err := r.backend.Do(ctx, run, Op{Do: "join", Who: who}); err != nil {
			return err
		}
	}
	things := []Op{{At: "k", Do: "put swap swap get"}, {At: "f", Do: "lock lock unlock checklock"}, {At: "m", Do: "ask ask release checktoken"}}
	histories := make([][]Call, len(things)*len(agents))
	var clock atomic.Int64
	var wg sync.WaitGroup
	for i, thing := range things {
		for j, who := range agents {
			random := rand.New(rand.NewPCG(seed, uint64(i*len(agents)+j)))
			wg.Go(func() {
				histories[i*len(agents)+j] = client(random, thing, who, &clock, func(op Op) (Result, error) { return r.backend.Do(ctx, run, op) })
			})
		}
	}
	wg.Wait()
	for i, thing := range things {
		calls := slices.Concat(histories[i*len(agents) : (i+1)*len(agents)]...)
		if !Ordered(calls, agents...) {
			err = errors.Join(err, fmt.Errorf("what clients saw of %q has no order:\n%s", thing.At, show(calls)))
		}
	}
	return err
}

// client does a few operations on one thing, each with what the last one told.
func client(random *rand.Rand, thing Op, who string, clock *atomic.Int64, do func(Op) (Result, error)) []Call {
	verbs := strings.Fields(thing.Do)
	var out []Call
	var fence agency.Fence
	var version int64
	for range 10 {
		op := Op{
			Do: verbs[random.IntN(len(verbs))], Who: who, At: thing.At, Text: fmt.Sprint(random.IntN(3)),
			Shared: random.IntN(2) == 0, Version: version, Fence: fence,
		}
		c := Call{Op: op, Begun: clock.Add(1)}
		c.Result, c.Err = do(op)
		c.Ended = clock.Add(1)
		if c.Result.Fence != (agency.Fence{}) && c.Err == nil {
			fence = c.Result.Fence
		}
		_, _ = fmt.Sscan(strings.TrimPrefix(c.Result.Text, conflict+" "), &version) // what is no version leaves it
		out = append(out, c)
	}
	return out
}

// Ordered tells whether calls can have been done one after the other, each
// between its begin and its end, on a board where agents have joined: a search
// over all orders that comes back to no state twice (Wing and Gong 1993).
func Ordered(calls []Call, agents ...string) bool {
	start := newModel()
	for _, who := range agents {
		start.do(Op{Do: "join", Who: who})
	}
	seen := map[string]bool{}
	var search func(m *model, left []Call) bool
	search = func(m *model, left []Call) bool {
		if len(left) == 0 {
			return true
		}
		state := m.print() + show(left)
		if seen[state] {
			return false
		}
		seen[state] = true
		ended := slices.MinFunc(left, func(a, b Call) int { return int(a.Ended - b.Ended) }).Ended
		for i, c := range left {
			if c.Begun > ended {
				continue // another had ended before it began
			}
			next := m.clone()
			if next.judge(c.Op, c.Result, c.Err) == "" && search(next, slices.Delete(slices.Clone(left), i, i+1)) {
				return true
			}
		}
		return false
	}
	return search(start, calls)
}

func show(calls []Call) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%d-%d %s %s %s v%d %v: %s %v %v\n", c.Begun, c.Ended, c.Who, c.Do, c.Op.Text, c.Version, c.Op.Fence, c.Result.Text, c.Result.Fence, c.Err)
	}
	return b.String()
}

// clone copies what the operations of Race change.
func (m *model) clone() *model {
	n := newModel()
	n.now, n.agents, n.fences = m.now, m.agents, slices.Clone(m.fences)
	for at, c := range m.keys {
		n.keys[at] = new(*c)
	}
	for at, held := range m.locks {
		for _, g := range held {
			n.locks[at] = append(n.locks[at], new(*g))
		}
	}
	for at, q := range m.tokens {
		n.tokens[at] = &queue{}
		if q.held != nil {
			n.tokens[at].held = new(*q.held)
		}
		for _, g := range q.wait {
			n.tokens[at].wait = append(n.tokens[at].wait, new(*g))
		}
	}
	return n
}

func (m *model) print() string {
	var b strings.Builder
	for _, at := range []string{"k"} {
		if c := m.keys[at]; c != nil {
			fmt.Fprint(&b, *c)
		}
	}
	for _, g := range m.locks[fold("f")] {
		fmt.Fprint(&b, *g)
	}
	if q := m.tokens["m"]; q.held != nil {
		fmt.Fprint(&b, *q.held)
		for _, g := range q.wait {
			fmt.Fprint(&b, *g)
		}
	}
	return b.String()
}
