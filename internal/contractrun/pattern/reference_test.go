package pattern

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/roster/agentfile"
)

// The reference plays a composition as docs/design.md says it, in one goroutine and without
// a store: an agent is a function of what it has seen.

// move is what an agent does in one turn. Exactly one of the fields is meant.
type move struct {
	fail      bool
	report    string
	handTo    string
	message   string
	broadcast string
	final     bool // with broadcast
	failed    bool // with final
	asks      []want
}

// want is one thing that an agent asks of others.
type want struct {
	call   string // an agent, with a prompt
	prompt string
	again  int // the place of a live child in what it was shown last, from 1; -1: one that nobody knows
	free   bool
}

// mind decides for all agents, of both interpreters alike.
type mind func(f agentfile.File, in string, seen []string) move

const (
	gaveUp   = "it gave up"
	usedUp   = "the limit of turns is reached"
	gone     = "is gone"
	maxTurns = 5
)

type node struct {
	file     agentfile.File
	team     string
	member   bool
	limit    int
	seen     []string
	children []*kid
	path     string
}

type kid struct {
	name   string
	line   *chain
	chat   bool
	left   int
	frozen bool
}

// chain is an agent with those to which its work goes on.
type chain struct {
	r       *reference
	at      agentfile.File
	request string
	node    *node
	passed  []string
	member  bool
	team    string
	limit   int
	path    string
	leads   bool
}

// end is how a chain has come out.
type end struct {
	text   string
	fault  string
	more   bool
	failed bool
	turns  int
	left   int
}

type reference struct {
	files map[string]agentfile.File
	mind  mind
	nodes []*node
}

func (r *reference) begin(c *chain, name, input string) end {
	c.r, c.at, c.request, c.passed = r, r.files[name], input, []string{name}
	if c.path == "" {
		c.path = name
	}
	return c.work(input)
}

func (c *chain) work(input string) end {
	f := c.at
	if len(f.Advisors) > 0 {
		text := "## ORIGINAL USER REQUEST\n\n" + input + "\n\n## ANALYSIS GATHERED"
		for _, name := range f.Advisors {
			out := c.r.begin(&chain{path: c.path + "/" + name}, name, input)
			words := out.text
			if out.fault != "" {
				words = name + " failed and gave no analysis: " + out.fault
			}
			text += "\n\n### From " + name + "\n\n" + words
		}
		input = text
	}
	if f.Team != nil {
		return c.follow(c.meet(f, input), nil)
	}
	n := &node{file: f, limit: maxTurns, path: c.path}
	if c.team != "" && (f.Handoff == "" || c.leads) {
		n.team, n.member = c.team, c.member
		if c.limit > 0 {
			n.limit = min(n.limit, c.limit)
		}
	}
	c.r.nodes = append(c.r.nodes, n)
	c.node = n
	out, m := c.r.live(n, input)
	return c.follow(out, m)
}

func (c *chain) follow(out end, m *move) end {
	f, next, input := c.at, "", ""
	switch {
	case out.fault != "":
		whole := slices.Clone(c.passed)
		for to := c.at.Handoff; to != ""; to = c.r.files[to].Handoff {
			whole = append(whole, to)
		}
		if len(whole) > 1 {
			out.fault = fmt.Sprintf("stage %d of %s: %s", len(c.passed), strings.Join(whole, " -> "), out.fault)
		}
		return out
	case out.more:
		return out
	case m != nil && m.handTo != "":
		next, input = m.handTo, "## ORIGINAL USER REQUEST\n\n"+c.request
		if m.message != "" {
			input += "\n\n## MESSAGE FROM AGENT `" + f.Name + "` WHO ROUTED THIS REQUEST TO YOU\n\n" + m.message
		}
	case f.Handoff != "":
		next, input = f.Handoff, out.text
	default:
		return out
	}
	if c.leads {
		c.leads, c.team, c.limit = false, "", 0
	}
	c.at, c.request, c.passed = c.r.files[next], input, append(c.passed, next)
	c.path += "/" + next
	return c.work(input)
}

func (c *chain) goOn(input string) end {
	out, m := c.r.live(c.node, input)
	return c.follow(out, m)
}

// live has an agent take turns until it ends or speaks.
func (r *reference) live(n *node, input string) (end, *move) {
	for {
		if len(n.seen) == n.limit {
			return end{fault: usedUp, turns: len(n.seen)}, nil
		}
		n.seen = append(n.seen, input)
		m := r.mind(n.file, n.kind(), n.seen)
		e := end{turns: len(n.seen), left: n.limit - len(n.seen)}
		switch {
		case m.fail:
			e.fault = gaveUp
			return e, nil
		case m.broadcast != "":
			e.text, e.more, e.failed = m.broadcast, !m.final, m.failed
			return e, nil
		case len(m.asks) == 0:
			e.text = m.report
			return e, &m
		}
		input = r.asked(n, m.asks)
	}
}

func (n *node) kind() string {
	switch {
	case n.member:
		return "member"
	case n.team != "":
		return "supervisor"
	}
	return ""
}

