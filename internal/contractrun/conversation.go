package contractrun

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/roster"
	"agency/internal/session"
)

// conversation is the session that works on a contract.
type conversation struct {
	*state
	waiting   *waiting
	going     session.Spec // the conversation at work
	claimCall string       // the tool call that made its last claim
}

// converse is the session of an attempt.
func (a *conversation) converse(c flow.Ctx) (session.Outcome, error) {
	spec, err := a.sessionSpec(c)
	if err != nil {
		return session.Outcome{}, err
	}
	return a.parts(c, spec)
}

// goOn goes on with the conversation that made the last claim, or that has spoken last.
func (a *conversation) goOn(c flow.Ctx, say *session.Answer) (session.Outcome, error) {
	spec := a.going
	say.ToolUse, spec.Answer = a.claimCall, say
	return a.parts(c, spec)
}

// beginAfresh is a new conversation in the same attempt.
func (a *conversation) beginAfresh(c flow.Ctx) (session.Outcome, error) {
	spec, err := a.sessionSpec(c)
	if err != nil {
		return session.Outcome{}, err
	}
	spec.Round, spec.GoesOn = a.round, ""
	spec.Feedback = &session.Feedback{
		Attempt: a.N, Reason: "the same issues came back: " + a.loop.History()[len(a.loop.History())-1].Line(), Reviews: a.loop.History(),
	}
	return a.parts(c, spec)
}

// sessionSpec is the session of an attempt before its first part.
func (a *conversation) sessionSpec(c flow.Ctx) (session.Spec, error) {
	level, err := a.level(c)
	if err != nil {
		return session.Spec{}, err
	}
	spec := session.Spec{
		Run: a.in.Run, Contract: a.Contract.ID, Role: a.role, Agent: a.Agent(), Attempt: a.N, Staged: a.how.Staged, Level: level,
		Line: a.how.Shared.Line, Tier: a.Contract.Tier, Leader: a.how.Shared.Lead.Role, Post: a.Contract.Post,
	}
	if roster.Leads(a.role) && !a.how.Many {
		spec.MaxContracts = 1
	}
	spec.Drafts = a.how.Drafts
	spec.Report, spec.Answers, spec.Leads, spec.Hand = a.how.Report, a.how.answers, a.how.Agents.Open(), a.hands
	if a.how.InTeam {
		spec.Onto = a.base
	}
	if before := a.how.Before; a.N == 1 {
		spec.GoesOn = a.how.GoesOn
		spec.From = before.Tree
		if before.Feedback.Reason != "" {
			spec.Feedback = &before.Feedback
		}
	}
	if a.N > 1 {
		told := a.Feedback
		told.TakenBack = a.takenBack()
		spec.Feedback = &told
	}
	return spec, nil
}

// takenBack is where an attempt begins that does not go on from the files as the one
// before left them. That others were faster is no fault of what it made.
func (a *conversation) takenBack() *agency.TakenBack {
	if roster.Leads(a.role) || a.Feedback.Conflict != nil {
		return nil
	}
	base := a.base
	if before := a.how.Before.Tree; before != "" && base == a.how.Base {
		base = before
	}
	back := agency.AfterFailure(a.in.Rollback, a.Feedback.Rollback, a.Tree, base, a.tried)
	if back != nil {
		back.Left = fmt.Sprintf("left-by-attempt-%d", a.Feedback.Attempt)
	}
	return back
}

// parts carries a conversation on, part after part: whenever it parks, what it
// waits for is met and it goes on with the answer.
func (a *conversation) parts(c flow.Ctx, spec session.Spec) (session.Outcome, error) {
	for {
		spec.Part++
		part := spec.Part
		a.waiting.begin()
		out, err := flow.Call(c, session.Activity, a.Key(fmt.Sprintf("session/%d", part)), spec)
		if out.Tree != "" {
			a.Tree = out.Tree
		}
		if next, ok := a.afresh(spec, out); ok && err == nil {
			spec = next
			continue
		}
		if err != nil || out.Kind != session.Parked || a.how.Returns && out.Broadcast() != "" {
			a.going, a.claimCall = spec, out.ToolUse
			return out, err
		}
		if err := a.Advance(c, fmt.Sprintf("park/%d", part), agency.Parking{For: string(out.For)}); err != nil {
			return out, err
		}
		at := waitPoint{name: fmt.Sprintf("%d-%d", a.N, part), key: fmt.Sprint(part)}
		if spec.Round > 0 {
			at.name = fmt.Sprintf("%d-r%d-%d", a.N, spec.Round, part)
		}
		if spec.Hand > 0 {
			at.name += fmt.Sprintf("-h%d", spec.Hand)
		}
		if spec.Fresh > 0 {
			at.name += fmt.Sprintf("-f%d", spec.Fresh)
		}
		answer, stop, err := a.waiting.wait(c, out, at)
		if err != nil {
			return out, err
		}
		if stop != "" {
			return session.Outcome{Kind: session.Stopped, Reason: stop}, nil
		}
		on := agency.Unparked{}
		if out.Handoff != nil && answer == nil {
			on.Agent = a.Agent()
			spec = a.takenOver(spec, out.Tree)
		}
		if err := a.Advance(c, fmt.Sprintf("unpark/%d", part), on); err != nil {
			return out, err
		}
		spec.Answer = answer
		if out.For == session.ForAgents || answer != nil && answer.Moved {
			spec.Onto = a.base
		}
	}
}

// afresh is a new conversation of the same attempt, on the same files and model: in the
// place of one that the overseer halted, once, with what the store knows instead of what was
// said, or of one that has used up what it may without a nudge, with the record that it left.
// Where there is none, the next attempt asks the next model.
func (a *conversation) afresh(spec session.Spec, out session.Outcome) (session.Spec, bool) {
	told := session.Feedback{Attempt: a.N, Reason: out.Reason, Reviews: a.open()}
	switch {
	case !out.Afresh || roster.Leads(a.role):
		return spec, false
	case out.Learnt != "" && a.fresh.n < roster.MostSessions(a.role)-1:
		if before := spec.Feedback; before != nil { // what the attempt mends is still to be mended
			told = *before
			told.TakenBack, told.Attempt = nil, a.N
			if before.Attempt != a.N {
				told.Reason = out.Reason + "; before this attempt: " + before.Reason
			}
		}
		told.Learnt = out.Learnt
	case out.Learnt == "" && !a.fresh.halted:
		a.fresh.halted = true
	default:
		return spec, false
	}
	a.fresh.n++
	spec.Fresh, spec.Part, spec.Answer, spec.From, spec.GoesOn = a.fresh.n, 0, nil, "", ""
	spec.Feedback = &told
	return spec, true
}

// takenOver is the conversation of who goes on with a contract.
func (a *conversation) takenOver(spec session.Spec, tree agency.OID) session.Spec {
	spec.Role, spec.Agent, spec.Hand = a.role, a.Agent(), a.hands
	spec.Part, spec.Answer, spec.From, spec.GoesOn = 0, nil, tree, ""
	if f := spec.Feedback; f != nil { // it goes on from the files as they were handed over
		told := *f
		told.TakenBack, spec.Feedback = nil, &told
	}
	return spec
}
