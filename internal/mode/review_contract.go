package mode

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
)

// giveVerdict works a contract of a reviewer: there is nothing to land, its
// review of all that has landed is what it is for. An approval completes it;
// what it asks for fails it, so that the manager plans what mends it.
func (a *attempts) giveVerdict(c flow.Ctx) (failure string, err error) {
	for a.next() {
		if err := a.advance(c, "start", step{Started: &agency.Started{Agent: a.agent()}}); err != nil {
			return "", err
		}
		head, err := flow.Call(c, land.HeadActivity, a.key("head"), land.BranchSpec{Run: a.in.Run})
		if err != nil {
			return "", err
		}
		of := head.Head
		if head.Tree != "" && flow.Version(c, "verdict_tree", 1) >= 1 {
			of = head.Tree // by which another review of the same files is found
		}
		out, err := a.critic(c, &session.ReviewOf{Iteration: 1, Try: 1, Base: a.in.Base, Claim: agency.Claim{Tree: of}})
		switch {
		case err != nil:
			return "", err
		case out.Kind == session.Stopped:
			a.stopped = true
			return out.Reason, nil
		case out.Kind == session.Reviewed:
			return a.takeVerdict(c, *out.Review)
		}
		a.feedback = session.Feedback{Attempt: a.n, Reason: out.Reason}
		if _, err := a.failed(c, a.feedback); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s; the last one: %s", agency.AllUsed(a.contract.RetryBudget+a.granted, ""), a.feedback.Reason), nil
}

// takeVerdict completes the contract, or says why it failed. What a critic
// wants a person to decide, a person decides.
func (a *attempts) takeVerdict(c flow.Ctx, said agency.Review) (failure string, err error) {
	var rules agency.ReviewRules
	if a.in.Review != nil {
		rules = *a.in.Review
	}
	r := agency.JudgeReview(said, rules, agency.ReviewFacts{TestsPassed: true, LintPassed: true}) // what landed was verified
	noted, err := flow.Call(c, noteReview, a.key("review"), reviewNote{Run: a.in.Run, Review: r})
	if err != nil {
		return "", err
	}
	for _, s := range []struct {
		key  string
		step step
	}{{"claim", step{ClaimMade: &agency.ClaimMade{}}}, {"verified", step{Verified: &agency.Verified{Review: true}}}} {
		if err := a.advance(c, s.key, s.step); err != nil {
			return "", err
		}
	}
	if failure, err := a.judged(c, r, noted.Against); err != nil || failure != "" {
		return failure, err
	}
	var landed agency.HasLanded
	if flow.Version(c, "verdict_results", 1) >= 1 {
		landed.Results = &agency.Results{Review: wholeReview(r)}
	}
	for _, s := range []struct {
		key  string
		step step
	}{
		{"approved", step{Reviewed: &agency.Reviewed{}}},
		{"landing", step{LandingBegun: &agency.LandingBegun{}}},
		{"landed", step{HasLanded: &landed}},
	} {
		if err := a.advance(c, s.key, s.step); err != nil {
			return "", err
		}
	}
	return "", nil
}

// What the answer to a review contract's gate does.
const (
	accepting = "accept what landed as it is"
	replanned = "have it planned anew"
)

// judged is what a review contract's verdict comes to: a failure, or nothing. A
// person decides where its reviewer wants that, and where another reviewer
// judged the same files otherwise.
func (a *attempts) judged(c flow.Ctx, r agency.Review, against *contradiction) (failure string, err error) {
	d := agency.Decision{Verb: agency.Approve}
	switch {
	case r.Verdict == agency.ReviewDiscussion:
		g := agency.Gate{
			ID: gateID(a.in.Run, fmt.Sprintf("review-%s-%d", a.contract.ID, a.n)), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.contract.ID,
			Summary: firstLine(fmt.Sprintf("the reviewer of %s wants a person to decide: %s", a.contract.ID, r.Summary)),
			Body:    verdictText(r) + "\n\nApprove to " + accepting + "; reject with a reason to " + replanned + ".",
			Review:  true, Approving: accepting, Rejecting: replanned,
		}
		if d, err = ask(c, g); err == nil && against != nil {
			err = a.weighed(c, *against, g.ID)
		}
	case against != nil:
		d, err = a.weigh(c, r, *against, accepting, replanned)
	case r.Verdict == agency.ReviewChanges:
		return verdictText(r), nil
	}
	if err == nil && d.Verb == agency.Reject {
		failure = orElse(d.Note, verdictText(r))
	}
	return failure, err
}

// maxReview bounds a review among the results of its contract, in bytes.
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
	if s := b.String(); len(s) <= maxReview {
		return s
	}
	return strings.ToValidUTF8(b.String()[:maxReview], "") + "…"
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
