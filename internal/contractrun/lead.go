package contractrun

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/critic"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/text"
)

// Lead is who makes a plan and leads those who carry it out.
type Lead struct {
	Role   agency.RoleID
	Plan   agency.ContractID // in which it plans
	Parent agency.ContractID // that the plan carries out; empty: the goal itself
}

func (l Lead) name() string { return roster.Name(l.Role) }

// tiered tells whether the lead is one of a tiered run.
func (l Lead) tiered() bool { return l.Role.Tier() != "" }

// critic is the role that judges claims before they land: in a tiered run a verifier,
// without whom nothing lands.
func (l Lead) critic() agency.RoleID {
	if l.tiered() {
		return agency.RoleVerifier
	}
	return agency.RoleReviewer
}

// PlanContract is what the lead's session holds.
func (w *Shared) PlanContract() agency.Contract {
	return agency.Contract{
		ID: w.Lead.Plan, RunID: w.Run, ParentID: w.Lead.Parent, Type: agency.TypeDesign, AssignedRole: w.Lead.Role, Tier: string(w.Lead.Role.Tier()),
		Title: text.FirstLine("Contract for: "+w.Goal, 100), Description: w.Goal, GoalAnchor: w.Goal,
		AcceptanceCriteria: []agency.Criterion{{ID: "plan", Text: "the goal is one formal contract whose criteria can be checked"}},
		RetryBudget:        w.RetryBudget,
	}
}

// Submitted are the contracts of the lead's plan with what the run decides itself.
func (w *Shared) Submitted(plan []agency.Contract) []agency.Contract {
	in, out := w.Facts, slices.Clone(plan)
	for i := range out {
		p := &out[i]
		p.RunID, p.GoalAnchor, p.RetryBudget, p.ParentID = in.Run, in.Goal, in.RetryBudget, cmp.Or(p.ParentID, w.Lead.Parent)
		if in.Feature != nil {
			p.FeatureID = cmp.Or(p.FeatureID, in.Feature.ID) // where its author did not say
		}
		p.Type, p.Tier = cmp.Or(p.Type, agency.TypeFeature), string(p.AssignedRole.Tier())
	}
	return out
}

// Complete takes the claim of a contract that changes no file to its end: there
// is nothing to verify in it.
func (a *state) Complete(c flow.Ctx) error {
	return a.AdvanceAll(c, Told{"verified", agency.Verified{}}, Told{"landing", agency.LandingBegun{}}, Told{"landed", agency.HasLanded{}})
}

// ClaimComplete is Complete for a contract that has claimed nothing yet.
func (a *state) ClaimComplete(c flow.Ctx) error {
	return a.AdvanceAll(c, Told{"claim", agency.ClaimMade{}}, Told{"verified", agency.Verified{}}, Told{"landing", agency.LandingBegun{}}, Told{"landed", agency.HasLanded{}})
}

// forLead is what the lead's session over a question about the contract holds.
func (a *state) forLead(question agency.MessageID, at, title string, told map[string]string) *Run {
	how := a.how.Shared.Leading()
	how.answers = question
	c := a.how.Shared.PlanContract()
	c.ID, c.ParentID, c.RetryBudget, c.Title, c.Inputs = questionID(a.Contract.ID, at), a.Contract.ID, 1, text.FirstLine(title, 100), agency.TextInputs(told)
	doc, err := json.Marshal(a.Contract)
	if err != nil { // came from JSON
		doc = agency.TextInput(string(a.Contract.ID))
	}
	c.Inputs["contract"] = doc
	return NewStarted(c, how)
}

// leadAnswers is the lead's session over the question. What it reports is the
// answer where it sent none.
func (q *question) leadAnswers(c flow.Ctx) error {
	m := q.asked()
	switch err := m.Create(c); {
	case agency.KindOf(err) == agency.KindConflict: // the plan has one of this id
		q.why = fmt.Sprintf("the %s could not be asked: the plan has a contract %s", q.how.Shared.Lead.name(), m.Contract.ID)
		return nil
	case err != nil:
		return err
	}
	if err := m.Advance(c, "start", agency.Started{Agent: m.Agent()}); err != nil {
		return err
	}
	out, err := m.Converse(c)
	if err != nil {
		return err
	}
	switch out.Kind {
	case session.Stopped:
		q.stop = out.Reason
		return m.Withdraw(c, out.Reason)
	case session.Reported:
		if err := q.recordAnswer(c, string(m.Agent()), out.Report); err != nil {
			return err
		}
		return m.ClaimComplete(c)
	}
	q.why = "the " + q.how.Shared.Lead.name() + " gave no answer: " + cmp.Or(text.FirstLine(out.Reason, 100), string(out.Kind))
	return m.Withdraw(c, q.why)
}

// asked is the lead's session over the question.
func (q *question) asked() *Run {
	var plan strings.Builder
	for _, p := range q.how.Shared.Plan {
		fmt.Fprintf(&plan, "- %s (%s): %s\n", p.ID, p.AssignedRole, p.Title)
	}
	m := q.forLead(q.out.Awaits, q.at.name, "Question on "+string(q.Contract.ID)+": "+q.out.Question, map[string]string{
		"question_id": string(q.out.Awaits), "question": q.out.Question, "asked_by": string(q.Agent()), "plan": plan.String(),
	})
	answer := agency.Criterion{ID: "answer", Text: "the question is answered so that the agent can go on without asking again"}
	if h := q.out.Handoff; h != nil {
		answer.Text = "it is decided whether the contract is handed over, with the reason"
		m.Contract.Inputs["hand_over_to"] = agency.TextInput(string(h.Role))
	}
	m.Contract.AcceptanceCriteria = []agency.Criterion{answer}
	return m
}

// questionID is the id of the contract of a question.
func questionID(of agency.ContractID, at string) agency.ContractID {
	name := string(of)
	if len(name) > 40 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		name = fmt.Sprintf("%.30s-%08x", name, h.Sum32())
	}
	return agency.ContractID("ask-" + name + "-" + at)
}

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
		out = a.Ended(word.stop)
	case word.Ruling == agency.RulingLand && next == critic.Dispute:
		out, err = a.landBest(c, a.loop.Best())
	case word.Ruling == agency.RulingLand:
		out, err = a.landApproved(c, claim, r, against)
	case word.Ruling == agency.RulingRework && next == critic.Discuss:
		return nil, withRuling(r, by, word.text), nil
	case word.Ruling == agency.RulingSplit:
		out = a.Over(agency.FailedReview, r.Line()+": "+r.Summary, fmt.Sprintf("the %s splits it: %s", by.name(), word.text))
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
	a.Met(agency.FailedReview, a.loop.History()[len(a.loop.History())-1].Line())
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
		told["reviews"] = reviewsText(a.loop.History(), next, a.loop.Best())
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
