// Package pattern is a composition of agents that answers an input: advisors before an
// agent, what it hands over to, a team with its supervisor, and agents that call others and
// ask them again (docs/design.md, Patterns). Everything nests, for each is an agent that is
// given an input and gives an answer.
//
// Code here is deterministic: each agent is a session of contractrun, and what it comes to
// is decided from how its parts ended.
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
)

// Input is what an agent is asked.
type Input struct {
	contractrun.Facts
	Cast  agentfile.Cast
	Agent string
	Text  string
}

// End is what came of it: an answer, or the reason why there is none.
type End struct {
	Answer  string
	Failure string
}

// Play has an agent of a cast answer an input, with all that it comes to.
func Play(c flow.Ctx, in Input) (End, error) {
	p := &play{cast: in.Cast, shared: contractrun.Team(in.Facts, contractrun.Lead{})}
	l := &line{play: p}
	out, err := l.begin(c, stage{agent: in.Agent, reached: agency.ReachedRun, chain: []string{in.Agent}}, in.Text)
	if err != nil {
		return End{}, err
	}
	end := End{Answer: out.text, Failure: out.stop + out.failure}
	if end.Failure != "" {
		return End{Failure: end.Failure}, p.close(c, end.Failure)
	}
	return end, l.end(c)
}

// close ends all that have not ended, where nobody is to answer any more.
func (p *play) close(c flow.Ctx, why string) error {
	for _, a := range p.actors {
		if a.over {
			continue
		}
		a.over = true
		if err := a.run.Withdraw(c, why); err != nil {
			return err
		}
	}
	return nil
}

// play is what all agents of a composition share.
type play struct {
	cast   agentfile.Cast
	shared *contractrun.Shared
	actors []*actor // all that began, in order
}

// stage is a place in the composition with the agent that is to work there.
type stage struct {
	agent   string
	place   string // from the start on; unique in the run, with the agent
	reached agency.Reached
	from    agency.ContractID
	team    string // in which whoever answers speaks
	turns   int    // the most that each of its agents has; 0: as their files say
	// supervises says that the agent leads the team.
	supervises bool
	optional   bool // others go on without it
	caps       []agency.Cap
	chain      []string // the agents by which it was reached, itself the last
}

func (s stage) id() agency.ContractID { return agency.PostID(s.place, s.agent) }

// at is a place below this one.
func (s stage) at(step, agent string, reached agency.Reached) stage {
	helps := reached == agency.ReachedAdvisor || reached == agency.ReachedMember || reached == agency.ReachedSubAgent
	return stage{
		agent: agent, place: s.place + "/" + s.agent + "/" + step, reached: reached, from: s.id(), optional: s.optional || helps, caps: s.caps,
		chain: append(slices.Clone(s.chain), agent),
	}
}

// onward is the place after this one, to which the work goes on.
func (s stage) onward(agent string, reached agency.Reached, from agency.ContractID) stage {
	next := s.at("next", agent, reached)
	next.from, next.team, next.turns, next.supervises = from, s.team, s.turns, false
	if s.supervises {
		next.team, next.turns = "", 0
	}
	return next
}

// said is how an agent has ended, or what it has told its team. Exactly one of text,
// failure and stop is set.
type said struct {
	text    string
	failure string
	stop    string // the whole run ends
	// more says that it goes on: text is a broadcast, call the call that made it.
	more bool
	call string
	gone bool // a member's last word says that it could not do its part
	end  session.Outcome
}

func (s said) ended() bool { return s.failure != "" || s.stop != "" }

// line is an agent with whatever its work goes on to: what it comes to is said by the last
// of them.
type line struct {
	*play
	at      stage  // that has the work
	act     *actor // who answered last
	request string // what that stage was given, before its advisors
	among   bool   // the request has words of others, and is framed
	passed  []string
}

// begin has the first of the line work on an input.
func (l *line) begin(c flow.Ctx, s stage, input string) (said, error) {
	l.at, l.request, l.passed = s, input, []string{s.agent}
	return l.work(c, input)
}

// goOn has the line go on that has spoken, or has reported and is asked more.
func (l *line) goOn(c flow.Ctx, say session.Answer) (said, error) {
	out, err := l.act.run.GoOn(c, say)
	if err != nil {
		return said{}, err
	}
	return l.follow(c, saidBy(out))
}

// end lets go of whoever answered, and of those that it has called.
func (l *line) end(c flow.Ctx) error {
	if l.act == nil {
		return nil
	}
	return l.act.end(c)
}

