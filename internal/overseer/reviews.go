package overseer

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
)

// reviews are those of one contract, oldest first, each as what its blocking
// issues are about.
type reviews struct {
	places   [][]string
	counts   []int
	blocking []int // critical and major issues
}

// mostReviews bounds those that are remembered of a contract.
const mostReviews = 16

func (r *reviews) take(said *agency.ReviewSubmitted) {
	if said.Verdict == string(agency.ReviewApprove) {
		*r = reviews{}
		return
	}
	places := slices.Clone(said.Places)
	slices.Sort(places)
	if len(r.counts) == mostReviews {
		r.places, r.counts, r.blocking = r.places[1:], r.counts[1:], r.blocking[1:]
	}
	r.places, r.counts = append(r.places, slices.Compact(places)), append(r.counts, said.Issues)
	r.blocking = append(r.blocking, said.Critical+said.Major)
}

// findOscillation looks for a review that finds again what one before the last found.
func findOscillation(h *history, s config.Overseer) finding {
	if h.who.reviews == nil || len(h.who.reviews.places) < 3 {
		return finding{}
	}
	n := len(h.who.reviews.places) - 1
	for i := range n - 1 {
		if again(h.who.reviews.places[i], h.who.reviews.places[n]) {
			return finding{High, 0.85, []string{fmt.Sprintf("review %d finds again what review %d found", n+1, i+1)}, 0}
		}
	}
	if r, most := h.who.reviews.blocking, s.LoopDetectionWindow; len(r) >= most {
		r = r[len(r)-most:]
		if r[0] > 0 && slices.Min(r) >= r[0] {
			return finding{Medium, 0.7, []string{fmt.Sprintf("in %d reviews the blocking issues did not become fewer than %d", most, r[0])}, 0}
		}
	}
	return finding{}
}

// again tells whether most of what a review was about comes again.
func again(before, now []string) bool {
	same := 0
	for _, p := range before {
		if slices.Contains(now, p) {
			same++
		}
	}
	return same > 0 && 2*same >= max(len(before), len(now))
}

// findScopeCreep looks for reviews that each find more than the one before.
func findScopeCreep(h *history, _ config.Overseer) finding {
	if h.who.reviews == nil || len(h.who.reviews.counts) < 3 {
		return finding{}
	}
	c := h.who.reviews.counts[len(h.who.reviews.counts)-3:]
	if c[0] >= c[1] || c[1] >= c[2] {
		return finding{}
	}
	return finding{Medium, 0.75, []string{fmt.Sprintf("the last three reviews found %d, %d and %d issues", c[0], c[1], c[2])}, 0}
}

// claims are those of one contract, as far as they are refused for the same.
type claims struct {
	by      key    // who claimed last
	refused string // for what
	alike   int    // times in a row
	seq     int    // of claims
	shown   int    // the most criteria that were
}

// take notes what a claim came to, and tells whether it got further than those before.
func (c *claims) take(d *agency.VerdictSubmitted) (further bool) {
	c.seq++
	var why strings.Builder
	for i := range d.Red {
		_, names := redDigests(&d.Red[i])
		why.WriteString(names + "\n")
	}
	if len(d.Red) == 0 {
		why.WriteString(Shape([]byte(strings.Join(d.Reasons, "\n"))))
	}
	further = d.Verdict == agency.VerdictPass || d.Shown > c.shown
	c.shown = max(c.shown, d.Shown)
	switch said := why.String(); {
	case further || said == "":
		c.refused, c.alike = said, min(len(said), 1)
	case said == c.refused:
		c.alike++
	default:
		c.refused, c.alike = said, 1
	}
	return further
}

// find looks for claims that are refused for the same again and again.
func (c *claims) find(window int) finding {
	if c == nil || c.alike <= window/2 {
		return finding{}
	}
	return finding{Medium, 0.85, []string{fmt.Sprintf("%d claims in a row were refused for the same", c.alike)}, c.seq}
}
