package mode

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/session"
)

// The roles of these modes; each has one agent, of the same name.
const (
	generalist = "generalist"
	manager    = "project_manager"
)

// resume is the signal by which a person lets a paused run go on.
var resume = flow.Signal[struct{}]{Name: "resume"}

// ResumeSignal is the name under which the host sends a resume.
const ResumeSignal = "resume"

// key is the key of a step of the attempt, of its round and of who has it.
func (a *attempts) key(step string) string {
	if a.round > 1 {
		step = path(fmt.Sprintf("round-%d", a.round), step)
	}
	if a.hands > 0 {
		step = path(fmt.Sprintf("hand-%d", a.hands), step)
	}
	return path(a.contract.ID, fmt.Sprintf("attempt-%d", a.n), step)
}

// work is the session of an attempt.
func (a *attempts) work(c flow.Ctx) (session.Outcome, error) {
	spec, err := a.spec(c)
	if err != nil {
		return session.Outcome{}, err
	}
	return a.parts(c, spec)
}

// workOn goes on with the conversation that made the last claim.
func (a *attempts) workOn(c flow.Ctx, say *session.Answer) (session.Outcome, error) {
	spec := a.going
	say.ToolUse, spec.Answer = a.claimCall, say
	return a.parts(c, spec)
}

// spec is the session of an attempt before its first part.
func (a *attempts) spec(c flow.Ctx) (session.Spec, error) {
	level, err := a.level(c)
	if err != nil {
		return session.Spec{}, err
	}
	spec := session.Spec{
		Run: a.in.Run, Contract: a.contract.ID, Role: a.role, Agent: a.agent(), Attempt: a.n, Staged: a.how.staged, Level: level,
	}
	if a.role == manager && !a.how.many {
		spec.MaxContracts = 1
	}
	spec.Report, spec.Answers, spec.Leads, spec.Hand = a.how.report, a.how.answers, a.leads(c), a.hands
	if a.slot != nil {
		spec.Onto = a.base
	}
	if before := a.how.before; before != nil && a.n == 1 {
		spec.From = before.tree
		if before.feedback.Reason != "" {
			spec.Feedback = &before.feedback
		}
	}
	if a.n > 1 {
		spec.Feedback = &a.feedback
	}
	return spec, nil
}

// parts carries a conversation on, part after part: whenever it parks, what it
// waits for is met and it goes on with the answer.
func (a *attempts) parts(c flow.Ctx, spec session.Spec) (session.Outcome, error) {
	for {
		spec.Part++
		part := spec.Part
		if a.crew != nil {
			a.raises = a.crew.raises
		}
		out, err := flow.Call(c, session.Activity, a.key(fmt.Sprintf("session/%d", part)), spec)
		if out.Tree != "" {
			a.tree = out.Tree
		}
		if err != nil || out.Kind != session.Parked {
			a.going, a.claimCall = spec, out.ToolUse
			return out, err
		}
		if err := a.advance(c, fmt.Sprintf("park/%d", part), step{Parking: &agency.Parking{For: string(out.For)}}); err != nil {
			return out, err
		}
		at := place{name: fmt.Sprintf("%d-%d", a.n, part), key: fmt.Sprint(part)}
		if spec.Round > 0 {
			at.name = fmt.Sprintf("%d-r%d-%d", a.n, spec.Round, part)
		}
		if spec.Hand > 0 {
			at.name += fmt.Sprintf("-h%d", spec.Hand)
		}
		answer, stop, err := a.wait(c, out, at)
		if err != nil {
			return out, err
		}
		if stop != "" {
			return session.Outcome{Kind: session.Stopped, Reason: stop}, nil
		}
		on := agency.Unparked{}
		if out.Handoff != nil && answer == nil {
			on.Agent = a.agent()
			spec = a.takenOver(spec, out.Tree)
		}
		if err := a.advance(c, fmt.Sprintf("unpark/%d", part), step{Unparked: &on}); err != nil {
			return out, err
		}
		spec.Answer = answer
		if out.For == session.ForAgents || answer != nil && answer.Moved {
			spec.Onto = a.base
		}
	}
}

// place is where a session waits: in the names of gates, and in keys.
type place struct{ name, key string }

// wait is meet without a slot, so that who waits holds up nobody; all but in a
// paused run.
func (a *attempts) wait(c flow.Ctx, out session.Outcome, at place) (*session.Answer, string, error) {
	from := a.clock(c, at.key+"/from")
	leaves := a.leaves(c, out)
	if leaves {
		if err := a.slot.Leave(c, out.For == session.ForHuman || out.For == session.ForBudget); err != nil {
			return nil, "", err
		}
	}
	answer, stop, err := a.meet(c, out, at)
	if err != nil {
		return nil, "", err
	}
	if a.loop != nil && (out.Change == nil || a.admitsFixes(c)) {
		a.loop.waited += a.clock(c, at.key+"/to").Sub(from)
	}
	if !leaves {
		return answer, stop, nil
	}
	return answer, stop, a.slot.Return(c)
}

