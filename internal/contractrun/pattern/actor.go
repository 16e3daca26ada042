package pattern

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/roster/agentfile"
	"agency/internal/session"
	"agency/internal/text"
)

// actor is one agent at work at one place, with those that it has called.
type actor struct {
	*play
	at       stage
	run      *contractrun.Run
	calls    int
	children []*child
	over     bool
}

// child is an agent that was called, with whatever its work went on to. Frozen, it can be
// asked again.
type child struct {
	*line
	id   agency.ContractID // by which it is asked again
	name string            // that was called
	chat bool
	left int // turns
	gone bool
}

func newActor(p *play, s stage, f agentfile.File, input string) *actor {
	a := &actor{play: p, at: s}
	how := p.shared.Work()
	how.Agents, how.Returns = a, s.team != ""
	a.run = contractrun.NewStarted(agency.Contract{
		ID: s.id(), RunID: p.shared.Run, AssignedRole: agency.RoleAgent, Title: text.FirstLine(f.Name+": "+input, 100), Description: input, RetryBudget: 1,
		Post: &agency.Post{Agent: f.Name, Reached: s.reached, From: s.from, Team: s.team, Supervises: s.supervises, Turns: s.turns, Optional: s.optional, Caps: s.caps},
	}, how)
	p.actors = append(p.actors, a)
	return a
}

func (a *actor) id() agency.ContractID { return a.run.Contract.ID }

// begin is its session, to where it ends or speaks first. Whoever hands over to it, where
// there is one, ends with it.
func (a *actor) begin(c flow.Ctx, after *actor) (session.Outcome, error) {
	var from agency.ContractID
	if after != nil {
		done, err := after.release(c)
		if err != nil {
			return session.Outcome{}, err
		}
		if !done {
			from = after.id()
		}
	}
	if err := a.run.Begin(c, from); err != nil {
		return session.Outcome{}, err
	}
	return a.run.Converse(c)
}

// end ends it with its answer, and those that it has called; once.
func (a *actor) end(c flow.Ctx) error {
	if done, err := a.release(c); done || err != nil {
		return err
	}
	return a.run.Answered(c)
}

// fail ends it without an answer.
func (a *actor) fail(c flow.Ctx, reason string) error {
	if done, err := a.release(c); done || err != nil {
		return err
	}
	return a.run.GiveUp(c, reason)
}

// dismiss ends it because its team has ended.
func (a *actor) dismiss(c flow.Ctx) error {
	if done, err := a.release(c); done || err != nil {
		return err
	}
	return a.run.Withdraw(c, "its team has ended")
}

