package schedule

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/local"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// coming hands the next contracts of a plan over, once the executor has heard
// how that many ended; no more contracts closes it.
type coming struct{ More, Ended int }

var comes = flow.Signal[coming]{Name: "comes"}

var told = flow.Activity[int, flow.None]{Name: "told"}

// openYard is a yard whose plan comes bit by bit: give hands over the next n
// contracts and returns when the executor has them.
type openYard struct {
	*yard
	plan  []agency.Contract
	given int
	ended int
	heard chan int
}

func newOpenYard(t *testing.T, plan []agency.Contract) *openYard {
	y := &openYard{yard: newYard(t, plan), plan: plan, heard: make(chan int, len(plan))}
	flow.Bind(y.reg, told, func(_ context.Context, _ agency.StepKey, n int) (flow.None, error) {
		y.heard <- n
		return flow.None{}, nil
	})
	return y
}

func (y *openYard) give(t *testing.T, n int) {
	t.Helper()
	payload, err := flow.Encode(comes, coming{n, y.ended})
	if err != nil {
		t.Fatal(err)
	}
	if err := y.Signal(t.Context(), testRun, comes.Name, fmt.Sprintf("comes %d %d", y.given, n), payload); err != nil {
		t.Fatal(err)
	}
	if y.given += n; n > 0 {
		<-y.heard
	}
}

// program is the run: an open executor, fed as the test says.
func (y *openYard) program(o Options, out *Outcome) func(flow.Ctx) error {
	return func(c flow.Ctx) error {
		e := Open(c, "executor", o, Work{
			Fulfil: func(c flow.Ctx, contract agency.Contract, _ *Slot) (Ending, error) {
				landed, err := flow.Call(c, toil, "toil", contract.ID)
				return Ending{Landed: landed, Reason: "red"}, err
			},
			Failed: func(flow.Ctx, Failure) ([]agency.Contract, error) { return nil, nil },
		})
		for at := 0; ; {
			next, err := flow.Receive(c, comes, fmt.Sprint("comes/", at))
			if err != nil {
				return err
			}
			for try := 0; len(e.x.outcome.Landed)+len(e.x.outcome.Failed) < next.Ended; try++ {
				if err := flow.Sleep(c, fmt.Sprint("hears/", at, "/", try), time.Millisecond); err != nil {
					return err
				}
			}
			n := next.More
			if n == 0 {
				break
			}
			if _, err := e.Add(c, fmt.Sprint("add/", at), y.plan[at:at+n]); err != nil {
				return err
			}
			if at += n; at <= len(y.plan) {
				if _, err := flow.Call(c, told, fmt.Sprint("told/", at), at); err != nil {
					return err
				}
			}
		}
		if err := e.Close(c, "close"); err != nil {
			return err
		}
		var err error
		*out, err = e.Wait(c)
		return err
	}
}

func (y *openYard) start(ctx context.Context, o Options, out *Outcome) chan error {
	done := make(chan error, 1)
	go func() {
		done <- local.New(local.Options{DB: y.db, Registry: y.reg, Version: "test"}).Run(ctx, testRun, y.program(o, out), flow.Hooks{})
	}()
	return done
}

// An executor whose plan comes bit by bit starts what the queue says, at once
// and nothing else, and its history replays.
func TestOpenExecutorFollowsTheQueue(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			plan := randomPlan(rng, 14)
			limits := Limits{Parallel: 1 + rng.IntN(4)}
			y, q := newOpenYard(t, plan), NewQueue(nil, limits)
			var got, want Outcome
			o := Options{Run: testRun, Limits: limits}
			done := y.start(t.Context(), o, &got)
			var running []agency.ContractID
			for {
				expected := map[agency.ContractID]bool{}
				for _, s := range q.Next() {
					expected[s.ID] = true
				}
				for len(expected) > 0 {
					select {
					case id := <-y.begun:
						if !expected[id] {
							t.Fatalf("%s was started; expected %v", id, expected)
						}
						delete(expected, id)
						running = append(running, id)
					case err := <-done:
						t.Fatalf("the run ended, %v was to start: %v", expected, err)
					}
				}
				left := len(plan) - y.given
				if len(running)+left == 0 {
					break
				}
				if left > 0 && (len(running) == 0 || rng.IntN(3) == 0) {
					n := 1 + rng.IntN(left)
					want.Blocked = append(want.Blocked, q.Add(plan[y.given:y.given+n])...)
					y.give(t, n)
					continue
				}
				at := rng.IntN(len(running))
				id := running[at]
				running = slices.Delete(running, at, at+1)
				landed := rng.IntN(5) > 0
				if landed {
					q.Complete(id)
					want.Landed = append(want.Landed, id)
				} else {
					want.Blocked = append(want.Blocked, q.Fail(id)...)
					want.Failed = append(want.Failed, id)
				}
				y.ending[id] <- landed
				y.ended++
			}
			y.give(t, 0)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b agency.ContractID) bool { return a < b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			h, err := local.ReadHistory(t.Context(), y.db, testRun)
			if err != nil {
				t.Fatal(err)
			}
			var again Outcome
			if err := local.Replay(t.Context(), "test", h, y.program(o, &again)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("replayed otherwise (-was +is):\n%s", diff)
			}
		})
	}
}

// An executor that has nothing to do waits until it is closed, not longer.
func TestOpenExecutorWithoutWork(t *testing.T) {
	y := newOpenYard(t, []agency.Contract{{ID: "a"}})
	var out Outcome
	done := y.start(t.Context(), Options{Run: testRun, Limits: Limits{Parallel: 1}}, &out)
	y.give(t, 1)
	y.ending[<-y.begun] <- true
	y.ended++
	y.give(t, 0)
	if err := <-done; err != nil || len(out.Landed) != 1 {
		t.Errorf("ended %+v, %v", out, err)
	}
}

// Ten thousand contracts that come one by one cost little each: a step looks at
// those at work and at the path that grows, not at the plan. The time is measured by
// the row executor/step-10k of bench.
func TestManyLateContracts(t *testing.T) {
	const n = 10_000
	q := NewQueue(nil, Limits{Parallel: 8})
	most, started := 0, 0
	for i := range n {
		c := agency.Contract{ID: agency.ContractID(fmt.Sprint("c", i)), Writes: []string{fmt.Sprintf("f%d.go", i%50)}, Priority: i % 3}
		if i >= 100 {
			c.DependsOn = []agency.ContractID{agency.ContractID(fmt.Sprint("c", i-100))}
		}
		before := q.looked
		q.Add([]agency.Contract{c})
		for _, s := range q.Next() {
			started++
			if s.ID == "c7" {
				continue // one that is at work all the time
			}
			q.Complete(s.ID)
		}
		most = max(most, q.looked-before)
	}
	t.Logf("%d contracts, %d started, %d looked at, by one step at most %d", n, started, q.looked, most)
	if longest := n / 100; most > longest+50 || q.looked > 20*n {
		t.Errorf("a step looks at up to %d contracts, %d in all", most, q.looked)
	}
}