// leaves tells whether a session waits without its slot. Who has a bug mended
// lends it to that, a handoff sees to it itself; and in a paused run nobody is to
// begin in its place, only to rest, too.
func (a *attempts) leaves(c flow.Ctx, out session.Outcome) bool {
	switch {
	case out.Change != nil || out.Handoff != nil:
		return false
	case out.For == session.ForPause && a.slot != nil:
		return flow.Version(c, "rests", 1) < 1
	}
	return true
}

// meet waits for what a parked session needs. Stop is the reason why the run
// must end instead.
func (a *attempts) meet(c flow.Ctx, out session.Outcome, at place) (answer *session.Answer, stop string, err error) {
	switch {
	case out.Change != nil:
		return a.meetChange(c, out, at)
	case out.Handoff != nil:
		return a.meetHandoff(c, out, at)
	}
	if over, stop, err := a.team.isOver(c); over {
		return nil, stop, err
	}
	name := fmt.Sprintf("%s-%s", a.contract.ID, at.name)
	key := a.key("resume/" + at.key)
	if a.how.report {
		return a.atTheEnd(c, out, key)
	}
	switch out.For {
	case session.ForPause:
		if a.crew != nil {
			return nil, "", a.crew.resumed(c, key)
		}
		_, err := flow.Receive(c, resume, key)
		return nil, "", err
	case session.ForBudget:
		return a.meetBudget(c, out, name)
	case session.ForHuman:
		return a.meetQuestion(c, out, name)
	case session.ForInbox:
		return a.meetInbox(c, out, at)
	case session.ForAgents:
		if a.team != nil {
			return a.team.meetAgents(c, a, out, key)
		}
	}
	return nil, fmt.Sprintf("a session waits for %q, which nothing in this mode can give", out.For), nil
}

func (a *attempts) meetQuestion(c flow.Ctx, out session.Outcome, name string) (*session.Answer, string, error) {
	d, err := ask(c, agency.Gate{
		ID: gateID(a.in.Run, "question-"+name), RunID: a.in.Run, Kind: agency.GateQuestion,
		ContractID: a.contract.ID, Summary: firstLine(out.Question), Body: out.Question, Options: out.Options,
	})
	if err != nil {
		return nil, "", err
	}
	if d.Verb == agency.Reject {
		return &session.Answer{ToolUse: out.ToolUse, Text: "No answer was given: " + orElse(d.Note, "the person declined") + ". Go on with your own judgement and say in your evidence what you assumed."}, "", nil
	}
	return &session.Answer{ToolUse: out.ToolUse, Text: d.Answer(out.Options)}, "", nil
}

func (a *attempts) meetBudget(c flow.Ctx, out session.Outcome, name string) (*session.Answer, string, error) {
	if a.crew != nil {
		stop, err := a.crew.budget(c, a.key("budget"), out, a.raises)
		return nil, stop, err
	}
	d, err := askBudget(c, a.in, a.contract.ID, "budget-"+name, a.key("raise/budget-"+name), out)
	if err == nil && d.Verb == agency.Reject {
		return nil, noBudget + out.Reason, nil
	}
	return nil, "", err
}

// ask opens a gate and waits for its one decision.
func ask(c flow.Ctx, g agency.Gate) (agency.Decision, error) {
	if _, err := flow.Call(c, openGate, path("gate", string(g.ID)), g); err != nil {
		return agency.Decision{}, err
	}
	return flow.Receive(c, GateSignal(g.ID), path("answer", string(g.ID)))
}

// GateSignal is the signal that carries a gate's decision into the run; the
// host sends it in the transaction that records the decision.
func GateSignal(id agency.GateID) flow.Signal[agency.Decision] {
	return flow.Signal[agency.Decision]{Name: "gate/" + string(id)}
}

// gateID derives a gate's id from the step that opens it.
func gateID(run agency.RunID, name string) agency.GateID {
	return agency.GateID(string(run) + "." + name)
}

func path(parts ...any) string {
	s := make([]string, len(parts))
	for i, p := range parts {
		s[i] = fmt.Sprint(p)
	}
	return strings.Join(s, "/")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(line); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return line
}

func firstReason(v agency.Verdict) string {
	if len(v.Reasons) == 0 {
		return "the claim was not verified"
	}
	return v.Reasons[0]
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