// release lets go of those that it has called; done says that it has ended before.
func (a *actor) release(c flow.Ctx) (done bool, err error) {
	if a.over {
		return true, nil
	}
	a.over = true
	for _, k := range a.children {
		if err := k.leave(c); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (k *child) leave(c flow.Ctx) error {
	if k.gone {
		return nil
	}
	k.gone = true
	return k.end(c)
}

// An actor is asked by its session for what it wants of others.
var _ contractrun.Agents = (*actor)(nil)

// Open is for contractrun.Agents: it plans nothing.
func (a *actor) Open() bool { return false }

// Over is for contractrun.Agents.
func (a *actor) Over() (bool, string, error) { return false, "", nil }

// Begun is for contractrun.Agents.
func (a *actor) Begun() string { return "" }

// Answer carries out what the session asks of agents in one turn: calls run beside each
// other, and questions to one agent one after the other.
func (a *actor) Answer(c flow.Ctx, out session.Outcome, key string) (*session.Answer, agency.OID, string, error) {
	replies, stops := make([]session.Reply, len(out.Asks)), make([]string, len(out.Asks))
	queues := map[*child][]int{}
	var order []*child
	var all []flow.Future[flow.None]
	for i, ask := range out.Asks {
		replies[i].ToolUse = ask.ToolUse
		switch {
		case ask.Call != nil:
			k := a.child(ask.Call.Agent, ask.Call.MaxTokens)
			all = append(all, flow.Go(c, contractrun.Path(key, i), func(c flow.Ctx) (err error) {
				stops[i], err = k.call(c, ask.Call.Prompt, &replies[i])
				return err
			}))
		case ask.Again != nil || ask.Release != "":
			k, why := a.live(ask)
			if k == nil {
				refuse(&replies[i], "%s", why)
				continue
			}
			if queues[k] == nil {
				order = append(order, k)
			}
			queues[k] = append(queues[k], i)
		default: // it speaks in no team
			refuse(&replies[i], "you are in no team")
		}
	}
	for _, k := range order {
		all = append(all, flow.Go(c, contractrun.Path(key, "again", queues[k][0]), func(c flow.Ctx) error {
			for _, i := range queues[k] {
				var err error
				if stops[i], err = k.ask(c, a.at.chain, out.Asks[i], &replies[i]); err != nil || stops[i] != "" {
					return err
				}
			}
			return nil
		}))
	}
	for _, one := range all {
		if _, err := one.Get(c); err != nil {
			return nil, "", "", err
		}
	}
	for _, stop := range stops {
		if stop != "" {
			return nil, "", stop, nil
		}
	}
	for i := range replies {
		replies[i].Text = framed(replies[i].Text)
	}
	if list := a.listed(); list != "" && len(replies) > 0 {
		replies[len(replies)-1].Text += "\n\n" + list
	}
	return &session.Answer{ToolUse: out.ToolUse, Replies: replies}, "", "", nil
}

func refuse(r *session.Reply, format string, args ...any) {
	r.Text, r.Refused = "error: "+fmt.Sprintf(format, args...), true
}

// child is one more that is called; tokens are the most that the call may use, 0: any.
func (a *actor) child(name string, tokens int64) *child {
	a.calls++
	s := a.at.at(fmt.Sprintf("call-%d", a.calls), name, agency.ReachedSubAgent)
	s.from = a.id()
	if tokens > 0 {
		s.caps = append(slices.Clone(s.caps), agency.Cap{Call: s.id(), Tokens: tokens})
	}
	k := &child{line: &line{play: a.play, at: s}, name: name}
	a.children = append(a.children, k)
	return k
}

// call has the child answer a prompt.
func (k *child) call(c flow.Ctx, prompt string, r *session.Reply) (stop string, err error) {
	out, err := k.begin(c, k.at, prompt)
	if err != nil || out.stop != "" {
		return out.stop, err
	}
	if out.failure != "" {
		k.gone = true
		refuse(r, "%s gave no answer: %s", k.name, out.failure)
		return "", nil
	}
	k.id, r.Text = k.act.id(), out.text
	last, _ := k.cast.Find(k.act.at.agent)
	if k.chat, k.left = last.Chat, out.end.Left; !k.chat {
		return "", k.leave(c)
	}
	return "", nil
}

// live finds the child that is asked again or let go, or says why there is none.
func (a *actor) live(ask session.AgentsAsk) (k *child, why string) {
	id := ask.Release
	if ask.Again != nil {
		id = ask.Again.ID
	}
	i := slices.IndexFunc(a.children, func(k *child) bool { return k.id != "" && k.id == id })
	switch {
	case i < 0:
		list := a.listed()
		if list == "" {
			list = "No agent of yours stays."
		}
		return nil, fmt.Sprintf("no agent of yours has the id %q. %s", text.Head(string(id), 80), list)
	case !a.children[i].chat:
		return nil, "chat_disabled: " + a.children[i].name + " cannot be asked again; call it with all that it has to know"
	case a.children[i].gone:
		return nil, fmt.Sprintf("%s is gone: it has ended and is asked no more; call it anew", id)
	}
	return a.children[i], ""
}

// ask asks the child more, or lets it go.
func (k *child) ask(c flow.Ctx, path []string, ask session.AgentsAsk, r *session.Reply) (stop string, err error) {
	switch {
	case k.gone: // by a call of the same turn
		refuse(r, "%s is gone: it has ended and is asked no more", k.id)
		return "", nil
	case ask.Again == nil:
		r.Text = string(k.id) + " has ended"
		return "", k.leave(c)
	case k.left <= 0:
		refuse(r, "clarification_no_turns: %s has no turns left; call it anew", k.id)
		return "", nil
	}
	out, err := k.further(c, session.Answer{Say: fmt.Sprintf("## CLARIFICATION REQUEST FROM %s\n\n%s", strings.Join(path, "/"), framed(ask.Again.Question))})
	if err != nil || out.stop != "" {
		return out.stop, err
	}
	if out.failure != "" {
		k.gone = true
		refuse(r, "%s gave no answer and is gone: %s", k.id, out.failure)
		return "", nil
	}
	k.left, r.Text = out.end.Left, out.text
	return "", nil
}

// further has the child go on until it has answered: who led a team speaks to nobody now.
func (k *child) further(c flow.Ctx, say session.Answer) (said, error) {
	out, err := k.goOn(c, say)
	for err == nil && out.more {
		out, err = k.goOn(c, session.Answer{Replies: []session.Reply{{ToolUse: out.call, Text: "error: the team's work has ended, and nobody hears it. End by final_report.", Refused: true}}})
	}
	return out, err
}

// listed names those that can be asked again; empty: nobody.
func (a *actor) listed() string {
	var lines []string
	for _, k := range a.children {
		if k.chat && !k.gone {
			lines = append(lines, fmt.Sprintf("- %s: %s, %s left", k.id, k.name, agency.Things(k.left, "turn", "turns")))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Agents that you can ask again, by clarification_id:\n" + strings.Join(lines, "\n")
}
