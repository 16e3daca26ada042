package schedule

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

const testRun = agency.RunID("run-1")

var toil = flow.Activity[agency.ContractID, bool]{Name: "toil"}

// yard is an engine whose activity waits until the test ends it.
type yard struct {
	db     *store.DB
	reg    *flow.Registry
	begun  chan agency.ContractID
	ending map[agency.ContractID]chan bool // true: landed
}

func newYard(t *testing.T, plan []agency.Contract) *yard {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Sets: []store.Set{local.Migrations()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	y := &yard{db: db, reg: flow.NewRegistry(), begun: make(chan agency.ContractID, len(plan)), ending: map[agency.ContractID]chan bool{}}
	for _, c := range plan {
		y.ending[c.ID] = make(chan bool, 1)
	}
	flow.Bind(y.reg, toil, func(ctx context.Context, _ agency.StepKey, id agency.ContractID) (bool, error) {
		y.begun <- id
		select {
		case landed := <-y.ending[id]:
			return landed, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	})
	Bind(y.reg, y)
	return y
}

// Signal is the host's part.
func (y *yard) Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error {
	return local.New(local.Options{DB: y.db}).Signal(ctx, run, name, id, payload)
}

// run carries a plan out; Fulfil waits for the test.
func (y *yard) run(ctx context.Context, plan []agency.Contract, o Options) (out Outcome, err error) {
	work := Work{
		Fulfil: func(c flow.Ctx, contract agency.Contract, _ *Slot) (Ending, error) {
			landed, err := flow.Call(c, toil, "toil", contract.ID)
			return Ending{Landed: landed, Reason: "red"}, err
		},
		Failed: func(flow.Ctx, Failure) ([]agency.Contract, error) { return nil, nil },
	}
	engine := local.New(local.Options{DB: y.db, Registry: y.reg, Version: "test"})
	err = engine.Run(ctx, testRun, func(c flow.Ctx) (err error) {
		out, err = Run(c, plan, o, work)
		return err
	}, flow.Hooks{})
	return out, err
}

func randomPlan(rng *rand.Rand, n int) []agency.Contract {
	plan := make([]agency.Contract, n)
	for i := range plan {
		plan[i] = agency.Contract{ID: agency.ContractID(fmt.Sprint("c", i)), Priority: rng.IntN(3), Writes: []string{fmt.Sprintf("f%d.go", rng.IntN(n))}}
		if i > 0 && rng.IntN(2) == 0 {
			plan[i].DependsOn = []agency.ContractID{plan[rng.IntN(i)].ID}
		}
	}
	return plan
}

// The run starts what the queue says, at once and nothing else: contracts that
// may not run together never do, and no slot stays idle.
func TestRunFollowsTheQueue(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			plan := randomPlan(rng, 12)
			limits := Limits{Parallel: 1 + rng.IntN(4)}
			y, q := newYard(t, plan), NewQueue(plan, limits)
			type result struct {
				out Outcome
				err error
			}
			done := make(chan result, 1)
			go func() {
				out, err := y.run(t.Context(), plan, Options{Run: testRun, Limits: limits})
				done <- result{out, err}
			}()
			var running []agency.ContractID
			var want Outcome
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
					case r := <-done:
						t.Fatalf("the run ended, %v was to start: %+v", expected, r)
					}
				}
				if len(running) == 0 {
					break
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
			}
			got := <-done
			if got.err != nil {
				t.Fatal(got.err)
			}
			sorted := cmp.Transformer("sorted", func(o Outcome) []string {
				return slices.Concat(slices.Sorted(words(o.Landed, "landed ")), slices.Sorted(words(o.Failed, "failed ")), slices.Sorted(words(o.Blocked, "blocked ")))
			})
			if diff := cmp.Diff(want, got.out, sorted); diff != "" { // two may end before the run hears of either
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func words(ids []agency.ContractID, what string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, id := range ids {
			if !yield(what + string(id)) {
				return
			}
		}
	}
}

// A contract that waits for a person gives its slot to another, and gets one
// again before what has not begun; too many of them hold new ones back.
func TestSlotsOfThoseWhoWait(t *testing.T) {
	plan := []agency.Contract{{ID: "asks"}, {ID: "other"}, {ID: "late"}}
	y := newYard(t, plan)
	answer := flow.Signal[string]{Name: "answer"}
	var order []string
	work := Work{
		Fulfil: func(c flow.Ctx, contract agency.Contract, slot *Slot) (Ending, error) {
			order = append(order, string(contract.ID)+" begins")
			if contract.ID == "asks" {
				if err := slot.Leave(c, true); err != nil {
					return Ending{}, err
				}
				if _, err := flow.Receive(c, answer, "answer"); err != nil {
					return Ending{}, err
				}
				if err := slot.Return(c); err != nil {
					return Ending{}, err
				}
				order = append(order, "asks goes on")
				return Ending{Landed: true}, nil
			}
			landed, err := flow.Call(c, toil, "toil", contract.ID)
			return Ending{Landed: landed}, err
		},
	}
	engine := local.New(local.Options{DB: y.db, Registry: y.reg, Version: "test"})
	go func() { // other works; the answer comes meanwhile
		<-y.begun
		if err := y.Signal(t.Context(), testRun, answer.Name, "a", []byte(`"yes"`)); err != nil {
			t.Error(err)
		}
		y.ending["other"] <- true
		y.ending["late"] <- true
	}()
	err := engine.Run(t.Context(), testRun, func(c flow.Ctx) error {
		order = nil
		_, err := Run(c, plan, Options{Run: testRun, Limits: Limits{Parallel: 1}, MaxWaiting: 2}, work)
		return err
	}, flow.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if order[0] != "asks begins" || order[1] != "other begins" || !slices.Contains(order, "asks goes on") || len(order) != 4 {
		t.Errorf("happened: %v", order)
	}
}
