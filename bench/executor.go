package main

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"agency/internal/agency"
	"agency/internal/schedule"
)

// The latencies of contracts. Real ones take minutes: what the executor adds to
// each weighs a thousandth of what it weighs here.
const (
	latencyLeast = 100 * time.Millisecond
	latencyMost  = 700 * time.Millisecond
)

// executorRow carries out random trees of contracts whose work is a real wait
// of a drawn length, and compares the wall with a pure simulation of the same
// policy, in which nothing costs time but the waits.
func executorRow() row {
	sizes := []struct{ contracts, parallel int }{{100, 8}, {1000, 64}}
	r := row{measure: func(ctx context.Context, b *bench) ([]figure, error) {
		var out []figure
		for _, s := range sizes {
			name := fmt.Sprintf("executor/%d", s.contracts)
			if !b.wanted.MatchString(name) {
				continue
			}
			f, err := b.executor(ctx, name, s.contracts, schedule.Limits{Parallel: s.parallel})
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
		return out, nil
	}}
	for _, s := range sizes {
		r.figures = append(r.figures, fmt.Sprintf("executor/%d", s.contracts))
	}
	return r
}

func (b *bench) executor(ctx context.Context, name string, n int, l schedule.Limits) (figure, error) {
	s := samples{}
	for round := range b.n {
		plan, latency := drawTree(rand.New(rand.NewPCG(uint64(round), uint64(n))), n)
		want := simulate(plan, l, latency)
		got, err := b.carriedOut(ctx, plan, l, latency)
		if err != nil {
			return figure{}, err
		}
		s["executor"], s["simulation"] = append(s["executor"], float64(got)), append(s["simulation"], float64(want))
	}
	raw := []string{s.raw("executor", 1e9, "s"), s.raw("simulation", 1e9, "s")}
	return figure{name, s.ratio("executor", "simulation"), atMost(1.02), raw}, nil
}

// drawTree is a random tree: each contract but the first depends on one before
// it. Some write the same file.
func drawTree(rng *rand.Rand, n int) ([]agency.Contract, map[agency.ContractID]time.Duration) {
	plan, latency := make([]agency.Contract, n), map[agency.ContractID]time.Duration{}
	for i := range plan {
		c := &plan[i]
		c.ID = agency.ContractID(fmt.Sprint("c", i))
		c.Priority, c.Writes = rng.IntN(3), []string{fmt.Sprintf("f%d.go", rng.IntN(n))}
		if i > 0 {
			c.DependsOn = []agency.ContractID{plan[rng.IntN(i)].ID}
		}
		latency[c.ID] = latencyLeast + time.Duration(rng.Int64N(int64(latencyMost-latencyLeast)))
	}
	return plan, latency
}

func (b *bench) carriedOut(ctx context.Context, plan []agency.Contract, l schedule.Limits, latency map[agency.ContractID]time.Duration) (wall time.Duration, err error) {
	dir, err := b.folder()
	if err != nil {
		return 0, err
	}
	s, err := openSite(ctx, dir, func(ctx context.Context, id agency.ContractID) error { return pause(ctx, latency[id]) })
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	err = s.carryOut(ctx, plan, l)
	wall = time.Since(begun)
	return wall, errors.Join(err, s.close())
}

// ending is a contract at work in the simulation.
type ending struct {
	at time.Duration
	id agency.ContractID
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(v any)        { *e = append(*e, v.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate is the policy alone, under a clock that is a number.
func simulate(plan []agency.Contract, l schedule.Limits, latency map[agency.ContractID]time.Duration) (now time.Duration) {
	q, work := schedule.NewQueue(plan, l), endings{}
	for {
		for _, s := range q.Next() {
			heap.Push(&work, ending{now + latency[s.ID], s.ID})
		}
		if len(work) == 0 {
			return now
		}
		next := heap.Pop(&work).(ending)
		now = next.at
		q.Complete(next.id)
	}
}
