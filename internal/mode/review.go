package mode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/critic"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/verify"
)

// rejecting is what a reject of reviewed work does.
const rejecting = "work on it once more; a second time gives it up"

// reviewer is the role of critics.
const reviewer = "reviewer"

// reviewTries is how often a critic that gives no review is asked for one.
const reviewTries = 2

// rounds is the loop of producer and critic within one attempt.
type rounds struct {
	critic.Loop
	claims   []agency.Claim // that were reviewed, as the loop's history
	verdicts []agency.Verdict
	began    time.Time // of the attempt
	waited   time.Duration
}

// reviews tells whether a critic reads what the contract's claims change. It is
// asked at the beginning of each attempt, of which the loop is a part.
func (a *attempts) reviews(c flow.Ctx) bool {
	a.loop, a.round = nil, 1
	if !a.how.reviewed || a.in.Review == nil || flow.Version(c, "reviews", 1) < 1 {
		return false
	}
	a.loop = &rounds{Loop: critic.Loop{Rules: *a.in.Review}}
	a.loop.began = a.clock(c, "begin")
	return true
}

// clock is the time, where a loop is timed.
func (a *attempts) clock(c flow.Ctx, key string) (now time.Time) {
	if a.loop != nil {
		now = flow.Now(c, a.key("clock/"+key))
	}
	return now
}

// nth names the round in the names of gates.
func (a *attempts) nth() string {
	if a.round > 1 {
		return fmt.Sprintf("%d-r%d", a.n, a.round)
	}
	return fmt.Sprint(a.n)
}

// open are the reviews that a new attempt has to know: the last one where it
// asked for changes that nobody has shown to be made.
func (a *attempts) open() []agency.Review {
	if a.loop == nil {
		return nil
	}
	all := a.loop.History()
	if n := len(all); n > 0 && all[n-1].Verdict != agency.ReviewApprove {
		return all[n-1:]
	}
	return nil
}

// review has a verified claim reviewed until it may land: each request for
// changes goes back into the producer's own conversation, and what comes of it
// is verified before a critic sees it again.
func (a *attempts) review(c flow.Ctx, claim agency.Claim, verdict agency.Verdict) (attemptEnd, error) {
	for {
		if err := a.advance(c, "verified", step{Verified: &agency.Verified{Review: true}}); err != nil {
			return attemptEnd{}, err
		}
		said, end, err := a.criticise(c, claim, verdict)
		if err != nil || end != nil {
			return orEnd(end), err
		}
		if said == nil {
			return a.unreviewed(c, claim)
		}
		r, next := a.loop.Take(*said, agency.ReviewFacts{TestsPassed: verdict.Pass, LintPassed: verdict.Pass}, a.late(c))
		a.loop.claims, a.loop.verdicts = append(a.loop.claims, claim), append(a.loop.verdicts, verdict)
		noted, err := flow.Call(c, noteReview, a.key("review"), reviewNote{Run: a.in.Run, Review: r})
		if err != nil {
			return attemptEnd{}, err
		}
		switch next {
		case critic.Land:
			return a.approved(c, claim, r, noted.Against)
		case critic.Discuss:
			word, err := a.rule(c, claim, r)
			switch {
			case err != nil:
				return attemptEnd{}, err
			case word.stop != "":
				a.stopped = true
				return attemptEnd{final: word.stop}, nil
			case word.land:
				return a.approved(c, claim, r, noted.Against)
			case !word.rework:
				a.advice = word.text
				return a.dispute(c, next, noted.Against)
			}
			r = ruled(r, word.text)
		case critic.Dispute:
			return a.dispute(c, next, noted.Against)
		}
		again, v, end, err := a.rework(c, r, next == critic.Afresh)
		if err != nil || end != nil {
			return orEnd(end), err
		}
		claim, verdict = again, v
	}
}

func orEnd(end *attemptEnd) attemptEnd {
	if end == nil {
		return attemptEnd{}
	}
	return *end
}

// late tells whether the time of the loop is up; waiting does not count.
func (a *attempts) late(c flow.Ctx) bool {
	most := a.loop.Rules.Timeout
	return most > 0 && a.clock(c, "reviewed").Sub(a.loop.began)-a.loop.waited > most
}

// criticise is a critic's session over a claim. No review and no end: it gave
// none, however often it was asked.
func (a *attempts) criticise(c flow.Ctx, claim agency.Claim, verdict agency.Verdict) (*agency.Review, *attemptEnd, error) {
	for try := 1; try <= reviewTries; try++ {
		out, err := a.critic(c, &session.ReviewOf{
			Iteration: a.round, Try: try, Base: a.base, Claim: claim, Verdict: &verdict,
			Frozen: a.loop.Frozen(), Quarrel: a.loop.Quarrel(),
		})
		switch {
		case err != nil:
			return nil, nil, err
		case out.Kind == session.Reviewed:
			return out.Review, nil, nil
		case out.Kind == session.Stopped:
			a.stopped = true
			return nil, &attemptEnd{final: out.Reason}, nil
		}
		a.silence = string(out.Kind) + ": " + out.Reason
	}
	return nil, nil, nil
}

