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
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/text"
)

// PlanContract is what the manager's session holds.
func PlanContract(in Facts) agency.Contract {
	return agency.Contract{
		ID: "plan", RunID: in.Run, Type: agency.TypeDesign, AssignedRole: agency.RoleProjectManager,
		Title: text.FirstLine("Contract for: "+in.Goal, 100), Description: in.Goal, GoalAnchor: in.Goal,
		AcceptanceCriteria: []agency.Criterion{{ID: "plan", Text: "the goal is one formal contract whose criteria can be checked"}},
		RetryBudget:        in.RetryBudget,
	}
}

// Submitted are the contracts of a plan with what the run decides itself.
func Submitted(in Facts, plan []agency.Contract) []agency.Contract {
	out := slices.Clone(plan)
	for i := range out {
		p := &out[i]
		p.RunID, p.GoalAnchor, p.RetryBudget = in.Run, in.Goal, in.RetryBudget
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
	if err := a.Advance(c, "claim", agency.ClaimMade{}); err != nil {
		return err
	}
	return a.Complete(c)
}

// managerAnswers is the manager's session over the question. What it reports is the
// answer where it sent none.
func (q *question) managerAnswers(c flow.Ctx) error {
	m := NewStarted(q.in, q.managerContract(), Work{Many: true, answers: q.out.Awaits, Shared: q.how.Shared})
	switch err := m.Create(c); {
	case agency.KindOf(err) == agency.KindConflict: // the plan has one of this id
		q.why = fmt.Sprintf("the project manager could not be asked: the plan has a contract %s", m.Contract.ID)
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
	q.why = "the project manager gave no answer: " + cmp.Or(text.FirstLine(out.Reason, 100), string(out.Kind))
	return m.Withdraw(c, q.why)
}

// managerContract is what the manager's session holds.
func (q *question) managerContract() agency.Contract {
	doc, err := json.MarshalIndent(q.Contract, "", "  ")
	if err != nil { // came from JSON
		doc = []byte(q.Contract.ID)
	}
	var plan strings.Builder
	for _, p := range q.how.Shared.Plan {
		fmt.Fprintf(&plan, "- %s (%s): %s\n", p.ID, p.AssignedRole, p.Title)
	}
	c := PlanContract(q.in)
	c.ID, c.ParentID, c.RetryBudget = questionID(q.Contract.ID, q.at.name), q.Contract.ID, 1
	c.Title = text.FirstLine("Question on "+string(q.Contract.ID)+": "+q.out.Question, 100)
	c.AcceptanceCriteria = []agency.Criterion{{ID: "answer", Text: "the question is answered so that the agent can go on without asking again"}}
	if q.out.Handoff != nil {
		c.AcceptanceCriteria[0].Text = "it is decided whether the contract is handed over, with the reason"
	}
	c.Inputs = map[string]string{
		"question_id": string(q.out.Awaits), "question": q.out.Question, "asked_by": string(q.Agent()), "contract": string(doc), "plan": plan.String(),
	}
	if h := q.out.Handoff; h != nil {
		c.Inputs["hand_over_to"] = string(h.Role)
	}
	return c
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

//go:embed discuss.md
var discussWords string

// ruling is what a manager decides where a critic wants a discussion. The zero
// ruling leaves it to a person.
type ruling struct {
	land, rework bool
	text         string // the manager's words
	stop         string // the run must end
}

// readRuling reads a manager's report by its first line.
func readRuling(report string) ruling {
	first, rest, _ := strings.Cut(strings.TrimSpace(report), "\n")
	r := ruling{text: strings.TrimSpace(rest)}
	switch strings.ToLower(strings.Join(strings.Fields(strings.Trim(first, "`*#. ")), " ")) {
	case "decision: land":
		r.land = true
	case "decision: rework":
		r.rework = r.text != "" // who is to change something must be told what
	default:
		r.text = strings.TrimSpace(report)
	}
	return r
}

// askForRuling has a team's manager decide on a review that wants a discussion, before
// a person is asked. Work that the harness would not let a critic approve of is
// not the manager's to let land either.
func (a *reviews) askForRuling(c flow.Ctx, claim agency.Claim, r agency.Review) (ruling, error) {
	if !a.how.Shared.Managed {
		return ruling{}, nil
	}
	var out ruling
	managed := a.how.Shared.askManager(c, a.Key("discuss"), func(c flow.Ctx) (err error) {
		out, err = a.deliberate(c, claim, r)
		return err
	})
	if _, err := managed.Get(c); err != nil {
		return ruling{}, err
	}
	if len(r.Blocking()) > 0 {
		out.land = false
	}
	if a.loop.Left() == 0 {
		out.rework = false
	}
	return out, nil
}

// deliberate is the manager's session over a review.
func (a *reviews) deliberate(c flow.Ctx, claim agency.Claim, r agency.Review) (ruling, error) {
	id := agency.MessageID(fmt.Sprintf("%s/%s/review-%s", a.in.Run, a.Contract.ID, a.nth()))
	m := NewStarted(a.in, a.discussion(claim, r), Work{Many: true, answers: id, Shared: a.how.Shared})
	out, err := m.CreateAndConverse(c)
	if err != nil {
		return ruling{}, err
	}
	if out.Kind != session.Reported {
		why := cmp.Or(out.Reason, string(out.Kind))
		end := ruling{text: "The project manager gave no decision: " + why}
		if out.Kind == session.Stopped {
			end.stop = why
		}
		return end, m.Withdraw(c, end.text)
	}
	return readRuling(out.Report), m.ClaimComplete(c)
}

// discussion is what the manager's session holds: both sides.
func (a *reviews) discussion(claim agency.Claim, r agency.Review) agency.Contract {
	doc, err := json.MarshalIndent(a.Contract, "", "  ")
	if err != nil { // came from JSON
		doc = []byte(a.Contract.ID)
	}
	var said strings.Builder
	said.WriteString(claim.Summary + "\n")
	for _, e := range claim.Evidence {
		fmt.Fprintf(&said, "- %s: %s %s\n", e.Criterion, e.Kind, e.Ref)
	}
	c := PlanContract(a.in)
	c.ID, c.ParentID, c.RetryBudget = questionID(a.Contract.ID, "review-"+a.nth()), a.Contract.ID, 1
	c.Title = text.FirstLine("Decide on the review of "+string(a.Contract.ID)+": "+r.Summary, 100)
	c.Description = a.in.Goal + "\n\n" + strings.TrimSpace(discussWords)
	c.AcceptanceCriteria = []agency.Criterion{{ID: "decision", Text: "it is decided how the work goes on, and the reason is said"}}
	c.Inputs = map[string]string{
		"question": r.Summary, "critic": brief.ChangesText(r), "engineer": said.String(), "contract": string(doc),
	}
	return c
}

// withRuling is a review with the manager's decision as what must be done.
func withRuling(r agency.Review, text string) agency.Review {
	r.Verdict = agency.ReviewChanges
	r.Conditions = append(slices.Clone(r.Conditions), "decided by the project manager: "+text)
	return r
}
