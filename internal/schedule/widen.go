package schedule

import (
	"slices"

	"agency/internal/agency"
)

// A contract at work may come to need more files than its own, for instance to
// have what it tests mended. It is admitted to them as to its own.

// Widen gives the slot of a contract back until it may change more than its
// own writes. What has not begun stands behind it from now on. It waits for
// those at work, but for none that waits like it: two of them would wait for
// each other.
func (q *Queue) Widen(id agency.ContractID, writes []string) {
	n := q.byID[id]
	if n == nil || n.place != working || n.wide {
		return
	}
	n.place, n.wide, n.own = widening, true, n.Writes
	n.Writes = slices.Concat(n.WriteSet(), writes)
	q.free++
	q.widening = append(q.widening, n)
}

// Narrow takes back what Widen allowed.
func (q *Queue) Narrow(id agency.ContractID) {
	n := q.byID[id]
	if n == nil || !n.wide || n.place == complete || n.place == dead {
		return
	}
	n.Writes, n.wide, n.own = n.own, false, nil
	q.release(n)
}

// outside tells whether one at work may change what a widening contract wants.
func (q *Queue) outside(n *node) bool {
	return slices.ContainsFunc(q.admitted, func(a *node) bool {
		if a == n || a.place == widening {
			return false
		}
		_, _, overlap := agency.Overlap(n.WriteSet(), a.WriteSet(), q.limits.Shared)
		return overlap
	})
}

// widened gives free slots to those that may change more now, in the order in
// which they asked.
func (q *Queue) widened() (out []Start) {
	for i := 0; q.free > 0 && i < len(q.widening); {
		n := q.widening[i]
		if q.outside(n) {
			i++
			continue
		}
		q.widening = slices.Delete(q.widening, i, i+1)
		n.place = working
		q.free--
		out = append(out, Start{ID: n.ID, Again: true})
	}
	return out
}