// work has the stage's agent answer its input, and whoever it goes on to.
func (l *line) work(c flow.Ctx, input string) (said, error) {
	f, ok := l.cast.Find(l.at.agent)
	if !ok {
		return said{}, agency.Errorf(agency.KindInternal, "agent %s is none of the run's", l.at.agent)
	}
	input, stop, err := l.advised(c, f, input)
	if err != nil || stop != "" {
		return said{stop: stop}, err
	}
	if f.Team != nil {
		out, err := l.team(c, f, input, l.among || len(f.Advisors) > 0)
		if err != nil {
			return said{}, err
		}
		return l.follow(c, out)
	}
	s := l.at
	if f.Handoff != "" && !s.supervises { // another one is the line's voice
		s.team, s.turns = "", 0
	}
	before := l.act
	l.act = newActor(l.play, s, f, input)
	out, err := l.act.begin(c, before)
	if err != nil {
		return said{}, err
	}
	return l.follow(c, saidBy(out))
}

// follow goes on with what the stage's agent came to: to whom it hands over, or back to
// whoever asked.
func (l *line) follow(c flow.Ctx, out said) (said, error) {
	f, _ := l.cast.Find(l.at.agent)
	var next stage
	var input string
	switch to := out.end.HandTo; {
	case out.ended() || out.more:
		return l.ended(c, out)
	case to != nil && slices.Contains(routes(f), to.Agent):
		next, input = l.at.onward(to.Agent, agency.ReachedRouter, l.act.id()), routed(l.whole(l.request), f.Name, to.Message)
		l.among = true
	case f.Handoff != "":
		next, input = l.at.onward(f.Handoff, agency.ReachedHandoff, l.act.id()), out.text
		l.among = false
	default:
		return out, nil
	}
	if to, _ := l.cast.Find(next.agent); len(to.Advisors) > 0 || to.Team != nil { // others begin first
		if err := l.act.end(c); err != nil {
			return said{}, err
		}
	}
	l.at, l.request, l.passed = next, input, append(l.passed, next.agent)
	return l.work(c, input)
}

// ended is what a line came to that goes nowhere else; a failure names its stage, and whoever
// failed is let go.
func (l *line) ended(c flow.Ctx, out said) (said, error) {
	if out.failure == "" {
		return out, nil
	}
	if chain := append(slices.Clone(l.passed), l.cast.Onward(l.at.agent)...); len(chain) > 1 {
		out.failure = fmt.Sprintf("stage %d of %s: %s", len(l.passed), strings.Join(chain, " -> "), out.failure)
	}
	if l.act == nil {
		return out, nil
	}
	return out, l.act.fail(c, out.failure)
}

func routes(f agentfile.File) []string {
	if f.Router == nil {
		return nil
	}
	return f.Router.Destinations
}

// saidBy is what a part of a session says.
func saidBy(out session.Outcome) said {
	s := said{end: out}
	switch {
	case out.Broadcast() != "":
		s.text, s.more, s.call = out.Broadcast(), true, out.ToolUse
	case out.Kind == session.Reported:
		s.text, s.gone = out.Report, out.Failed
	case out.Kind == session.HandedOff:
	case out.Kind == session.Stopped:
		s.stop = out.Reason
	default:
		s.failure = out.Reason
	}
	return s
}

// advised adds to an input what the agent's advisors say of it, who work beside each other.
func (l *line) advised(c flow.Ctx, f agentfile.File, input string) (text, stop string, err error) {
	if len(f.Advisors) == 0 {
		return input, "", nil
	}
	reports := make([]said, len(f.Advisors))
	all := make([]flow.Future[flow.None], len(f.Advisors))
	for i, name := range f.Advisors {
		s := l.at.at(fmt.Sprintf("advisor-%d", i+1), name, agency.ReachedAdvisor)
		if f.Team != nil {
			s.from = l.supervisor(f).id()
		}
		all[i] = flow.Go(c, contractrun.Path(s.id(), "advisor"), func(c flow.Ctx) (err error) {
			of := &line{play: l.play, among: l.among}
			if reports[i], err = of.begin(c, s, input); err != nil || reports[i].ended() {
				return err
			}
			return of.end(c)
		})
	}
	for _, one := range all {
		if _, err := one.Get(c); err != nil {
			return "", "", err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## ORIGINAL USER REQUEST\n\n%s\n\n## ANALYSIS GATHERED", l.whole(input))
	for i, r := range reports {
		if r.stop != "" {
			return "", r.stop, nil
		}
		words := r.text
		if r.failure != "" {
			words = fmt.Sprintf("%s failed and gave no analysis: %s", f.Advisors[i], r.failure)
		}
		fmt.Fprintf(&b, "\n\n### From %s\n\n%s", f.Advisors[i], framed(words))
	}
	return b.String(), "", nil
}

// whole is a request as it stands beside words of others.
func (l *line) whole(request string) string {
	if l.among {
		return request
	}
	return framed(request)
}

// routed is what an agent is given to which a router hands a request over.
func routed(request, by, message string) string {
	text := "## ORIGINAL USER REQUEST\n\n" + request
	if message != "" {
		text += fmt.Sprintf("\n\n## MESSAGE FROM AGENT `%s` WHO ROUTED THIS REQUEST TO YOU\n\n%s", by, framed(message))
	}
	return text
}
