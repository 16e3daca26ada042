package contractrun

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/text"
)

// giveReview works a contract of a reviewer: there is nothing to land, its
// review of all that has landed is what it is for. An approval completes it;
// what it asks for fails it, so that the manager plans what mends it.
func (a *reviews) giveReview(c flow.Ctx) (failure string, err error) {
	for a.Next() {
		if err := a.Advance(c, "start", agency.Started{Agent: a.Agent()}); err != nil {
			return "", err
		}
		head, err := flow.Call(c, land.HeadActivity, a.Key("head"), a.how.Shared.Level())
		if err != nil {
			return "", err
		}
		of := head.Head
		if head.Tree != "" {
			of = head.Tree // by which another review of the same files is found
		}
		out, err := a.critic(c, &session.ReviewOf{Iteration: 1, Try: 1, Base: a.in.Base, Claim: agency.Claim{Tree: of}})
		switch {
		case err != nil:
			return "", err
		case out.Kind == session.Stopped:
			return a.Ended(out.Reason).Final, nil
		case out.Kind == session.Reviewed:
			return a.takeReview(c, *out.Review)
		}
		a.Feedback = session.Feedback{Attempt: a.N, Reason: out.Reason}
		if _, err := a.Failed(c, a.Feedback); err != nil {
			return "", err
		}
	}
	return a.UsedUp(""), nil
}

// takeReview completes the contract, or says why it failed. What a critic
// wants a person to decide, a person decides.
func (a *reviews) takeReview(c flow.Ctx, said agency.Review) (failure string, err error) {
	r := agency.JudgeReview(said, a.in.Review, agency.ReviewFacts{TestsPassed: true, LintPassed: true}) // what landed was verified
	noted, err := flow.Call(c, effects.RecordReview, a.Key("review"), effects.ReviewToRecord{Run: a.in.Run, Review: r})
	if err != nil {
		return "", err
	}
	if err := a.AdvanceAll(c, Told{"claim", agency.ClaimMade{}}, Told{"verified", agency.Verified{Review: true}}); err != nil {
		return "", err
	}
	if failure, err := a.decideOnReview(c, r, noted.Against); err != nil || failure != "" {
		a.Over(agency.FailedReview, failure, failure)
		return failure, err
	}
	landed := agency.HasLanded{Results: &agency.Results{Review: wholeReview(r)}}
	return "", a.AdvanceAll(c, Told{"approved", agency.Reviewed{}}, Told{"landing", agency.LandingBegun{}}, Told{"landed", landed})
}

// What the answer to a review contract's gate does.
const (
	accepting = "accept what was integrated as it is"
	replanned = "have it planned anew"
)

// decideOnReview is what a review contract's verdict comes to: a failure, or nothing. A
// person decides where its reviewer wants that, and where another reviewer
// judged the same files otherwise.
func (a *reviews) decideOnReview(c flow.Ctx, r agency.Review, against *effects.ReviewConflict) (failure string, err error) {
	d := agency.Decision{Verb: agency.Approve}
	switch {
	case r.Verdict == agency.ReviewDiscussion:
		g := agency.Gate{
			ID: GateID(a.in.Run, fmt.Sprintf("review-%s-%d", a.Contract.ID, a.N)), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.Contract.ID,
			Summary: text.FirstLine(fmt.Sprintf("the reviewer of %s wants a person to decide: %s", a.Contract.ID, r.Summary), 100),
			Body:    verdictText(text.InLines(r, text.MostLine)) + "\n\nApprove to " + accepting + "; reject with a reason to " + replanned + ".",
			Review:  true, Approving: accepting, Rejecting: replanned,
		}
		if d, err = Ask(c, g); err == nil && against != nil {
			err = a.resolveConflict(c, *against, g.ID)
		}
	case against != nil:
		d, err = a.decideConflict(c, r, *against, accepting, replanned)
	case r.Verdict == agency.ReviewChanges:
		return verdictText(r), nil
	}
	if err == nil && d.Verb == agency.Reject {
		failure = cmp.Or(d.Note, verdictText(r))
	}
	return failure, err
}

// maxReview bounds a review among the results of its contract, in characters.
const maxReview = 4000

// wholeReview is a review as those read it whose contracts depend on it: what
// does not stand against an approval is for them to weigh.
func wholeReview(r agency.Review) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Line(), r.Summary)
	for _, i := range r.Issues {
		fmt.Fprintf(&b, "\n- %s, %s: %s", i.Severity, i.Where(), i.Issue)
		if i.Suggestion != "" {
			fmt.Fprintf(&b, " (%s)", i.Suggestion)
		}
	}
	return text.Head(b.String(), maxReview)
}

// verdictText is a review as the manager reads it when it plans anew.
func verdictText(r agency.Review) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the review says %s: %s", r.Line(), r.Summary)
	for _, i := range r.Blocking() {
		fmt.Fprintf(&b, "\n- %s, %s: %s", i.Severity, i.Where(), i.Issue)
	}
	return b.String()
}
