package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// drawPlan is a random plan without cycles: a contract depends on earlier ones.
func drawPlan(t *rapid.T) []agency.Contract {
	plan := make([]agency.Contract, rapid.IntRange(1, 14).Draw(t, "contracts"))
	for i := range plan {
		c := &plan[i]
		c.ID = agency.ContractID(fmt.Sprintf("c%02d", i))
		c.Status = agency.StatusPending
		c.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		for range rapid.IntRange(0, 2).Draw(t, "writes") {
			c.Writes = append(c.Writes, rapid.SampledFrom([]string{"a.go", "b.go", "b.go#F", "b.go#G", "dir/", "dir/x", "go.sum"}).Draw(t, "write"))
		}
		if rapid.IntRange(0, 5).Draw(t, "sequential") == 0 {
			c.ExecutionMode = agency.ExecutionSequential
		}
		for range rapid.IntRange(0, 2).Draw(t, "dependencies") {
			if i > 0 {
				if d := plan[rapid.IntRange(0, i-1).Draw(t, "dependency")].ID; !slices.Contains(c.DependsOn, d) {
					c.DependsOn = append(c.DependsOn, d)
				}
			}
		}
	}
	return plan
}

// model is the same policy without any cleverness: every step looks at the
// whole plan.
type model struct {
	limits   Limits
	plan     []agency.Contract
	admitted []agency.Contract // in progress, with a slot or without
	parked   []agency.ContractID
	back     []agency.ContractID // parked ones that want a slot again
	withheld []agency.ContractID // that must not begin
	widening []agency.ContractID // parked ones that want a slot in which they may change more
	own      map[agency.ContractID][]string
}

func (m *model) next() (out []Start) {
	busy := func() int { return len(m.admitted) - len(m.parked) }
	order := startable(m.asPending(m.back))
	for _, id := range order {
		if slices.Contains(m.back, id) && busy() < m.limits.Parallel {
			out = append(out, Start{id, true})
			m.parked, m.back = without(m.parked, id), without(m.back, id)
		}
	}
	for _, id := range slices.Clone(m.widening) {
		c := m.admitted[m.at(id)]
		if busy() < m.limits.Parallel && !slices.ContainsFunc(m.admitted, func(o agency.Contract) bool {
			_, _, overlap := agency.Overlap(c.WriteSet(), o.WriteSet(), m.limits.Shared)
			return overlap && o.ID != id && !slices.Contains(m.widening, o.ID)
		}) {
			out = append(out, Start{id, true})
			m.parked, m.widening = without(m.parked, id), without(m.widening, id)
		}
	}
	for _, id := range startable(m.plan) {
		c := &m.plan[slices.IndexFunc(m.plan, func(c agency.Contract) bool { return c.ID == id })]
		if busy() >= m.limits.Parallel {
			break
		}
		if slices.Contains(m.withheld, id) {
			continue
		}
		if _, ok := agency.Admissible(*c, m.admitted, m.limits.Shared); ok {
			c.Status = agency.StatusInProgress
			m.admitted = append(m.admitted, *c)
			out = append(out, Start{ID: id})
		}
	}
	return out
}

func without(ids []agency.ContractID, id agency.ContractID) []agency.ContractID {
	return slices.DeleteFunc(ids, func(o agency.ContractID) bool { return o == id })
}

// at is where an admitted contract is.
func (m *model) at(id agency.ContractID) int {
	return slices.IndexFunc(m.admitted, func(c agency.Contract) bool { return c.ID == id })
}

// widen lets a contract change a file more; without one, only its own again.
func (m *model) widen(id agency.ContractID, file string) {
	c := &m.admitted[m.at(id)]
	if m.own == nil {
		m.own = map[agency.ContractID][]string{}
	}
	if file == "" {
		c.Writes = m.own[id]
		delete(m.own, id)
		return
	}
	m.own[id], c.Writes = c.Writes, append(slices.Clone(c.Writes), file)
	m.parked, m.widening = append(m.parked, id), append(m.widening, id)
}

// asPending is the plan as if those contracts had not begun, to order them.
func (m *model) asPending(ids []agency.ContractID) []agency.Contract {
	plan := slices.Clone(m.plan)
	for i := range plan {
		if slices.Contains(ids, plan[i].ID) {
			plan[i].Status = agency.StatusPending
		}
	}
	return plan
}

func (m *model) end(id agency.ContractID, s agency.Status) {
	m.admitted = slices.DeleteFunc(m.admitted, func(c agency.Contract) bool { return c.ID == id })
	m.parked, m.back, m.widening = without(m.parked, id), without(m.back, id), without(m.widening, id)
	for i := range m.plan {
		if m.plan[i].ID == id {
			m.plan[i].Status = s
		}
	}
}