func (r *reference) asked(n *node, asks []want) string {
	shown := n.live()
	replies := make([]string, len(asks))
	for i, a := range asks {
		if a.call == "" {
			continue
		}
		k := &kid{name: a.call, line: &chain{path: n.path + "/" + a.call}}
		n.children = append(n.children, k)
		out := r.begin(k.line, a.call, a.prompt)
		if out.fault != "" {
			replies[i] = fmt.Sprintf("error: %s gave no answer: %s", a.call, out.fault)
			continue
		}
		k.chat, k.left, replies[i] = k.line.node.file.Chat, out.left, out.text
		k.frozen = k.chat
	}
	for i, a := range asks {
		if a.call != "" {
			continue
		}
		if a.again < 0 {
			replies[i] = "error: no agent of yours has the id \"nobody\". UNKNOWN"
			continue
		}
		k := shown[a.again-1]
		switch {
		case !k.frozen:
			replies[i] = "error: ID is gone: it has ended and is asked no more"
		case a.free:
			k.frozen, replies[i] = false, "ID has ended"
		case k.left == 0:
			replies[i] = "error: clarification_no_turns: ID has no turns left; call it anew"
		default:
			out := k.line.goOn("## CLARIFICATION REQUEST FROM " + n.path + "\n\n" + a.prompt)
			for out.fault == "" && out.more {
				out = k.line.goOn("error: the team's work has ended, and nobody hears it. End by final_report.")
			}
			if out.fault != "" {
				k.frozen, replies[i] = false, "error: ID gave no answer and is gone: "+out.fault
				continue
			}
			k.left, replies[i] = out.left, out.text
		}
	}
	if list := n.live(); len(list) > 0 {
		last := &replies[len(replies)-1]
		*last += "\n\nAgents that you can ask again, by clarification_id:"
		for _, k := range list {
			*last += fmt.Sprintf("\n- ID: %s, %s left", k.name, turns(k.left))
		}
	}
	return strings.Join(replies, "\n+\n")
}

func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

func (n *node) live() (out []*kid) {
	for _, k := range n.children {
		if k.frozen {
			out = append(out, k)
		}
	}
	return out
}

type chair struct {
	name string
	line *chain
	out  end
	at   int // how much it has read
	left bool
}

type spoken struct {
	by, text string
	failure  bool
	last     bool
	turns    int
}

// meet is a team at work.
func (c *chain) meet(f agentfile.File, input string) end {
	var said []spoken
	var chairs []*chair
	for _, name := range f.Team.Members {
		chairs = append(chairs, &chair{name: name, line: &chain{member: true, team: f.Name, limit: f.Team.MemberMaxTurns, path: c.path + "/" + name}})
	}
	super, read := &chain{team: f.Name, leads: true, limit: f.Team.SupervisorMaxTurns, path: c.path + "/" + f.Team.Supervisor}, 0
	render := func(from int, but string) string {
		text := "## BROADCASTS"
		n := 0
		for _, s := range said[from:] {
			if s.by == but {
				continue
			}
			n++
			kind, last := "update", ""
			if s.failure {
				kind = "failure"
			}
			if s.last {
				last = ", its last word"
			}
			text += fmt.Sprintf("\n\n### From %s (%s%s, %s, TIME)\n\n%s", s.by, kind, last, turns(s.turns), s.text)
		}
		if n == 0 {
			text += "\n\nNobody has said anything new."
		}
		return text
	}
	var out end
	for cycle := 1; ; cycle++ {
		upTo := len(said)
		for _, m := range chairs {
			switch {
			case m.left:
				continue
			case cycle == 1:
				m.out = c.r.begin(m.line, m.name, input)
			default:
				words := said
				said = said[:upTo]
				news := render(m.at, m.name)
				said = words
				m.out = m.line.goOn(news)
			}
			m.at = upTo
			s := spoken{by: m.name, text: m.out.text, failure: m.out.failed, last: !m.out.more, turns: m.out.turns}
			if m.out.fault != "" {
				s.failure, s.text = true, fmt.Sprintf("member %s failed and is no longer in the team. Reason: %s", m.name, m.out.fault)
			}
			m.left = s.last
			said = append(said, s)
		}
		words := render(read, f.Team.Supervisor)
		read = len(said)
		var in []string
		for _, m := range chairs {
			if !m.left {
				in = append(in, m.name)
			}
		}
		switch {
		case cycle > 1 && out.left == 1:
			words += "\n\nThis is your last turn: end by final_report."
		case len(in) == 0:
			words += "\n\nNo member is left in the team: end by final_report."
		default:
			words += "\n\nStill in the team: " + strings.Join(in, ", ") + "."
		}
		if cycle == 1 {
			out = c.r.begin(super, f.Team.Supervisor, input+"\n\n"+words)
		} else {
			out = super.goOn(words)
		}
		if !out.more {
			break
		}
		said = append(said, spoken{by: f.Team.Supervisor, text: out.text, turns: out.turns})
	}
	c.node = super.node
	if out.fault != "" {
		out.fault = fmt.Sprintf("team %s: its supervisor %s: %s", f.Name, f.Team.Supervisor, out.fault)
	}
	return out
}

// transcripts are what all agents have seen, in no order.
func (r *reference) transcripts() []string {
	var out []string
	for _, n := range r.nodes {
		out = append(out, n.file.Name+"\n"+strings.Join(n.seen, "\n=\n"))
	}
	slices.Sort(out)
	return out
}
