package schedule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/local"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// where a contract stands, by what the driver has seen of it alone.
type where string

const (
	unknown   where = ""
	known     where = "known"
	kept      where = "withheld"
	atWork    where = "at work"
	away      where = "away"
	awayHuman where = "away for a person"
	returning where = "returning"
	wants     where = "wants more files"
	landed    where = "landed"
	lost      where = "lost"
)

// order is what the driver has the program do.
type order struct {
	Do       string            `json:"do"` // add, withhold, amend, close
	N        int               `json:"n,omitempty"`
	Contract agency.ContractID `json:"contract,omitempty"`
	Words    *agency.Contract  `json:"words,omitempty"`
}

var orders = flow.Signal[order]{Name: "orders"}

// deed is what the driver has the work on a contract do.
type deed struct {
	Do   string `json:"do"` // land, fail, leave, ask, back, widen, narrow
	File string `json:"file,omitempty"`
}

func deeds(id agency.ContractID) flow.Signal[deed] {
	return flow.Signal[deed]{Name: "deeds/" + string(id)}
}

// driver plays a random program against an open executor. Whenever everything
// waits it looks at what was promised, and lets the next thing happen.
type driver struct {
	t       *testing.T
	rng     *rand.Rand
	y       *yard
	o       Options
	plan    []agency.Contract // as it is by now, in the order in which it comes
	at      map[agency.ContractID]where
	more    map[agency.ContractID][]string // beyond a contract's own writes
	given   int
	closed  bool
	sent    int
	want    Outcome
	stop    func(error)
	replays bool
}

// files are few, so that they overlap.
var files = []string{"a.go", "b.go", "dir/", "dir/x", "go.sum"}

func newDriver(t *testing.T, seed uint64) *driver {
	rng := rand.New(rand.NewPCG(seed, 23))
	d := &driver{t: t, rng: rng, at: map[agency.ContractID]where{}, more: map[agency.ContractID][]string{}}
	d.plan = randomPlan(rng, 10+rng.IntN(6))
	for i := range d.plan {
		d.plan[i].Writes = []string{files[rng.IntN(len(files))]}
		if rng.IntN(6) == 0 {
			d.plan[i].ExecutionMode = agency.ExecutionSequential
		}
	}
	d.o = Options{Run: testRun, Limits: Limits{Parallel: 1 + rng.IntN(4), Shared: []string{"go.sum"}}, MaxWaiting: rng.IntN(3)}
	return d
}

// again is a driver for the same run, which only looks on.
func (d *driver) again() *driver {
	out := newDriver(d.t, 0)
	out.plan, out.o, out.replays = slices.Clone(d.plan), d.o, true
	return out
}

func (d *driver) wrong(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	d.t.Errorf("after %d things: %v", d.sent, err)
	if d.stop != nil {
		d.stop(err)
	}
}

func (d *driver) in(places ...where) (out []int) {
	for i, c := range d.plan {
		if slices.Contains(places, d.at[c.ID]) {
			out = append(out, i)
		}
	}
	return out
}

// wide is a contract with the files that it may change now.
func (d *driver) wide(i int) agency.Contract {
	c := d.plan[i]
	c.Writes = slices.Concat(c.Writes, d.more[c.ID])
	return c
}

// inTheWay is a contract that began and beside which one may not work; those
// that want more files stand in the way of who has not begun.
func (d *driver) inTheWay(i int, begins bool) (agency.ContractID, bool) {
	places := []where{atWork, away, awayHuman, returning}
	if begins {
		places = append(places, wants)
	}
	for _, j := range d.in(places...) {
		if j == i {
			continue
		}
		a, b := d.wide(i), d.wide(j)
		if !begins { // it may be at work beside its siblings already
			a.ExecutionMode, b.ExecutionMode = agency.ExecutionParallel, agency.ExecutionParallel
		}
		if _, ok := agency.Admissible(a, []agency.Contract{b}, d.o.Shared); !ok {
			return b.ID, true
		}
	}
	return "", false
}

func (d *driver) index(id agency.ContractID) int {
	return slices.IndexFunc(d.plan, func(c agency.Contract) bool { return c.ID == id })
}

// early is a dependency that is not there.
func (d *driver) early(i int) (agency.ContractID, bool) {
	for _, on := range d.plan[i].DependsOn {
		if d.at[on] != landed {
			return on, true
		}
	}
	return "", false
}

