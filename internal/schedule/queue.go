// Package schedule runs the contracts of a plan: which of them gets a slot
// and when (Queue, pure), and the program over flow that starts them, hears
// how they end and goes on (Run).
//
// Scheduling is dataflow: there are no batches. It does not know what a
// contract's work is (package contractrun), and no lease or message decides about
// admission.
package schedule

import (
	"cmp"
	"container/heap"
	"slices"

	"agency/internal/agency"
)

// Limits bound what runs at once.
type Limits struct {
	Parallel int      // slots; at least one
	Shared   []string // globs whose overlap does not count
}

// Start is an order of the queue: a contract gets a slot. Again is set where
// it had one before and gave it back while it waited for something.
type Start struct {
	ID    agency.ContractID
	Again bool
}

// place says where a contract stands in the queue.
type place int

const (
	waiting  place = iota // for a dependency
	ready                 // may start, or stands behind one that it may not run beside
	working               // has a slot
	withheld              // has not begun, and must not until it is amended
	parked                // began, has no slot, and its files still count
	resuming              // parked, and wants a slot again
	widening              // parked, and wants one in which it may change more
	complete
	dead // failed, cancelled or blocked
)

type node struct {
	agency.Contract
	at         int // in the plan
	place      place
	missing    int // dependencies that are not complete
	dependants []*node
	length     int      // contracts on the longest path that begins here
	held       []*node  // ready ones that may not run beside this one
	wide       bool     // it may change more than its own
	own        []string // its writes meanwhile
}

// Queue decides which contract gets a slot: one starts the moment that its
// dependencies are complete, nothing that runs overlaps it and a slot is free;
// the highest priority first, then the longest remaining path, then the plan's
// order (docs/design.md, Contracts). The caller tells it what happened.
//
// A step costs the logarithm of the ready contracts: what may not run beside
// another is looked at again only when that one has ended.
type Queue struct {
	limits   Limits
	plan     []*node
	byID     map[agency.ContractID]*node
	ready    line
	resuming line
	widening []*node // in the order in which they asked
	admitted []*node // all that began and have not ended
	free     int
	paused   bool
	looked   int // contracts that the steps so far have looked at: what they cost
}

// NewQueue makes the queue of a valid plan.
func NewQueue(contracts []agency.Contract, l Limits) *Queue {
	q := &Queue{limits: l, byID: make(map[agency.ContractID]*node, len(contracts)), free: max(1, l.Parallel)}
	q.Add(contracts)
	return q
}

// Add puts more contracts into the queue, whose dependencies are among them or
// known already. One that is known and dead is replaced: a new plan mended it.
// Those that depend on what can no longer be complete are dead from the start,
// and named.
func (q *Queue) Add(contracts []agency.Contract) (blocked []agency.ContractID) {
	added := make([]*node, len(contracts))
	for i, c := range contracts {
		added[i] = &node{Contract: c, at: len(q.plan)}
		q.byID[c.ID] = added[i]
		q.plan = append(q.plan, added[i])
	}
	for _, n := range added {
		q.link(n)
	}
	for _, n := range added {
		if n.place == dead {
			doom(n)
		}
	}
	if len(added) == 1 && len(added[0].dependants) == 0 {
		q.lengthen(added[0])
	} else {
		q.measure()
	}
	var given []*node
	for _, n := range added {
		switch {
		case n.place == dead:
			given = append(given, n)
		case n.missing == 0:
			q.enter(n)
		}
	}
	return inOrder(given)
}

// link has a contract wait for what it depends on.
func (q *Queue) link(n *node) {
	n.missing = 0
	for _, d := range n.DependsOn {
		on := q.byID[d]
		if on == nil || on.place == complete {
			continue
		}
		on.dependants = append(on.dependants, n)
		n.missing++
		if on.place == dead {
			n.place = dead
		}
	}
}

// lengthen is measure where all that is new is one contract on which nothing
// depends: only the paths to it have grown.
func (q *Queue) lengthen(n *node) {
	n.length = 1
	moved := false
	for next := []*node{n}; len(next) > 0; {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, d := range n.DependsOn {
			q.looked++
			// Above one that is complete all are, and stand in no line.
			if on := q.byID[d]; on != nil && on.place != complete && on.length <= n.length {
				on.length = n.length + 1
				moved = moved || on.place == ready || on.place == resuming
				next = append(next, on)
			}
		}
	}
	if moved {
		q.reorder()
	}
}

