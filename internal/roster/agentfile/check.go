package agentfile

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/roster"
	"agency/internal/text"
)

// how an agent comes to another.
type how string

const (
	asAdvisor    how = "advisor"
	asSubAgent   how = "sub-agent"
	asMember     how = "member"
	asSupervisor how = "supervisor"
	byRouter     how = "router"
	byHandoff    how = "handoff"
)

// link is one agent that a file names, and the field that does.
type link struct {
	how how
	key string
	to  string
}

// links are the agents that a file names, in the order in which they come to work.
func (f File) links() (out []link) {
	list := func(h how, key string, names []string) {
		for i, name := range names {
			out = append(out, link{h, fmt.Sprintf("%s[%d]", key, i), name})
		}
	}
	list(asAdvisor, "advisors", f.Advisors)
	list(asSubAgent, "agents", f.Agents)
	if f.Team != nil {
		list(asMember, "team.members", f.Team.Members)
		if f.Team.Supervisor != "" {
			out = append(out, link{asSupervisor, "team.supervisor", f.Team.Supervisor})
		}
	}
	if f.Router != nil {
		list(byRouter, "router.destinations", f.Router.Destinations)
	}
	if f.Handoff != "" {
		out = append(out, link{byHandoff, "handoff", f.Handoff})
	}
	return out
}

// checker gathers what does not fit together.
type checker struct {
	lib    Library
	names  []string
	faults config.Faults
}

// Check says whether the agents fit together, each with its own fields and with those
// that it names. The error is config.Faults, KindInvalid.
func (l Library) Check() error {
	c := &checker{lib: l, names: l.names()}
	for _, name := range c.names {
		r := l.files[name]
		c.role(r)
		c.patterns(r)
		for _, k := range r.file.links() {
			c.link(r, k)
		}
	}
	c.cycles()
	if len(c.faults) == 0 {
		c.sizes()
	}
	return c.faults.Err()
}

// maxPosts is how many agents may answer one input before any of them has called another:
// what files name is begun without asking a model, and costs memory before it costs money.
const maxPosts = 2000

// sizes refuses compositions that are too large. There are no cycles.
func (c *checker) sizes() {
	known := map[string]int{}
	var size func(name string) int
	size = func(name string) int {
		if n, ok := known[name]; ok {
			return n
		}
		f, n, farthest := c.lib.files[name].file, 1, 0
		over := false
		for _, k := range f.links() {
			switch to := size(k.to); {
			case k.how == asSubAgent:
			case k.how == byRouter:
				farthest = max(farthest, to)
			default:
				n += to
				over = over || to > maxPosts
			}
		}
		n += farthest
		if n > maxPosts && !over && farthest <= maxPosts { // the first that is: who names it is not told too
			c.fault(c.lib.files[name], "name", "agent %s comes to %d agents for one input, more than %d: name fewer advisors, members or stages", f.Name, n, maxPosts)
		}
		known[name] = min(n, maxPosts+1)
		return known[name]
	}
	for _, name := range c.names {
		size(name)
	}
}

func (c *checker) fault(r *reading, key, format string, args ...any) {
	if len(c.faults) >= many {
		return
	}
	at := r.place(key)
	c.faults = append(c.faults, r.doc.At(at.line, at.col, format, args...))
}

func (c *checker) hint(word string, known []string) string {
	if len(c.faults) > enough {
		return ""
	}
	return text.Suggestion(word, known)
}

func (c *checker) role(r *reading) {
	if r.file.Role == "" {
		return
	}
	role, err := roster.Find(r.file.Role)
	if err != nil || role.ID == agency.RoleAgent { // that of whoever names none
		var known []string
		for _, k := range roster.Roles() {
			known = append(known, string(k.ID))
		}
		name := string(r.file.Role)
		c.fault(r, "role", "role %s is not known%s", config.Quoted(name), c.hint(name, known))
		return
	}
	for _, tool := range r.file.Tools {
		if !role.Offers(tool) {
			c.fault(r, "tools."+tool, "tools: role %s does not have %s", role.ID, tool)
		}
	}
}

// patterns are the rules on one file.
func (c *checker) patterns(r *reading) {
	f := r.file
	if f.Router != nil {
		if len(f.Router.Destinations) == 0 {
			c.fault(r, "router", "router has no destinations: name the agents that it may hand over to")
		}
		if f.Handoff != "" {
			c.fault(r, "handoff", "handoff beside router: a router hands over by itself")
		}
		if f.Team != nil {
			c.fault(r, "team", "team beside router: a team ends with its supervisor's report, a router by handing over")
		}
	}
	if f.Team == nil {
		return
	}
	if len(f.Team.Members) == 0 {
		c.fault(r, "team", "team has no members")
	}
	if f.Team.Supervisor == "" {
		c.fault(r, "team", "team has no supervisor: its report is the team's answer")
	}
	for i, m := range f.Team.Members {
		key := fmt.Sprintf("team.members[%d]", i)
		switch m {
		case f.Name:
			c.fault(r, key, "team %s is its own member", f.Name)
		case f.Team.Supervisor:
			c.fault(r, key, "team: %s is a member and the supervisor", m)
		}
	}
	if f.Team.Supervisor == f.Name {
		c.fault(r, "team.supervisor", "team %s is its own supervisor", f.Name)
	}
}

// link are the rules on a file and one that it names.
func (c *checker) link(r *reading, k link) {
	other, ok := c.lib.files[k.to]
	if !ok {
		field, _, _ := strings.Cut(k.key, "[")
		c.fault(r, k.key, "%s: agent %s is not known%s", field, k.to, c.hint(k.to, c.names))
		return
	}
	switch to := other.file; {
	case k.how == asSupervisor && to.Team != nil && k.to != r.file.Name:
		c.fault(r, k.key, "team: the supervisor %s is itself a team: it speaks to no other", k.to)
	case k.how == asAdvisor && to.Router != nil:
		c.fault(r, k.key, "advisors: %s is a router: it hands over and advises nobody", k.to)
	case k.how == byHandoff && to.Input != r.file.Output:
		c.fault(r, k.key, "handoff: the output of %s is %s, and %s wants %s as input", r.file.Name, r.file.Output, k.to, to.Input)
	}
}

// mark is how far the search for cycles is with an agent.
type mark uint8

const (
	unseen mark = iota
	onWay
	done
)

// cycles finds agents that come to themselves, by whatever way: work would never end.
// Every link that closes a cycle is said once.
func (c *checker) cycles() {
	marks := map[string]mark{}
	var way []string
	var visit func(name string)
	visit = func(name string) {
		marks[name] = onWay
		way = append(way, name)
		r := c.lib.files[name]
		for _, k := range r.file.links() {
			_, known := c.lib.files[k.to]
			switch own := k.to == name && (k.how == asMember || k.how == asSupervisor); {
			case !known, own: // said by the other rules
			case marks[k.to] == unseen:
				visit(k.to)
			case marks[k.to] == onWay && len(c.faults) <= enough:
				c.fault(r, k.key, "%s closes a cycle: %s", k.how, circle(way[slices.Index(way, k.to):]))
			}
		}
		way = way[:len(way)-1]
		marks[name] = done
	}
	for _, name := range c.names {
		if marks[name] == unseen {
			visit(name)
		}
	}
}

// circle writes a cycle, long ones without their middle.
func circle(names []string) string {
	const most = 12
	shown := slices.Clone(names)
	if more := len(names) - most; more > 0 {
		shown = slices.Concat(names[:most/2], []string{fmt.Sprintf("(%d more)", more)}, names[len(names)-most/2:])
	}
	return strings.Join(append(shown, names[0]), " -> ")
}
