package budget

import (
	"agency/internal/agency"
	"agency/internal/store"
)

// Total is what many requests came to. It is the only sum of what a run spent:
// gates, lists, reports and costs all show this one, or parts of it.
type Total struct {
	Requests int
	Lost     int // of these: charged at their reservation, their tokens are unknown
	Usage    agency.Usage
	Tokens   int64 // output plus uncached input, and what lost requests had reserved
	Money    agency.Money
	Unpriced bool
}

// Add takes a line in.
func (t *Total) Add(l Line) {
	t.Requests += l.Requests
	t.Lost += l.Lost
	t.Usage = t.Usage.Add(l.Usage)
	t.Tokens += l.Billed
	t.Money += l.Money
	t.Unpriced = t.Unpriced || l.Unpriced
}

// Merge takes another sum in.
func (t *Total) Merge(o Total) {
	t.Requests += o.Requests
	t.Lost += o.Lost
	t.Usage = t.Usage.Add(o.Usage)
	t.Tokens += o.Tokens
	t.Money += o.Money
	t.Unpriced = t.Unpriced || o.Unpriced
}

// Sum adds the lines up for which of says so; nil takes all.
func Sum(lines []Line, of func(Line) bool) (t Total) {
	for _, l := range lines {
		if of == nil || of(l) {
			t.Add(l)
		}
	}
	return t
}

// By sums lines by a key; lines whose key is empty are in no sum.
func By[K ~string](lines []Line, key func(Line) K) map[K]Total {
	out := map[K]Total{}
	for _, l := range lines {
		if k := key(l); k != "" {
			t := out[k]
			t.Add(l)
			out[k] = t
		}
	}
	return out
}

// HourLines is Lines, told apart by the hour in which a request was settled.
func HourLines(q store.Querier, run agency.RunID) ([]Line, error) {
	return linesBy(q, run, wholeHour)
}