// critic runs a critic's session, part after part, while the contract stands
// where it is.
func (a *attempts) critic(c flow.Ctx, of *session.ReviewOf) (session.Outcome, error) {
	spec := session.Spec{
		Run: a.in.Run, Contract: a.contract.ID, Role: reviewer, Agent: reviewer, Attempt: a.n, Review: of,
	}
	if a.slot != nil {
		spec.Agent = member(reviewer, a.contract.ID)
	}
	name := fmt.Sprintf("review-%d", of.Try)
	for part := 1; ; part++ {
		spec.Part = part
		if a.crew != nil {
			a.raises = a.crew.raises
		}
		out, err := flow.Call(c, session.Activity, a.key(fmt.Sprintf("%s/session/%d", name, part)), spec)
		if err != nil || out.Kind != session.Parked {
			return out, err
		}
		answer, stop, err := a.wait(c, out, place{fmt.Sprintf("%s-%s-%d", a.nth(), name, part), fmt.Sprintf("%s/%d", name, part)})
		if err != nil {
			return out, err
		}
		if stop != "" {
			return session.Outcome{Kind: session.Stopped, Reason: stop}, nil
		}
		spec.Answer = answer
	}
}

// rework lets the producer mend what a review asks for, and verifies what comes
// of it. Afresh begins a new conversation with all reviews in view, on the next
// level of models. An end is how the attempt ended instead.
func (a *attempts) rework(c flow.Ctx, r agency.Review, afresh bool) (claim agency.Claim, v agency.Verdict, end *attemptEnd, err error) {
	left := a.loop.Left()
	a.round++
	if err := a.advance(c, "rework", step{Reworked: &agency.Reworked{Reason: "review: " + r.Line()}}); err != nil {
		return claim, v, nil, err
	}
	var out session.Outcome
	if afresh {
		a.up++
		out, err = a.workAfresh(c)
	} else {
		out, err = a.workOn(c, &session.Answer{Review: &r, Left: left})
	}
	if err != nil {
		return claim, v, nil, err
	}
	if out.Kind != session.Claimed {
		e, err := a.unclaimed(c, out)
		return claim, v, &e, err
	}
	v, end, err = a.prove(c, *out.Claim)
	return *out.Claim, v, end, err
}

// workAfresh is a new conversation in the same attempt.
func (a *attempts) workAfresh(c flow.Ctx) (session.Outcome, error) {
	spec, err := a.spec(c)
	if err != nil {
		return session.Outcome{}, err
	}
	spec.Round = a.round
	spec.Feedback = &session.Feedback{
		Attempt: a.n, Reason: "the same issues came back: " + a.loop.History()[len(a.loop.History())-1].Line(), Reviews: a.loop.History(),
	}
	return a.parts(c, spec)
}

// approved lands what a review approved of, unless another reviewer did not
// and a person sides with that one.
func (a *attempts) approved(c flow.Ctx, claim agency.Claim, r agency.Review, against *contradiction) (attemptEnd, error) {
	if against != nil {
		d, err := a.weigh(c, r, *against, "let it land as it is", rejecting)
		if err != nil {
			return attemptEnd{}, err
		}
		if d.Verb == agency.Reject {
			return a.sentBack(c, "a person sides with the review of "+string(against.Other.Reviewer), orElse(d.Note, against.Other.Summary))
		}
	}
	return a.approve(c, claim)
}

// approve lands what a review approved of.
func (a *attempts) approve(c flow.Ctx, claim agency.Claim) (attemptEnd, error) {
	if err := a.advance(c, "approved", step{Reviewed: &agency.Reviewed{}}); err != nil {
		return attemptEnd{}, err
	}
	return a.land(c, claim)
}

