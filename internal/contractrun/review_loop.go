package contractrun

import (
	"cmp"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/critic"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/session"
)

// rejecting is what a reject of reviewed work does.
const rejecting = "work on it once more; a second time gives it up"

// reviewRounds is the loop of producer and critic within one attempt.
type reviewRounds struct {
	critic.Loop
	on       bool           // somebody reviews
	claims   []agency.Claim // that were reviewed, as the loop's history
	verdicts []agency.Verdict
	began    time.Time // of the attempt
	waited   time.Duration
}

// reviews is the loop of producer and critic over a contract.
type reviews struct {
	*state
	conversation *conversation
	claims       *claims
	sentBackOnce bool   // a person rejected reviewed work once
	silence      string // how a critic ended that gave no review
	advice       string // the lead's words on a review that a person decides on
	ruled        bool   // the lead decided on a dispute
}

// beginReviews tells whether a critic reads what the contract's claims change. It is
// asked at the beginning of each attempt, of which the loop is a part.
func (a *reviews) beginReviews(c flow.Ctx) bool {
	a.loop, a.round = reviewRounds{}, 1
	rules := a.in.Review
	if a.how.Shared.Lead.tiered() {
		rules.MaxIterations = max(1, rules.MaxIterations)
	} else if !a.how.Reviewed || rules.MaxIterations == 0 {
		return false
	}
	a.loop = reviewRounds{on: true, Loop: critic.Loop{Rules: rules}}
	a.loop.began = a.clock(c, "begin")
	return true
}

// clock is the time, where a loop is timed.
func (a *state) clock(c flow.Ctx, key string) (now time.Time) {
	if a.loop.on {
		now = flow.Now(c, a.Key("clock/"+key))
	}
	return now
}

// open are the reviews that a new attempt has to know: the last one where it
// asked for changes that nobody has shown to be made.
func (a *state) open() []agency.Review {
	if !a.loop.on {
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
func (a *reviews) review(c flow.Ctx, claim agency.Claim, verdict agency.Verdict) (AttemptEnd, error) {
	for {
		if err := a.Advance(c, "verified", agency.Verified{Review: true}); err != nil {
			return AttemptEnd{}, err
		}
		said, end, err := a.reviewClaim(c, claim, verdict)
		if err != nil || end != nil {
			return orEnd(end), err
		}
		if said == nil {
			return a.unreviewed(c, claim)
		}
		r, next := a.loop.Take(*said, agency.ReviewFacts{TestsPassed: !verdict.TestsRed, LintPassed: !verdict.LintRed}, a.late(c))
		a.loop.claims, a.loop.verdicts = append(a.loop.claims, claim), append(a.loop.verdicts, verdict)
		a.tried[len(a.tried)-1].Score = r.Score
		noted, err := flow.Call(c, effects.RecordReview, a.Key("review"), effects.ReviewToRecord{Run: a.in.Run, Review: r})
		if err != nil {
			return AttemptEnd{}, err
		}
		switch next {
		case critic.Land:
			return a.landApproved(c, claim, r, noted.Against)
		case critic.Discuss, critic.Dispute:
			end, changes, err := a.decide(c, claim, r, next, noted.Against)
			if err != nil || end != nil {
				return orEnd(end), err
			}
			r = changes
		}
		again, v, end, err := a.rework(c, r, next == critic.Afresh)
		if err != nil || end != nil {
			return orEnd(end), err
		}
		claim, verdict = again, v
	}
}

// late tells whether the time of the loop is up; waiting does not count.
func (a *reviews) late(c flow.Ctx) bool {
	most := a.loop.Rules.Timeout
	return most > 0 && a.clock(c, "reviewed").Sub(a.loop.began)-a.loop.waited > most
}

// reviewClaim is a critic's session over a claim. No review and no end: it gave
// none, however often it was asked.
func (a *reviews) reviewClaim(c flow.Ctx, claim agency.Claim, verdict agency.Verdict) (*agency.Review, *AttemptEnd, error) {
	for try := 1; try <= critic.MaxAsks; try++ {
		out, err := a.critic(c, &session.ReviewOf{
			Iteration: a.round, Try: try, Base: a.base, Claim: claim, Verdict: &verdict,
			Frozen: a.loop.Frozen(), Oscillating: a.loop.Oscillating(),
		})
		switch {
		case err != nil:
			return nil, nil, err
		case out.Kind == session.Reviewed:
			return out.Review, nil, nil
		case out.Kind == session.Stopped:
			end := a.Ended(out.Reason)
			return nil, &end, nil
		}
		a.silence = string(out.Kind) + ": " + out.Reason
	}
	return nil, nil, nil
}

// critic runs a critic's session, part after part, while the contract stands
// where it is.
func (a *reviews) critic(c flow.Ctx, of *session.ReviewOf) (session.Outcome, error) {
	role := a.how.Shared.Lead.critic()
	spec := session.Spec{
		Run: a.in.Run, Contract: a.Contract.ID, Role: role, Agent: agency.AgentID(role), Attempt: a.N, Review: of,
		Leader: a.how.Shared.Lead.Role, Tier: string(role.Tier()),
	}
	if a.how.InTeam {
		spec.Agent, spec.Beside = agency.MemberID(role, a.Contract.ID), true
	}
	name := fmt.Sprintf("review-%d", of.Try)
	for part := 1; ; part++ {
		spec.Part = part
		a.conversation.waiting.begin()
		out, err := flow.Call(c, session.Activity, a.Key(fmt.Sprintf("%s/session/%d", name, part)), spec)
		if err != nil || out.Kind != session.Parked {
			return out, err
		}
		answer, stop, err := a.conversation.waiting.wait(c, out, waitPoint{fmt.Sprintf("%s-%s-%d", a.nth(), name, part), fmt.Sprintf("%s/%d", name, part)})
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
func (a *reviews) rework(c flow.Ctx, r agency.Review, afresh bool) (claim agency.Claim, v agency.Verdict, end *AttemptEnd, err error) {
	left := a.loop.Left()
	a.round++
	if err := a.Advance(c, "rework", agency.Reworked{Reason: "review: " + r.Line()}); err != nil {
		return claim, v, nil, err
	}
	var out session.Outcome
	if afresh {
		a.levelsUp++
		out, err = a.conversation.beginAfresh(c)
	} else {
		out, err = a.conversation.goOn(c, &session.Answer{Review: &r, Left: left})
	}
	if err != nil {
		return claim, v, nil, err
	}
	if out.Kind != session.Claimed {
		e, err := a.unclaimed(c, out)
		return claim, v, &e, err
	}
	v, end, err = a.claims.verifyClaim(c, *out.Claim)
	return *out.Claim, v, end, err
}

// landApproved lands what a review approved of, unless another reviewer did not
// and a person sides with that one.
func (a *reviews) landApproved(c flow.Ctx, claim agency.Claim, r agency.Review, against *effects.ReviewConflict) (AttemptEnd, error) {
	if against != nil {
		d, err := a.decideConflict(c, r, *against, "let it land as it is", rejecting)
		if err != nil {
			return AttemptEnd{}, err
		}
		if d.Verb == agency.Reject {
			return a.sendBack(c, "a person sides with the review of "+string(against.Other.Reviewer), cmp.Or(d.Note, against.Other.Summary))
		}
	}
	return a.landReviewed(c, claim)
}

// landReviewed lands what a review approved of.
func (a *reviews) landReviewed(c flow.Ctx, claim agency.Claim) (AttemptEnd, error) {
	if err := a.Advance(c, "approved", agency.Reviewed{}); err != nil {
		return AttemptEnd{}, err
	}
	return a.claims.land(c, claim)
}