// takes checks that a contract may have a slot now.
func (d *driver) takes(id agency.ContractID, begins bool) {
	i := d.index(id)
	if d.replays {
		return
	}
	if on, early := d.early(i); early {
		d.wrong("%s is at work before %s, on which it depends", id, on)
	}
	if other, ok := d.inTheWay(i, begins); ok {
		d.wrong("%s is at work beside %s", id, other)
	}
	if n := len(d.in(atWork)); n >= d.o.Parallel {
		d.wrong("%s is at work beside %d others", id, n)
	}
	if begins && d.at[id] != known {
		d.wrong("%s begins when it is %q", id, d.at[id])
	}
	d.at[id] = atWork
}

// idle checks that nobody waits for a slot who could have one.
func (d *driver) idle() {
	if len(d.in(atWork)) >= d.o.Parallel {
		return
	}
	for _, i := range d.in(returning) {
		d.wrong("a slot is idle, and %s wants to go on", d.plan[i].ID)
	}
	for _, i := range d.in(wants) {
		if _, ok := d.inTheWay(i, false); !ok {
			d.wrong("a slot is idle, and %s could go on with %v", d.plan[i].ID, d.more[d.plan[i].ID])
		}
	}
	if d.o.MaxWaiting > 0 && len(d.in(awayHuman)) >= d.o.MaxWaiting {
		return
	}
	for _, i := range d.in(known) {
		_, early := d.early(i)
		if _, ok := d.inTheWay(i, true); !early && !ok {
			d.wrong("a slot is idle, and %s could begin", d.plan[i].ID)
		}
	}
}

// doom gives up what depends on a contract that is lost, and names it.
func (d *driver) doom() (out []agency.ContractID) {
	for again := true; again; {
		again = false
		for _, i := range d.in(known, kept) {
			if slices.ContainsFunc(d.plan[i].DependsOn, func(on agency.ContractID) bool { return d.at[on] == lost }) {
				d.at[d.plan[i].ID] = lost
				out, again = append(out, d.plan[i].ID), true
			}
		}
	}
	slices.Sort(out)
	d.want.Blocked = append(d.want.Blocked, out...)
	return out
}

func send[T any](d *driver, s flow.Signal[T], v T) {
	d.sent++
	payload, err := flow.Encode(s, v)
	if err == nil {
		err = d.y.Signal(context.Background(), testRun, s.Name, fmt.Sprint("thing ", d.sent), payload)
	}
	if err != nil {
		d.wrong("%v", err)
	}
}

// quiet is called when everything waits: it lets one thing happen.
func (d *driver) quiet(idle bool) {
	if !idle || d.t.Failed() {
		return
	}
	d.idle()
	var may []func()
	add := func(times int, f func()) {
		for range times {
			may = append(may, f)
		}
	}
	if left := len(d.plan) - d.given; left > 0 {
		add(2, func() { send(d, orders, order{Do: "add", N: 1 + d.rng.IntN(left)}) })
	} else if !d.closed && len(d.in(kept)) == 0 {
		add(1, func() { d.closed = true; send(d, orders, order{Do: "close"}) })
	}
	late := d.sent > 150 // come to an end
	if on := d.in(known); !d.closed && !late && len(on) > 0 {
		add(2, func() {
			send(d, orders, order{Do: "withhold", Contract: d.plan[on[d.rng.IntN(len(on))]].ID})
		})
	}
	if on := d.in(kept); len(on) > 0 {
		add(2, func() { d.amends(on[d.rng.IntN(len(on))]) })
	}
	for _, i := range d.in(atWork) {
		d.works(i, late, add)
	}
	for _, i := range d.in(away, awayHuman) {
		add(2, func() { d.at[d.plan[i].ID] = returning; send(d, deeds(d.plan[i].ID), deed{Do: "back"}) })
	}
	if len(may) == 0 {
		d.wrong("everything waits, and nothing can happen: %v", d.at)
		return
	}
	may[d.rng.IntN(len(may))]()
}

func (d *driver) amends(i int) {
	c := d.plan[i]
	c.Priority, c.Writes, c.DependsOn = d.rng.IntN(3), []string{files[d.rng.IntN(len(files))]}, nil
	if i > 0 {
		c.DependsOn = []agency.ContractID{d.plan[d.rng.IntN(i)].ID}
	}
	send(d, orders, order{Do: "amend", Words: &c})
}

// works is what may happen to a contract at work.
func (d *driver) works(i int, late bool, add func(int, func())) {
	id := d.plan[i].ID
	do := func(times int, to where, what deed) {
		add(times, func() {
			d.at[id] = to
			switch what.Do {
			case "land":
				d.want.Landed = append(d.want.Landed, id)
			case "fail":
				d.want.Failed = append(d.want.Failed, id)
				d.doom()
			case "widen":
				d.more[id] = []string{what.File}
			case "narrow":
				delete(d.more, id)
			}
			send(d, deeds(id), what)
		})
	}
	do(3, landed, deed{Do: "land"})
	if late {
		return
	}
	do(1, lost, deed{Do: "fail"})
	do(1, away, deed{Do: "leave"})
	do(1, awayHuman, deed{Do: "ask"})
	if d.more[id] == nil {
		do(2, wants, deed{"widen", files[d.rng.IntN(len(files))]})
	} else {
		do(2, atWork, deed{Do: "narrow"})
	}
}