// unreviewed asks a person where no critic gave a review.
func (a *attempts) unreviewed(c flow.Ctx, claim agency.Claim) (attemptEnd, error) {
	d, err := ask(c, agency.Gate{
		ID: gateID(a.in.Run, fmt.Sprintf("unreviewed-%s-%s", a.contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.contract.ID,
		Summary: firstLine(fmt.Sprintf("%s passes its checks, but its critic gave no review: %s", a.contract.ID, a.silence)),
		Body: fmt.Sprintf("The critic of %s was asked %d times and gave no review. The last time it ended as %s\n\nApprove to let the work land without one; reject with a reason to send it back.",
			a.contract.ID, reviewTries, a.silence),
		Approving: "let it land without a review", Rejecting: rejecting,
	})
	if err != nil {
		return attemptEnd{}, err
	}
	if d.Verb != agency.Reject {
		return a.approve(c, claim)
	}
	return a.sentBack(c, "a person does not accept it without a review", d.Note)
}

// dispute asks a person what becomes of work on which producer and critic do
// not agree: an approval takes the best attempt as it is.
func (a *attempts) dispute(c flow.Ctx, next critic.Next, against *contradiction) (attemptEnd, error) {
	best := len(a.loop.claims) - 1
	if next == critic.Dispute {
		best = a.loop.Best()
	}
	summary, body := a.disputeText(next, best)
	g := agency.Gate{
		ID: gateID(a.in.Run, fmt.Sprintf("review-%s-%s", a.contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.contract.ID,
		Summary: firstLine(summary), Body: body, Review: true, Approving: "let it land as it is", Rejecting: rejecting,
	}
	d, err := ask(c, g)
	if err == nil && against != nil {
		err = a.weighed(c, *against, g.ID)
	}
	if err != nil {
		return attemptEnd{}, err
	}
	if d.Verb == agency.Reject {
		return a.sentBack(c, "a person decided on the review", d.Note)
	}
	claim := a.loop.claims[best]
	if claim.Tree != a.loop.claims[len(a.loop.claims)-1].Tree {
		// What lands is what was verified last.
		v, err := flow.Call(c, verify.Activity, a.key("verify/best"), a.verifySpec(claim))
		if err != nil {
			return attemptEnd{}, err
		}
		if !v.Pass {
			return a.failed(c, session.Feedback{Attempt: a.n, Reason: firstReason(v), Verdict: &v, Reviews: a.open()})
		}
	}
	return a.approve(c, claim)
}

func (a *attempts) disputeText(next critic.Next, best int) (summary, body string) {
	history := a.loop.History()
	last := history[len(history)-1]
	var b strings.Builder
	if next == critic.Discuss {
		summary = fmt.Sprintf("the critic of %s wants a person to decide: %s", a.contract.ID, last.Summary)
		fmt.Fprintf(&b, "The work on %s passes its checks. Its critic says that a person must decide:\n\n%s\n", a.contract.ID, last.Summary)
	} else {
		summary = fmt.Sprintf("producer and critic of %s do not agree after %s: %s", a.contract.ID, agency.Things(len(history), "review", "reviews"), orElse(string(a.loop.Why()), "no round is left"))
		fmt.Fprintf(&b, "The work on %s passes its checks, and its critic does not approve of it: %s.\n", a.contract.ID, disputeWords[a.loop.Why()])
	}
	b.WriteString("\nReviews:\n\n")
	for i, r := range history {
		mark := ""
		if i == best && next == critic.Dispute {
			mark = " (the best attempt)"
		}
		fmt.Fprintf(&b, "- round %d%s: %s\n", r.Iteration, mark, r.Line())
		for _, is := range r.Issues {
			fmt.Fprintf(&b, "    - %s, %s: %s\n", is.Severity, is.Where(), firstLine(is.Issue))
		}
	}
	if a.advice != "" && next == critic.Discuss {
		fmt.Fprintf(&b, "\nThe project manager, who was asked first:\n\n%s\n", a.advice)
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

var disputeWords = map[agency.Disagreement]string{
	agency.Oscillating: "the same issues came back, also in a round with everything in view",
	agency.ScopeCreep:  "each review found more than the one before, also within the contract's criteria",
	agency.Unresolved:  "no round is left",
	"":                 "no round is left",
}

// sentBack is a person's reject of reviewed work: the first grants an attempt
// where none is left, a second one ends the contract.
func (a *attempts) sentBack(c flow.Ctx, why, note string) (attemptEnd, error) {
	if a.refused {
		return attemptEnd{final: why + " again: " + note}, nil
	}
	a.refused = true
	if err := a.grant(c); err != nil {
		return attemptEnd{}, err
	}
	return a.failed(c, session.Feedback{Attempt: a.n, Reason: why, Note: note, Reviews: a.open()})
}

// fillReviews gathers the last review of each contract that the gate is about.
func (v *mergeGateView) fillReviews(all []agency.Review) {
	for i, r := range all {
		later := slices.ContainsFunc(all[i+1:], func(o agency.Review) bool { return o.ContractID == r.ContractID })
		if !later && (v.Contract == "" || r.ContractID == v.Contract) {
			v.Reviews = append(v.Reviews, r)
		}
	}
}

// byReview takes the word of the last review of a verdict's contract for what
// nothing else proves of the files that it judged.
func byReview(verdict agency.Verdict, all []agency.Review) agency.Verdict {
	for _, r := range slices.Backward(all) {
		if r.ContractID != verdict.ContractID {
			continue
		}
		if r.Tree == verdict.Tree {
			verdict.Proofs = agency.ProveByReview(verdict.Proofs, r)
		}
		break
	}
	return verdict
}
