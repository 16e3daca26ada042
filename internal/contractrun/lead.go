package contractrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"agency/internal/agency"
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

// PlanContract is what the lead's session holds.
func (w *Shared) PlanContract() agency.Contract {
	return agency.Contract{
		ID: w.Lead.Plan, RunID: w.Run, ParentID: w.Lead.Parent, Type: agency.TypeDesign, AssignedRole: w.Lead.Role,
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
		p.Type = cmp.Or(p.Type, agency.TypeFeature)
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