// reorder puts the lines in order when paths have grown.
func (q *Queue) reorder() {
	q.looked += q.ready.Len() + q.resuming.Len()
	heap.Init(&q.ready)
	heap.Init(&q.resuming)
}

// measure finds the longest path from each contract, dependants first.
func (q *Queue) measure() {
	q.looked += len(q.plan)
	left := make(map[*node]int, len(q.plan))
	var next []*node
	on := make(map[*node][]*node, len(q.plan))
	for _, n := range q.plan {
		n.length = 1
		left[n] = len(n.dependants)
		if len(n.dependants) == 0 {
			next = append(next, n)
		}
		for _, d := range n.dependants {
			on[d] = append(on[d], n)
		}
	}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, d := range on[n] {
			d.length = max(d.length, n.length+1)
			if left[d]--; left[d] == 0 {
				next = append(next, d)
			}
		}
	}
	q.reorder()
}

// Withhold keeps a contract that has not begun from beginning until Amend, and
// tells whether it could.
func (q *Queue) Withhold(id agency.ContractID) bool {
	n := q.byID[id]
	if n == nil || n.place != waiting && n.place != ready {
		return false
	}
	if n.place == ready {
		q.unready(n)
	}
	n.place = withheld
	return true
}

// Amend gives a withheld contract other words; it keeps its place in the plan.
// Where it depends now on what can no longer be complete, it and what depends
// on it are given up, and named. One that was given up meanwhile stays so.
func (q *Queue) Amend(c agency.Contract) (blocked []agency.ContractID) {
	n := q.byID[c.ID]
	if n == nil || n.place != withheld {
		return nil
	}
	for _, d := range n.DependsOn {
		if on := q.byID[d]; on != nil {
			on.dependants = slices.DeleteFunc(on.dependants, func(o *node) bool { return o == n })
		}
	}
	n.Contract, n.place = c, waiting
	q.link(n)
	q.measure()
	switch {
	case n.place == dead:
		return inOrder(append(doom(n), n))
	case n.missing == 0:
		q.enter(n)
	}
	return nil
}

// enter makes a contract ready.
func (q *Queue) enter(n *node) {
	n.place = ready
	heap.Push(&q.ready, n)
}

// Hold keeps new contracts from starting, for instance while too many gates
// wait; those that began may go on.
func (q *Queue) Hold(hold bool) { q.paused = hold }

// Next gives out the free slots.
func (q *Queue) Next() []Start {
	var out []Start
	for q.free > 0 && q.resuming.Len() > 0 {
		n := q.resuming.pop()
		n.place = working
		q.free--
		out = append(out, Start{ID: n.ID, Again: true})
	}
	out = append(out, q.widened()...)
	for !q.paused && q.free > 0 && q.ready.Len() > 0 {
		n := q.ready.pop()
		if other := q.inTheWay(n); other != nil {
			other.held = append(other.held, n)
			continue
		}
		n.place = working
		q.admitted = append(q.admitted, n)
		q.free--
		out = append(out, Start{ID: n.ID})
	}
	return out
}

// inTheWay is an admitted contract that n may not run beside.
func (q *Queue) inTheWay(n *node) *node {
	for _, a := range q.admitted {
		q.looked++
		if _, ok := agency.Admissible(n.Contract, []agency.Contract{a.Contract}, q.limits.Shared); !ok {
			return a
		}
	}
	return nil
}

// Park gives the slot of a contract back while it waits for something.
func (q *Queue) Park(id agency.ContractID) {
	if n := q.byID[id]; n != nil && n.place == working {
		n.place = parked
		q.free++
	}
}

// Unpark asks for a slot again.
func (q *Queue) Unpark(id agency.ContractID) {
	if n := q.byID[id]; n != nil && n.place == parked {
		n.place = resuming
		heap.Push(&q.resuming, n)
	}
}

// Complete says that a contract has landed: its dependants may follow.
func (q *Queue) Complete(id agency.ContractID) {
	n := q.byID[id]
	if n == nil || n.place == complete || n.place == dead {
		return
	}
	q.leave(n)
	n.place = complete
	for _, d := range n.dependants {
		if d.missing--; d.missing == 0 && d.place == waiting {
			q.enter(d)
		}
	}
}

