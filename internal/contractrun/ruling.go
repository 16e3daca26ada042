package contractrun

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/critic"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/session"
)

//go:embed ruling.md
var rulingWords string

// ruling is what a lead decides where producer and critic do not come together, with
// its words.
type ruling struct {
	agency.Decided
	text string
	stop string // the run must end
}

// decide brings work on which producer and critic do not agree to a decision: the
// lead's, and where it has none, or may not have it, a person's. Without an end the
// review says what is to be changed.
func (a *reviews) decide(c flow.Ctx, claim agency.Claim, r agency.Review, next critic.Next, against *effects.ReviewConflict) (end *AttemptEnd, changes agency.Review, err error) {
	word, err := a.askForRuling(c, claim, r, next, against)
	if err != nil {
		return nil, r, err
	}
	a.advice = word.text
	var out AttemptEnd
	switch by := a.how.Shared.Lead; {
	case word.stop != "":
		a.Stopped = true
		out = AttemptEnd{Final: word.stop}
	case word.Ruling == agency.RulingLand && next == critic.Dispute:
		out, err = a.landBest(c, a.loop.Best())
	case word.Ruling == agency.RulingLand:
		out, err = a.landApproved(c, claim, r, against)
	case word.Ruling == agency.RulingRework && next == critic.Discuss:
		return nil, withRuling(r, by, word.text), nil
	case word.Ruling == agency.RulingSplit:
		out = AttemptEnd{Final: fmt.Sprintf("the %s splits it: %s", by.name(), word.text)}
	case word.Ruling == agency.RulingPerson || word.Ruling == "":
		out, err = a.dispute(c, next, against)
	default:
		out, err = a.anew(c, word)
	}
	return &out, r, err
}

// askForRuling has a team's lead decide before a person is asked: on each discussion
// that a critic wants, and on one dispute of a contract. What it decides is a person's
// where it cannot be done.
func (a *reviews) askForRuling(c flow.Ctx, claim agency.Claim, r agency.Review, next critic.Next, against *effects.ReviewConflict) (ruling, error) {
	if !a.how.Shared.managed || next == critic.Dispute && a.ruled {
		return ruling{}, nil
	}
	a.ruled = a.ruled || next == critic.Dispute
	var out ruling
	asked := a.how.Shared.askLead(c, a.Key("discuss"), func(c flow.Ctx) (err error) {
		out, err = a.deliberate(c, claim, r, next)
		return err
	})
	if _, err := asked.Get(c); err != nil {
		return ruling{}, err
	}
	if !a.possible(out.Decided, r, next, against) {
		out.Decided = agency.Decided{Ruling: agency.RulingPerson}
	}
	return out, nil
}

// possible tells whether a lead's decision can be carried out. Work that the harness
// would not let a critic approve of is not the lead's to let land either.
func (a *reviews) possible(d agency.Decided, r agency.Review, next critic.Next, against *effects.ReviewConflict) bool {
	switch d.Ruling {
	case agency.RulingLand:
		if next == critic.Dispute {
			r = a.loop.History()[a.loop.Best()]
		}
		return len(r.Blocking()) == 0 && (next == critic.Discuss || against == nil)
	case agency.RulingRework:
		if next == critic.Discuss {
			return a.loop.Left() > 0
		}
		return !a.last()
	case agency.RulingReword:
		return !a.last()
	case agency.RulingReassign:
		return !a.last() && d.Role != a.role
	case agency.RulingSplit:
		return !a.how.Shared.Replanned
	}
	return false
}

// anew ends the attempt by what the lead decided; the next one goes on by it, with
// other words or by another role where that is what it said.
func (a *reviews) anew(c flow.Ctx, word ruling) (AttemptEnd, error) {
	how := ""
	switch word.Ruling {
	case agency.RulingReword:
		how = ", with another description"
		if err := a.Advance(c, "reword", agency.Reworded{Description: word.Wording}); err != nil {
			return AttemptEnd{}, err
		}
		a.Contract.Description = word.Wording
	case agency.RulingReassign:
		how = fmt.Sprintf(", by a %s", word.Role)
	}
	end, err := a.Failed(c, session.Feedback{
		Attempt: a.N, Reviews: a.open(),
		Reason: fmt.Sprintf("producer and critic did not agree, and the %s decided that it is done once more%s: %s", a.how.Shared.Lead.name(), how, word.text),
	})
	if err != nil || word.Ruling != agency.RulingReassign {
		return end, err
	}
	return end, a.reassign(c, word)
}

// reassign gives the contract to another role, whose next attempt begins with what was
// left.
func (a *reviews) reassign(c flow.Ctx, word ruling) error {
	key, from := a.Key("reassign"), a.Agent()
	a.hands++
	a.role = word.Role
	_, err := flow.Call(c, effects.HandOver, key, effects.Handover{
		Run: a.in.Run, N: a.hands, Words: word.text,
		Pack: agency.HandoffPackage{
			From: from, To: a.Agent(), ToRole: a.role, Contract: a.Contract.ID, NextContract: a.Contract.ID,
			Base: a.base, Tree: a.Tree, DependenciesUsed: a.Contract.DependsOn,
		},
	})
	return err
}

// deliberate is the lead's session over a review.
func (a *reviews) deliberate(c flow.Ctx, claim agency.Claim, r agency.Review, next critic.Next) (ruling, error) {
	id := agency.MessageID(fmt.Sprintf("%s/%s/review-%s", a.in.Run, a.Contract.ID, a.nth()))
	m := a.discussion(id, claim, r, next)
	out, err := m.CreateAndConverse(c)
	if err != nil {
		return ruling{}, err
	}
	if out.Kind != session.Reported {
		why := cmp.Or(out.Reason, string(out.Kind))
		end := ruling{text: "The " + a.how.Shared.Lead.name() + " gave no decision: " + why}
		if out.Kind == session.Stopped {
			end.stop = why
		}
		return end, m.Withdraw(c, end.text)
	}
	return ruling{Decided: out.Decided, text: out.Report}, m.ClaimComplete(c)
}

// discussion is what the lead's session holds: both sides.
func (a *reviews) discussion(id agency.MessageID, claim agency.Claim, r agency.Review, next critic.Next) *Run {
	var said strings.Builder
	said.WriteString(claim.Summary + "\n")
	for _, e := range claim.Evidence {
		fmt.Fprintf(&said, "- %s: %s %s\n", e.Criterion, e.Kind, e.Ref)
	}
	question, told := r.Summary, map[string]string{"critic": brief.ChangesText(r), "engineer": said.String()}
	if next == critic.Dispute {
		question, _ = a.disputeText(next, a.loop.Best())
		told["reviews"] = a.reviewsText(next, a.loop.Best())
	}
	told["question"] = question
	m := a.forLead(id, "review-"+a.nth(), "Decide on the review of "+string(a.Contract.ID)+": "+question, told)
	m.Contract.Description = strings.TrimSpace(rulingWords)
	m.Contract.AcceptanceCriteria = []agency.Criterion{{ID: "decision", Text: "it is decided how the work goes on, and the reason is said"}}
	return m
}

// withRuling is a review with the lead's decision as what must be done.
func withRuling(r agency.Review, by Lead, text string) agency.Review {
	r.Verdict = agency.ReviewChanges
	r.Conditions = append(slices.Clone(r.Conditions), "decided by the "+by.name()+": "+text)
	return r
}
