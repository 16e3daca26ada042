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
		out, err := a.critic(c, &session.ReviewOf{Iteration: 1, Try: 1, Base: a.in.Base, Claim: agency.Claim{Tree: head.Head}})
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
	return fmt.Sprintf("all %d attempts are used; the last one: %s", a.contract.RetryBudget+a.granted, a.feedback.Reason), nil
}

// takeVerdict completes the contract, or says why it failed. What a critic
// wants a person to decide, a person decides.
func (a *attempts) takeVerdict(c flow.Ctx, said agency.Review) (failure string, err error) {
	var rules agency.ReviewRules
	if a.in.Review != nil {
		rules = *a.in.Review
	}
	r := agency.JudgeReview(said, rules, agency.ReviewFacts{TestsPassed: true, LintPassed: true}) // what landed was verified
	if _, err := flow.Call(c, noteReview, a.key("review"), reviewNote{Run: a.in.Run, Review: r}); err != nil {
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
	switch r.Verdict {
	case agency.ReviewChanges:
		return verdictText(r), nil
	case agency.ReviewDiscussion:
		d, err := ask(c, agency.Gate{
			ID: gateID(a.in.Run, fmt.Sprintf("review-%s-%d", a.contract.ID, a.n)), RunID: a.in.Run, Kind: agency.GateEscalation, ContractID: a.contract.ID,
			Summary:   firstLine(fmt.Sprintf("the reviewer of %s wants a person to decide: %s", a.contract.ID, r.Summary)),
			Body:      verdictText(r) + "\n\nApprove to accept what landed as it is; reject with a reason to have it planned anew.",
			Approving: "accept what landed as it is", Rejecting: "have it planned anew",
		})
		if err != nil {
			return "", err
		}
		if d.Verb == agency.Reject {
			return orElse(d.Note, verdictText(r)), nil
		}
	}
	for _, s := range []struct {
		key  string
		step step
	}{
		{"approved", step{Reviewed: &agency.Reviewed{}}},
		{"landing", step{LandingBegun: &agency.LandingBegun{}}},
		{"landed", step{HasLanded: &agency.HasLanded{}}},
	} {
		if err := a.advance(c, s.key, s.step); err != nil {
			return "", err
		}
	}
	return "", nil
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
