// Package critic is the policy of the loop of producer and critic (docs/design.md, Reviews):
// what a review comes to, whether another round is worth it, and what becomes
// of two who do not come together. It is pure: it starts no session, asks
// nobody and writes nothing; package contractrun is the program around it.
package critic

import (
	"fmt"

	"agency/internal/agency"
)

// Next is what follows a review.
type Next string

// The closed set of what follows.
const (
	Land    Next = "land"    // it is an approval
	Rework  Next = "rework"  // the producer mends it, in the same conversation
	Afresh  Next = "afresh"  // one round with both histories in view, on the next level of models
	Discuss Next = "discuss" // the critic wants a person to decide
	Dispute Next = "dispute" // they do not come together: a person decides on the best attempt
)

// MaxAsks is how often a critic that gives no review is asked for one.
const MaxAsks = 2

// Loop is the reviews of one attempt. The zero Loop with its rules is ready.
type Loop struct {
	Rules agency.ReviewRules

	history     []agency.Review
	why         agency.Disagreement
	frozen      bool
	oscillating bool
}

// Frozen tells whether reviews are held to the contract's criteria and to the
// first review.
func (l *Loop) Frozen() bool { return l.frozen }

// Oscillating tells whether the round at work is the one of an oscillation.
func (l *Loop) Oscillating() bool { return l.oscillating }

// Why is the disagreement that was found, if any.
func (l *Loop) Why() agency.Disagreement { return l.why }

// History are the reviews so far, oldest first, as they count.
func (l *Loop) History() []agency.Review { return l.history }

// Left is how many rounds may follow the one at work.
func (l *Loop) Left() int {
	if l.oscillating {
		return 0
	}
	return max(0, l.Rules.MaxIterations-len(l.history)-1)
}

// Best is the place in the history of the best attempt so far.
func (l *Loop) Best() int { return agency.BestReview(l.history) }

// Take takes a review as its critic gave it, and the facts of the claim; it
// gives the review as it counts, and what follows. Late says that the time of
// the loop is up.
func (l *Loop) Take(r agency.Review, f agency.ReviewFacts, late bool) (agency.Review, Next) {
	if l.frozen {
		r = agency.Freeze(r, l.history[0])
	}
	r = l.settle(agency.JudgeReview(r, l.Rules, f))
	l.history = append(l.history, r)
	switch r.Verdict {
	case agency.ReviewApprove:
		return r, Land
	case agency.ReviewDiscussion:
		return r, Discuss
	}
	spent := late || l.oscillating || len(l.history) >= l.Rules.MaxIterations
	why := agency.Disagree(l.history, l.Rules, spent)
	if why == "" || l.frozen && !spent && why == agency.ScopeCreep {
		return r, Rework
	}
	l.why = why
	switch {
	case why == agency.Subjective:
		return l.amend(accept(r, "only minor issues are left and all checks pass")), Land
	case why == agency.ScopeCreep && !l.frozen:
		l.frozen = true
		if r = l.amend(l.settle(agency.Freeze(r, l.history[0]))); r.Verdict == agency.ReviewApprove {
			return r, Land
		}
		if !spent {
			return r, Rework
		}
	case why == agency.Oscillating && !l.oscillating && !late:
		l.oscillating = true
		return r, Afresh
	}
	return r, Dispute
}

// amend puts a review into the place of the last one.
func (l *Loop) amend(r agency.Review) agency.Review {
	l.history[len(l.history)-1] = r
	return r
}

// settle accepts a review of which freezing left nothing that forbids it.
func (l *Loop) settle(r agency.Review) agency.Review {
	if r.Verdict != agency.ReviewChanges || len(r.Notes) == 0 || r.Said != agency.ReviewChanges || !l.green(r) {
		return r
	}
	return accept(r, fmt.Sprintf("what is left goes beyond the contract: %s", agency.Things(len(r.Notes), "of its issues is a note", "of its issues are notes")))
}

// green tells whether a review, had it said so, would be an approval.
func (l *Loop) green(r agency.Review) bool {
	r.Said = agency.ReviewApprove
	r = agency.JudgeReview(r, l.Rules, agency.ReviewFacts{TestsPassed: r.TestsPassed, LintPassed: r.LintPassed})
	return r.Verdict == agency.ReviewApprove
}

// accept approves with notes what a critic would not let pass.
func accept(r agency.Review, why string) agency.Review {
	r.Verdict, r.Reason = agency.ReviewApprove, "accepted with notes: "+why
	return r
}
