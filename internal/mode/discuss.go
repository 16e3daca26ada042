package mode

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/flow"
	"agency/internal/session"
)

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

// rule has a team's manager decide on a review that wants a discussion, before
// a person is asked. Work that the harness would not let a critic approve of is
// not the manager's to let land either.
func (a *attempts) rule(c flow.Ctx, claim agency.Claim, r agency.Review) (ruling, error) {
	if a.crew == nil || flow.Version(c, "discuss", 1) < 1 {
		return ruling{}, nil
	}
	var out ruling
	before := a.crew.answering
	managed := flow.Go(c, a.key("discuss"), func(c flow.Ctx) (err error) {
		if before != nil {
			_, _ = before.Get(c) // one at a time: it is one manager
		}
		out, err = a.deliberate(c, claim, r)
		return err
	})
	a.crew.answering = &managed
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
func (a *attempts) deliberate(c flow.Ctx, claim agency.Claim, r agency.Review) (ruling, error) {
	id := agency.MessageID(fmt.Sprintf("%s/%s/review-%s", a.in.Run, a.contract.ID, a.nth()))
	m := &attempts{in: a.in, contract: a.discussion(claim, r), role: manager, how: workOn{many: true, answers: id}, crew: a.crew, n: 1}
	if _, err := flow.Call(c, createContract, path(m.contract.ID, "create"), m.contract); err != nil {
		return ruling{}, err
	}
	if err := m.advance(c, "start", step{Started: &agency.Started{Agent: m.agent()}}); err != nil {
		return ruling{}, err
	}
	out, err := m.work(c)
	if err != nil {
		return ruling{}, err
	}
	if out.Kind != session.Reported {
		why := orElse(out.Reason, string(out.Kind))
		end := ruling{text: "The project manager gave no decision: " + why}
		if out.Kind == session.Stopped {
			end.stop = why
		}
		return end, m.withdraw(c, end.text)
	}
	if err := m.advance(c, "claim", step{ClaimMade: &agency.ClaimMade{}}); err != nil {
		return ruling{}, err
	}
	return readRuling(out.Report), m.accept(c)
}

// discussion is what the manager's session holds: both sides.
func (a *attempts) discussion(claim agency.Claim, r agency.Review) agency.Contract {
	doc, err := json.MarshalIndent(a.contract, "", "  ")
	if err != nil { // came from JSON
		doc = []byte(a.contract.ID)
	}
	var said strings.Builder
	said.WriteString(claim.Summary + "\n")
	for _, e := range claim.Evidence {
		fmt.Fprintf(&said, "- %s: %s %s\n", e.Criterion, e.Kind, e.Ref)
	}
	c := planContract(a.in)
	c.ID, c.ParentID, c.RetryBudget = questionID(a.contract.ID, "review-"+a.nth()), a.contract.ID, 1
	c.Title = firstLine("Decide on the review of " + string(a.contract.ID) + ": " + r.Summary)
	c.Description = a.in.Goal + "\n\n" + strings.TrimSpace(discussWords)
	c.AcceptanceCriteria = []agency.Criterion{{ID: "decision", Text: "it is decided how the work goes on, and the reason is said"}}
	c.Inputs = map[string]string{
		"question": r.Summary, "critic": brief.ChangesText(r), "engineer": said.String(), "contract": string(doc),
	}
	return c
}

// ruled is a review with the manager's decision as what must be done.
func ruled(r agency.Review, text string) agency.Review {
	r.Verdict = agency.ReviewChanges
	r.Conditions = append(slices.Clone(r.Conditions), "decided by the project manager: "+text)
	return r
}