// fulfil is the work on a contract: it does what it is told.
func (d *driver) fulfil(c flow.Ctx, contract agency.Contract, slot *Slot) (Ending, error) {
	d.takes(contract.ID, true)
	for n := 1; ; n++ {
		what, err := flow.Receive(c, deeds(contract.ID), fmt.Sprint("deed/", n))
		if err != nil {
			return Ending{}, err
		}
		switch what.Do {
		case "land":
			return Ending{Landed: true}, nil
		case "fail":
			return Ending{Reason: "red"}, nil
		case "leave", "ask":
			err = slot.Leave(c, what.Do == "ask")
		case "back":
			err = slot.Return(c)
			d.takes(contract.ID, false)
		case "widen":
			err = slot.Widen(c, []string{what.File})
			d.takes(contract.ID, false)
		case "narrow":
			err = slot.Narrow(c)
		}
		if err != nil {
			return Ending{}, err
		}
	}
}

// program is the run: what the driver orders of the executor.
func (d *driver) program(out *Outcome) func(flow.Ctx) error {
	return func(c flow.Ctx) error {
		e := Open(c, "executor", d.o, Work{
			Fulfil: d.fulfil,
			Failed: func(flow.Ctx, Failure) ([]agency.Contract, error) { return nil, nil },
		})
		for n := 1; ; n++ {
			next, err := flow.Receive(c, orders, fmt.Sprint("order/", n))
			if err == nil {
				err = d.obey(c, e, fmt.Sprint("obey/", n), next)
			}
			if err != nil {
				return err
			}
			if next.Do == "close" {
				*out, err = e.Wait(c)
				return err
			}
		}
	}
}

func (d *driver) obey(c flow.Ctx, e *Executor, key string, o order) (err error) {
	var never []agency.ContractID
	switch o.Do {
	case "add":
		next := d.plan[d.given : d.given+o.N]
		d.given += o.N
		for _, contract := range next {
			d.at[contract.ID] = known
		}
		never, err = e.Add(c, key, next)
	case "withhold":
		if !e.Withhold(o.Contract) && !d.replays {
			d.wrong("%s has not begun and cannot be withheld", o.Contract)
		}
		d.at[o.Contract] = kept
		return nil
	case "amend":
		i := d.index(o.Words.ID)
		if d.at[o.Words.ID] == kept {
			d.plan[i], d.at[o.Words.ID] = *o.Words, known
		}
		never, err = e.Amend(c, key, *o.Words)
	case "close":
		return e.Close(c, key)
	}
	slices.Sort(never)
	if diff := cmp.Diff(d.doom(), never, cmpopts.EquateEmpty()); diff != "" && !d.replays {
		d.wrong("%s: what never starts (-want +got):\n%s", o.Do, diff)
	}
	return err
}

// An open executor keeps its promises, whatever comes late, is amended, fails,
// goes away for a person, or has more files mended: two whose files overlap are
// never at work together, nothing begins before what it depends on has landed,
// no slot is idle while a contract could have it, nothing is forgotten, and the
// history replays.
func TestOpenExecutorKeepsItsPromises(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := newDriver(t, seed)
			first := slices.Clone(d.plan)
			d.y = newYard(t, d.plan)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			d.stop = func(err error) { cancel(err) }
			var got, again Outcome
			engine := local.New(local.Options{DB: d.y.db, Registry: d.y.reg, Version: "test"})
			if err := engine.Run(ctx, testRun, d.program(&got), flow.Hooks{Quiet: d.quiet}); err != nil {
				t.Fatal(errors.Join(err, context.Cause(ctx)))
			}
			if diff := cmp.Diff(d.want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b agency.ContractID) bool { return a < b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(got.Landed) + len(got.Failed) + len(got.Blocked); n != len(d.plan) {
				t.Errorf("%d of %d contracts came to an end", n, len(d.plan))
			}
			h, err := local.ReadHistory(t.Context(), d.y.db, testRun)
			if err != nil {
				t.Fatal(err)
			}
			looks := d.again()
			looks.plan = first
			if err := local.Replay(t.Context(), "test", h, looks.program(&again)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("replayed otherwise (-was +is):\n%s", diff)
			}
		})
	}
}