// block marks what can never start, and names it.
func (m *model) block() (out []agency.ContractID) {
	for again := true; again; {
		again = false
		for i := range m.plan {
			c := &m.plan[i]
			if c.Status != agency.StatusPending {
				continue
			}
			for _, d := range m.plan {
				if slices.Contains(c.DependsOn, d.ID) && (d.Status == agency.StatusFailed || d.Status == agency.StatusCancelled || d.Status == agency.StatusBlocked) {
					c.Status = agency.StatusBlocked
					out = append(out, c.ID)
					again = true
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// amend gives the contract at a place other words, which depend on earlier ones.
func amend(t *rapid.T, plan []agency.Contract, at int) agency.Contract {
	c := plan[at]
	c.Priority = rapid.IntRange(0, 2).Draw(t, "new priority")
	c.Writes = []string{rapid.SampledFrom([]string{"a.go", "b.go", "dir/"}).Draw(t, "new write")}
	c.DependsOn = nil
	if at > 0 {
		c.DependsOn = []agency.ContractID{plan[rapid.IntRange(0, at-1).Draw(t, "new dependency")].ID}
	}
	return c
}

// bout is a queue and the plain policy beside each other.
type bout struct {
	q     *Queue
	m     *model
	later []agency.Contract // have not come yet
}

// happen draws the next thing that happens.
func (b *bout) happen(t *rapid.T) {
	q, m := b.q, b.m
	what := rapid.IntRange(0, 9).Draw(t, "what")
	switch {
	case len(b.later) > 0 && (what == 5 || len(m.admitted) == 0):
		n := rapid.IntRange(1, len(b.later)).Draw(t, "come")
		m.plan = append(m.plan, b.later[:n]...)
		same(t, m.block(), q.Add(b.later[:n]))
		b.later = b.later[n:]
		return
	case what == 6:
		c := m.plan[rapid.IntRange(0, len(m.plan)-1).Draw(t, "withhold")]
		could := c.Status == agency.StatusPending && !slices.Contains(m.withheld, c.ID)
		if q.Withhold(c.ID) != could {
			t.Fatalf("withholding %s (%s): %v", c.ID, c.Status, !could)
		}
		if could {
			m.withheld = append(m.withheld, c.ID)
		}
		return
	case what == 7 || len(m.admitted) == 0:
		b.mend(t)
		return
	case what == 9:
		b.withdraw(t)
		return
	}
	c := rapid.SampledFrom(m.admitted).Draw(t, "which").ID
	_, wide := m.own[c]
	switch parked := slices.Contains(m.parked, c); {
	case slices.Contains(m.widening, c): // waits for those at work
	case parked && !slices.Contains(m.back, c):
		m.back = append(m.back, c)
		q.Unpark(c)
	case parked: // waits for its slot
	case what == 0:
		m.parked = append(m.parked, c)
		q.Park(c)
	case what == 8 && wide:
		m.widen(c, "")
		q.Narrow(c)
	case what == 8:
		file := rapid.SampledFrom([]string{"a.go", "b.go", "dir/", "go.sum"}).Draw(t, "more")
		m.widen(c, file)
		q.Widen(c, []string{file})
	case what == 1:
		m.end(c, agency.StatusFailed)
		same(t, m.block(), q.Fail(c))
	default:
		m.end(c, agency.StatusComplete)
		q.Complete(c)
	}
}

// withdraw gives up any contract, wherever it stands, that waits for no other.
func (b *bout) withdraw(t *rapid.T) {
	c := rapid.SampledFrom(b.m.plan).Draw(t, "withdrawn")
	for _, o := range b.m.plan {
		if slices.Contains(c.DependsOn, o.ID) && o.Status != agency.StatusComplete {
			return
		}
	}
	gone := c.Status.Final() || c.Status == agency.StatusBlocked
	if !gone {
		b.m.end(c.ID, agency.StatusCancelled)
		b.m.withheld = without(b.m.withheld, c.ID)
	}
	if blocked := b.q.Fail(c.ID); gone && blocked != nil {
		t.Fatalf("%s, which is %s, takes %v with it", c.ID, c.Status, blocked)
	} else if !gone {
		same(t, b.m.block(), blocked)
	}
}

// mend amends what is withheld.
func (b *bout) mend(t *rapid.T) {
	for len(b.m.withheld) > 0 {
		id := b.m.withheld[0]
		b.m.withheld = b.m.withheld[1:]
		at := slices.IndexFunc(b.m.plan, func(c agency.Contract) bool { return c.ID == id })
		c := amend(t, b.m.plan, at)
		if b.m.plan[at].Status == agency.StatusPending {
			b.m.plan[at] = c
		}
		same(t, b.m.block(), b.q.Amend(c))
	}
}

func same(t *rapid.T, want, got []agency.ContractID) {
	slices.Sort(got)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("blocked (-want +got):\n%s", diff)
	}
}

// The queue is the plain policy: never two that overlap, none early, no slot
// idle while a contract could have it, and the right one first; also of
// contracts that come late, are amended before they begin, are withdrawn, or may
// change more for a while.
func TestQueueIsThePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawPlan(t)
		limits := Limits{Parallel: rapid.IntRange(1, 4).Draw(t, "parallel"), Shared: []string{"go.sum"}}
		first := rapid.IntRange(1, len(plan)).Draw(t, "known at the start")
		b := &bout{q: NewQueue(plan[:first], limits), m: &model{limits: limits, plan: slices.Clone(plan[:first])}, later: plan[first:]}
		for step := 0; ; step++ {
			got, want := b.q.Next(), b.m.next()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("step %d (-want +got):\n%s", step, diff)
			}
			if len(b.m.admitted)+len(b.later)+len(b.m.withheld) == 0 {
				break
			}
			b.happen(t)
		}
		for _, c := range b.m.plan {
			if !c.Status.Final() && c.Status != agency.StatusBlocked {
				t.Fatalf("%s was forgotten: %s", c.ID, c.Status)
			}
		}
	})
}

