package boardtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Call is an operation as its client saw it: it was done at one moment between
// Begun and Ended.
type Call struct {
	Op
	Result
	Err          error
	Begun, Ended int64
}

// Race has clients use one key at once, and checks that what they saw of it has an order
// (Herlihy and Wing 1990).
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
	histories := make([][]Call, len(agents))
	var clock atomic.Int64
	var wg sync.WaitGroup
	for i, who := range agents {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			histories[i] = client(random, who, &clock, func(op Op) (Result, error) { return r.backend.Do(ctx, run, op) })
		})
	}
	wg.Wait()
	if calls := slices.Concat(histories...); !Ordered(calls, agents...) {
		return fmt.Errorf("what clients saw has no order:\n%s", show(calls))
	}
	return nil
}

// client does a few operations on one key, each with what the last one told.
func client(random *rand.Rand, who string, clock *atomic.Int64, do func(Op) (Result, error)) []Call {
	verbs := strings.Fields("put swap swap get")
	var out []Call
	var version int64
	for range 10 {
		op := Op{Do: verbs[random.IntN(len(verbs))], Who: who, At: "k", Text: fmt.Sprint(random.IntN(3)), Version: version}
		c := Call{Op: op, Begun: clock.Add(1)}
		c.Result, c.Err = do(op)
		c.Ended = clock.Add(1)
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
		fmt.Fprintf(&b, "%d-%d %s %s %s v%d: %s %v\n", c.Begun, c.Ended, c.Who, c.Do, c.Op.Text, c.Version, c.Result.Text, c.Err)
	}
	return b.String()
}

// clone copies what the operations of Race change.
func (m *model) clone() *model {
	n := newModel()
	n.now, n.agents = m.now, m.agents
	for at, c := range m.keys {
		n.keys[at] = new(*c)
	}
	return n
}

func (m *model) print() string {
	if c := m.keys["k"]; c != nil {
		return fmt.Sprint(*c)
	}
	return ""
}