// Fail says that a contract failed for good or was withdrawn, and gives the
// contracts that can never start now, in the plan's order.
func (q *Queue) Fail(id agency.ContractID) (blocked []agency.ContractID) {
	n := q.byID[id]
	if n == nil || n.place == complete || n.place == dead {
		return nil
	}
	q.leave(n)
	n.place = dead
	return inOrder(doom(n))
}

// inOrder names contracts in the order of the plan.
func inOrder(nodes []*node) (out []agency.ContractID) {
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.at, b.at) })
	for _, n := range nodes {
		out = append(out, n.ID)
	}
	return out
}

// doom gives up what depends on a dead contract.
func doom(n *node) (hit []*node) {
	for next := n.dependants; len(next) > 0; {
		d := next[0]
		next = next[1:]
		if d.place == waiting || d.place == withheld {
			d.place = dead
			hit = append(hit, d)
			next = append(slices.Clip(next), d.dependants...)
		}
	}
	return hit
}

// leave ends a contract's admission.
func (q *Queue) leave(n *node) {
	switch n.place {
	case working:
		q.free++
	case ready:
		q.unready(n)
	case resuming:
		q.resuming.remove(n)
	case widening:
		q.widening = slices.DeleteFunc(q.widening, func(w *node) bool { return w == n })
	}
	q.admitted = slices.DeleteFunc(q.admitted, func(a *node) bool { return a == n })
	q.release(n)
}

// release has those that stood behind a contract looked at again.
func (q *Queue) release(n *node) {
	for _, h := range n.held {
		heap.Push(&q.ready, h)
	}
	n.held = nil
}

// unready takes back a ready contract, also one that stands behind another.
func (q *Queue) unready(n *node) {
	q.looked += q.ready.Len()
	q.ready.remove(n)
	for _, a := range q.admitted {
		q.looked += len(a.held)
		a.held = slices.DeleteFunc(a.held, func(h *node) bool { return h == n })
	}
}

// Longest is a longest chain of contracts of a plan without cycles, each of
// which depends on the one before: the critical path.
func Longest(plan []agency.Contract) []agency.ContractID {
	q := NewQueue(plan, Limits{})
	var out []agency.ContractID
	next := q.plan
	for {
		var best *node
		for _, n := range next {
			if best == nil || n.length > best.length {
				best = n
			}
		}
		if best == nil {
			return out
		}
		out = append(out, best.ID)
		next = best.dependants
	}
}

// left are the contracts that have not come to their end.
func (q *Queue) left() (out []agency.ContractID) {
	for _, n := range q.plan {
		if n.place != complete && n.place != dead {
			out = append(out, n.ID)
		}
	}
	return out
}

// alive tells whether a contract may still be complete.
func (q *Queue) alive(id agency.ContractID) bool {
	return q.byID[id] != nil && q.byID[id].place != dead
}

// Ahead is what keeps a contract from beginning: it has begun, or waits for
// others to be complete, or stands behind one that it may not run beside, or no
// slot is free. The zero value: nothing does, or nothing is known of it.
type Ahead struct {
	Begun  bool
	For    []agency.ContractID
	Behind agency.ContractID
	Slot   bool
}

// Ahead says what keeps a contract from beginning.
func (q *Queue) Ahead(id agency.ContractID) (a Ahead) {
	n := q.byID[id]
	switch {
	case n == nil || n.place == dead:
	case n.place == waiting || n.place == withheld:
		for _, d := range n.DependsOn {
			if on := q.byID[d]; on != nil && on.place != complete {
				a.For = append(a.For, d)
			}
		}
	case n.place != ready:
		a.Begun = true
	default:
		if other := q.inTheWay(n); other != nil {
			a.Behind = other.ID
		}
		a.Slot = q.free == 0 || q.paused
	}
	return a
}

// line is a heap of contracts, the one that is served first on top.
type line []*node

func (l line) Len() int      { return len(l) }
func (l line) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l line) Less(i, j int) bool {
	a, b := l[i], l[j]
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.length, a.length), cmp.Compare(a.at, b.at)) < 0
}
func (l *line) Push(v any) { *l = append(*l, v.(*node)) }

// Pop is the heap's own; pop is typed.
func (l *line) Pop() any {
	last := len(*l) - 1
	n := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return n
}

func (l *line) pop() *node { return heap.Pop(l).(*node) }

func (l *line) remove(n *node) {
	if i := slices.Index(*l, n); i >= 0 {
		heap.Remove(l, i)
	}
}
