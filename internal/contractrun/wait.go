package contractrun

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/report"
	"agency/internal/session"
	"agency/internal/text"
)

// waitPoint is where a session waits: in the names of gates, and in keys.
type waitPoint struct{ name, key string }

// waiting is what a contract does while its session is parked.
type waiting struct {
	*state
	raises     int  // of the budget, when the part at work began
	outOfMoney bool // it ends for want of money, and nothing else does
	denied     bool // a person granted no more money
}

// begin notes that a part of a session begins.
func (a *waiting) begin() { a.raises = a.how.Shared.raises }

// wait is answerFor without a slot, so that who waits holds up nobody; all but in a
// paused run.
func (a *waiting) wait(c flow.Ctx, out session.Outcome, at waitPoint) (*session.Answer, string, error) {
	from := a.clock(c, at.key+"/from")
	leaves := a.leaves(out)
	if leaves {
		if err := a.how.Slot.Leave(c, out.For == session.ForHuman || out.For == session.ForBudget); err != nil {
			return nil, "", err
		}
	}
	answer, stop, err := a.answerFor(c, out, at)
	if err != nil {
		return nil, "", err
	}
	if a.loop.on {
		a.loop.waited += a.clock(c, at.key+"/to").Sub(from)
	}
	if !leaves {
		return answer, stop, nil
	}
	return answer, stop, a.how.Slot.Return(c)
}

// leaves tells whether a session waits without its slot. Who has a bug mended
// lends it to that, a handoff sees to it itself; and in a paused run nobody is to
// begin in its place, only to rest, too.
func (a *waiting) leaves(out session.Outcome) bool {
	rests := out.For == session.ForPause && a.how.InTeam
	return out.Change == nil && out.Handoff == nil && !rests
}

// answerFor waits for what a parked session needs. Stop is the reason why the run
// must end instead.
func (a *waiting) answerFor(c flow.Ctx, out session.Outcome, at waitPoint) (answer *session.Answer, stop string, err error) {
	switch {
	case out.Change != nil:
		return a.waitForFix(c, out, at)
	case out.Handoff != nil:
		return a.waitForHandoff(c, out, at)
	}
	if over, stop, err := a.how.Agents.Over(); over {
		return nil, stop, err
	}
	name := fmt.Sprintf("%s-%s", a.Contract.ID, at.name)
	key := a.Key("resume/" + at.key)
	if a.how.Report {
		return a.atTheEnd(c, out, key)
	}
	switch out.For {
	case session.ForPause:
		return nil, "", a.how.Shared.resumed(c, key)
	case session.ForBudget:
		return a.waitForBudget(c, out, name)
	case session.ForHuman:
		return a.askPerson(c, out, name)
	case session.ForInbox:
		return a.waitForReply(c, out, at)
	case session.ForAgents:
		answer, base, stop, err := a.how.Agents.Answer(c, out, key)
		if base != "" {
			a.base = base
		}
		return answer, stop, err
	}
	return nil, nobodyAnswers(out), nil
}

func (a *waiting) askPerson(c flow.Ctx, out session.Outcome, name string) (*session.Answer, string, error) {
	d, err := Ask(c, agency.Gate{
		ID: GateID(a.in.Run, "question-"+name), RunID: a.in.Run, Kind: agency.GateQuestion,
		ContractID: a.Contract.ID, Summary: text.FirstLine(out.Question, 100), Body: report.Quote(out.Question), Options: out.Options,
	})
	if err != nil {
		return nil, "", err
	}
	return &session.Answer{ToolUse: out.ToolUse, Text: decisionText(d, out.Options)}, "", nil
}

func (a *waiting) waitForBudget(c flow.Ctx, out session.Outcome, name string) (*session.Answer, string, error) {
	if a.how.Shared.managed {
		stop, err := a.how.Shared.budget(c, a.Key("budget"), out, a.raises)
		return nil, stop, err
	}
	d, err := askBudget(c, a.in, a.Contract.ID, "budget-"+name, a.Key("raise/budget-"+name), out)
	if err == nil && d.Verb == agency.Reject {
		a.denied = true
		return nil, noBudget + out.Reason, nil
	}
	return nil, "", err
}

// unasked is the answer to a manager that asks for something at the end.
const unasked = "Nobody is asked any more: the run is at its end. Write the report with what you know."

// atTheEnd meets what the manager's last session waits for without asking a
// person for anything: it ends without words instead.
func (a *waiting) atTheEnd(c flow.Ctx, out session.Outcome, key string) (answer *session.Answer, stop string, err error) {
	switch out.For {
	case session.ForPause:
		return nil, "", a.how.Shared.resumed(c, key)
	case session.ForBudget:
		a.outOfMoney = true
		return nil, "no money is left for it: " + out.Reason, nil
	}
	return &session.Answer{ToolUse: out.ToolUse, Text: unasked}, "", nil
}
