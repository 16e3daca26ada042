package contractrun

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/critic"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/text"
	"agency/internal/verify"
)

// unreviewed asks a person where no critic gave a review.
func (a *reviews) unreviewed(c flow.Ctx, claim agency.Claim) (AttemptEnd, error) {
	d, err := Ask(c, agency.Gate{
		ID: GateID(a.in.Run, fmt.Sprintf("unreviewed-%s-%s", a.Contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.Contract.ID,
		Summary: text.FirstLine(fmt.Sprintf("%s passes its checks, but its critic gave no review: %s", a.Contract.ID, a.silence), 100),
		Body: fmt.Sprintf("The critic of %s was asked %d times and gave no review. The last time it ended as %s\n\nApprove to let the work land without one; reject with a reason to send it back.",
			a.Contract.ID, critic.MaxAsks, text.OneLine(a.silence, text.MostLine)),
		Approving: "let it land without a review", Rejecting: rejecting,
	})
	if err != nil {
		return AttemptEnd{}, err
	}
	if d.Verb != agency.Reject {
		return a.landReviewed(c, claim)
	}
	return a.sendBack(c, "a person does not accept it without a review", d.Note)
}

// dispute asks a person what becomes of work on which producer and critic do
// not agree: an approval takes the best attempt as it is.
func (a *reviews) dispute(c flow.Ctx, next critic.Next, against *effects.ReviewConflict) (AttemptEnd, error) {
	best := len(a.loop.claims) - 1
	if next == critic.Dispute {
		best = a.loop.Best()
	}
	summary, body := a.disputeText(next, best)
	g := agency.Gate{
		ID: GateID(a.in.Run, fmt.Sprintf("review-%s-%s", a.Contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.Contract.ID,
		Summary: text.FirstLine(summary, 100), Body: body, Review: true, Approving: "let it land as it is", Rejecting: rejecting,
	}
	d, err := Ask(c, g)
	if err == nil && against != nil {
		err = a.resolveConflict(c, *against, g.ID)
	}
	if err != nil {
		return AttemptEnd{}, err
	}
	if d.Verb == agency.Reject {
		return a.sendBack(c, "a person decided on the review", d.Note)
	}
	return a.landBest(c, best)
}

// landBest lands the files of a round, as they were reviewed.
func (a *reviews) landBest(c flow.Ctx, best int) (AttemptEnd, error) {
	claim := a.loop.claims[best]
	if claim.Tree != a.loop.claims[len(a.loop.claims)-1].Tree {
		// What lands is what was verified last.
		v, err := flow.Call(c, verify.Activity, a.Key("verify/best"), a.claims.verifySpec(claim))
		if err != nil {
			return AttemptEnd{}, err
		}
		if !v.Pass {
			return a.Failed(c, session.Feedback{Attempt: a.N, Reason: firstReason(v), Verdict: &v, Reviews: a.open()})
		}
	}
	return a.landReviewed(c, claim)
}

func (a *reviews) disputeText(next critic.Next, best int) (summary, body string) {
	history := a.loop.History()
	last := history[len(history)-1]
	var b strings.Builder
	if next == critic.Discuss {
		summary = fmt.Sprintf("the critic of %s wants a person to decide: %s", a.Contract.ID, last.Summary)
		fmt.Fprintf(&b, "The work on %s passes its checks. Its critic says that a person must decide:\n\n%s\n", a.Contract.ID, text.Quote(last.Summary))
	} else {
		summary = fmt.Sprintf("producer and critic of %s do not agree after %s: %s", a.Contract.ID, agency.Things(len(history), "review", "reviews"), cmp.Or(string(a.loop.Why()), "no round is left"))
		fmt.Fprintf(&b, "The work on %s passes its checks, and its critic does not approve of it: %s.\n", a.Contract.ID, disputeWords[a.loop.Why()])
	}
	b.WriteString("\nReviews:\n\n" + reviewsText(history, next, best))
	if a.advice != "" {
		fmt.Fprintf(&b, "\nThe %s, who was asked first:\n\n%s\n", a.how.Shared.Lead.name(), text.Quote(a.advice))
	}
	b.WriteString("\nApprove to let ")
	if next == critic.Discuss {
		b.WriteString("it land as it is")
	} else {
		fmt.Fprintf(&b, "the files of round %d land as they are", history[best].Iteration)
	}
	b.WriteString("; reject with your decision as the reason to have it worked on once more. A second reject gives the contract up.\n")
	return summary, b.String()
}

// reviewsText is the history of reviews, a line each with its issues below.
func reviewsText(history []agency.Review, next critic.Next, best int) string {
	var b strings.Builder
	for i, r := range text.InLines(history, text.MostLine) {
		mark := ""
		if i == best && next == critic.Dispute {
			mark = " (the best attempt)"
		}
		fmt.Fprintf(&b, "- round %d%s: %s\n", r.Iteration, mark, r.Line())
		for _, is := range r.Issues {
			fmt.Fprintf(&b, "    - %s, %s: %s\n", is.Severity, is.Where(), text.FirstLine(is.Issue, 100))
		}
	}
	return b.String()
}

var disputeWords = map[agency.Disagreement]string{
	agency.Oscillating: "the same issues came back, also in a round with everything in view",
	agency.ScopeCreep:  "each review found more than the one before, also within the contract's criteria",
	agency.Unresolved:  "no round is left",
	"":                 "no round is left",
}

// sendBack is a person's reject of reviewed work: the first grants an attempt
// where none is left, a second one ends the contract.
func (a *reviews) sendBack(c flow.Ctx, why, note string) (AttemptEnd, error) {
	if a.sentBackOnce {
		a.final = a.first
		return AttemptEnd{Final: why + " again: " + note}, nil
	}
	a.sentBackOnce = true
	a.Met(agency.FailedRejected, cmp.Or(note, why))
	if err := a.Grant(c); err != nil {
		return AttemptEnd{}, err
	}
	return a.Failed(c, session.Feedback{Attempt: a.N, Reason: why, Note: note, Reviews: a.open()})
}

// decideConflict has a person decide between a review and the one that it contradicts,
// which resolves the conflict. One who has let the work land in spite of the
// other has decided already.
func (a *reviews) decideConflict(c flow.Ctx, r agency.Review, k effects.ReviewConflict, approving, rejecting string) (agency.Decision, error) {
	if k.Gate != "" {
		return agency.Decision{Verb: agency.Approve}, a.resolveConflict(c, k, k.Gate)
	}
	good, bad := r, k.Other
	if good.Verdict != agency.ReviewApprove {
		good, bad = bad, good
	}
	g := agency.Gate{
		ID: GateID(a.in.Run, fmt.Sprintf("reviews-%s-%s", a.Contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.Contract.ID,
		Summary:   text.FirstLine(fmt.Sprintf("%s approves what %s does not: %s", good.Reviewer, bad.Reviewer, bad.Summary), 100),
		Body:      "Two reviewers judge the same files differently.\n\n" + reviewText(good) + "\n" + reviewText(bad) + "\nApprove to " + approving + "; reject with a reason to " + rejecting + ".\n",
		Approving: approving, Rejecting: rejecting,
	}
	if _, err := flow.Call(c, effects.EscalateReviewConflict, a.Key("reviews/escalated"), effects.ReviewConflictGate{Run: a.in.Run, Conflict: k.Conflict, Gate: g.ID}); err != nil {
		return agency.Decision{}, err
	}
	d, err := Ask(c, g)
	if err != nil {
		return d, err
	}
	return d, a.resolveConflict(c, k, g.ID)
}

// resolveConflict records the gate that decided between reviews.
func (a *reviews) resolveConflict(c flow.Ctx, k effects.ReviewConflict, gate agency.GateID) error {
	_, err := flow.Call(c, effects.ResolveReviewConflict, a.Key("reviews/settled"), effects.ReviewConflictGate{Run: a.in.Run, Conflict: k.Conflict, Gate: gate})
	return err
}

// reviewText is a review as a person weighs it.
func reviewText(r agency.Review) string {
	var b strings.Builder
	r = text.InLines(r, text.MostLine)
	fmt.Fprintf(&b, "**%s**, on %s: %s: %s\n", r.Reviewer, r.ContractID, r.Line(), r.Summary)
	for _, i := range r.Issues {
		fmt.Fprintf(&b, "- %s, %s: %s\n", i.Severity, i.Where(), text.FirstLine(i.Issue, 100))
	}
	return b.String()
}
