package textmerge

import "slices"

// hunk replaces a[a1:a2] by b[b1:b2].
type hunk struct{ a1, a2, b1, b2 int }

// maxEdits bounds the work of a diff: its memory grows with the square.
const maxEdits = 1000

// diff is the shortest edit from a to b after Myers (1986). It is false where
// more than maxEdits lines differ.
func diff(a, b []string) ([]hunk, bool) {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	trace, ok := forward(a[start:endA], b[start:endB])
	if !ok {
		return nil, false
	}
	return backward(trace, start, endA-start, endB-start), true
}

// forward finds how far each diagonal gets with each number of edits.
func forward(a, b []string) (trace [][]int32, ok bool) {
	n, m := len(a), len(b)
	most := min(n+m, maxEdits)
	far := make([]int32, 2*most+3)
	at := func(k int) int { return k + most + 1 }
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(far[at(-d)-1:at(d)+2]))
		for k := -d; k <= d; k += 2 {
			x := int(far[at(k-1)]) + 1
			if k == -d || k != d && far[at(k-1)] < far[at(k+1)] {
				x = int(far[at(k+1)])
			}
			for x < n && x-k < m && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			far[at(k)] = int32(x)
			if x >= n && x-k >= m {
				return trace, true
			}
		}
	}
	return nil, false
}

// backward reads the edits out of what forward left.
func backward(trace [][]int32, start, x, y int) []hunk {
	var out []hunk
	for d := len(trace) - 1; d > 0; d-- {
		far := func(k int) int { return int(trace[d][k+d+1]) }
		k := x - y
		before := k - 1
		if k == -d || k != d && far(k-1) < far(k+1) {
			before = k + 1
		}
		px := far(before)
		py := px - before
		h := hunk{start + px, start + px + 1, start + py, start + py}
		if before == k+1 {
			h = hunk{start + px, start + px, start + py, start + py + 1}
		}
		if len(out) > 0 && h.a2 == out[len(out)-1].a1 && h.b2 == out[len(out)-1].b1 {
			out[len(out)-1].a1, out[len(out)-1].b1 = h.a1, h.b1
		} else {
			out = append(out, h)
		}
		x, y = px, py
	}
	slices.Reverse(out)
	return out
}

// region is a stretch of the base that at least one side changed.
type region struct {
	a1, a2       int      // of the base
	lo, hi       int      // the lines of the base around it that neither side changed
	ours, theirs []string // what either side has there
	byOurs       bool     // changed by
	byTheirs     bool
}

// regions holds two edits of one base against each other. Those that touch are
// one region.
func regions(base, ours, theirs []string) ([]region, bool) {
	ho, ok := diff(base, ours)
	if !ok {
		return nil, false
	}
	ht, ok := diff(base, theirs)
	if !ok {
		return nil, false
	}
	var out []region
	shiftO, shiftT, last := 0, 0, 0
	for len(ho)+len(ht) > 0 {
		r := region{a1: len(base), lo: last}
		if len(ho) > 0 {
			r.a1 = ho[0].a1
		}
		if len(ht) > 0 {
			r.a1 = min(r.a1, ht[0].a1)
		}
		r.a2 = r.a1
		startO, startT := r.a1+shiftO, r.a1+shiftT
		for grown := true; grown; {
			grown = false
			if len(ho) > 0 && ho[0].a1 <= r.a2 {
				r.a2, r.byOurs, shiftO, grown = max(r.a2, ho[0].a2), true, ho[0].b2-ho[0].a2, true
				ho = ho[1:]
			}
			if len(ht) > 0 && ht[0].a1 <= r.a2 {
				r.a2, r.byTheirs, shiftT, grown = max(r.a2, ht[0].a2), true, ht[0].b2-ht[0].a2, true
				ht = ht[1:]
			}
		}
		r.ours, r.theirs = ours[startO:r.a2+shiftO], theirs[startT:r.a2+shiftT]
		last = r.a2
		out = append(out, r)
	}
	for i := range out {
		out[i].hi = len(base)
		if i+1 < len(out) {
			out[i].hi = out[i+1].a1
		}
	}
	return out, true
}

// patch replaces base[from:to].
type patch struct {
	from, to int
	lines    []string
}

// mergeLines merges by lines; what both changed differently is the resolver's.
func mergeLines(base, ours, theirs []string, resolve func(region) (patch, error)) ([]string, error) {
	rs, ok := regions(base, ours, theirs)
	if !ok {
		return nil, doubt("the sides differ too much")
	}
	var out []string
	done := 0
	for _, r := range rs {
		p := patch{r.a1, r.a2, r.ours}
		switch {
		case !r.byOurs:
			p.lines = r.theirs
		case r.byTheirs && !slices.Equal(r.ours, r.theirs):
			var err error
			if p, err = resolve(r); err != nil {
				return nil, err
			}
		}
		out = append(out, base[done:p.from]...)
		out = append(out, p.lines...)
		done = p.to
	}
	return append(out, base[done:]...), nil
}