func TestAhead(t *testing.T) {
	q := NewQueue([]agency.Contract{
		{ID: "a", Writes: []string{"x"}}, {ID: "b", Writes: []string{"x"}}, {ID: "c", DependsOn: []agency.ContractID{"a", "b"}}, {ID: "d"}, {ID: "e"}, {ID: "f", DependsOn: []agency.ContractID{"e"}},
	}, Limits{Parallel: 2})
	q.Next()
	q.Fail("e")
	q.Next()
	for id, want := range map[agency.ContractID]Ahead{
		"a": {Begun: true}, "b": {Behind: "a", Slot: true}, "c": {For: []agency.ContractID{"a", "b"}}, "d": {Begun: true}, "f": {}, "nobody": {},
	} {
		if diff := cmp.Diff(want, q.Ahead(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func TestHoldStartsNothingNew(t *testing.T) {
	q := NewQueue([]agency.Contract{{ID: "a"}, {ID: "b"}}, Limits{Parallel: 1})
	q.Next()
	q.Park("a")
	q.Hold(true)
	if got := q.Next(); got != nil {
		t.Fatalf("started %v", got)
	}
	q.Unpark("a")
	if diff := cmp.Diff([]Start{{"a", true}}, q.Next()); diff != "" {
		t.Fatal(diff)
	}
	q.Complete("a")
	q.Hold(false)
	if diff := cmp.Diff([]Start{{ID: "b"}}, q.Next()); diff != "" {
		t.Fatal(diff)
	}
}

func TestNewPlanMendsTheOld(t *testing.T) {
	q := NewQueue([]agency.Contract{{ID: "a"}, {ID: "b", DependsOn: []agency.ContractID{"a"}}, {ID: "c", DependsOn: []agency.ContractID{"b"}}}, Limits{Parallel: 1})
	q.Next()
	if diff := cmp.Diff([]agency.ContractID{"b", "c"}, q.Fail("a")); diff != "" {
		t.Fatal(diff)
	}
	q.Add([]agency.Contract{{ID: "a2"}, {ID: "b", DependsOn: []agency.ContractID{"a2"}}})
	for _, want := range []agency.ContractID{"a2", "b"} {
		if diff := cmp.Diff([]Start{{ID: want}}, q.Next()); diff != "" {
			t.Fatal(diff)
		}
		q.Complete(want)
	}
	if q.Next() != nil || q.alive("c") {
		t.Fatal("c depends on the b that was given up, and no plan mended it")
	}
}

// A step at ten thousand contracts looks at few of them.
func TestLargePlan(t *testing.T) {
	var plan []agency.Contract
	for i := range 10_000 {
		c := agency.Contract{ID: agency.ContractID(fmt.Sprint("c", i)), Writes: []string{fmt.Sprintf("f%d.go", i%50)}}
		if i >= 100 {
			c.DependsOn = []agency.ContractID{agency.ContractID(fmt.Sprint("c", i-100))}
		}
		plan = append(plan, c)
	}
	begun := time.Now()
	q := NewQueue(plan, Limits{Parallel: 8})
	running := q.Next()
	n := 0
	for len(running) > 0 {
		n++
		q.Complete(running[0].ID)
		running = append(running[1:], q.Next()...)
	}
	if n != len(plan) {
		t.Fatalf("%d of %d contracts ran", n, len(plan))
	}
	t.Logf("%d steps in %s", n, time.Since(begun))
}
