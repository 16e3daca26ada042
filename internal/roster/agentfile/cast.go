package agentfile

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/roster"
)

// Cast are the agents of a composition as a run keeps them: one, and all that it comes to.
type Cast struct {
	Agents []File `json:"agents"`
}

// Cast is an agent with all that it comes to, in the order in which files name them. The
// error is KindNotFound for an agent that nobody knows, and config.Faults where they do not
// fit together.
func (l Library) Cast(name string) (Cast, error) {
	if _, err := l.Find(name); err != nil {
		return Cast{}, err
	}
	var cast Cast
	of := Library{files: map[string]*reading{}}
	for names := []string{name}; len(names) > 0; names = names[1:] {
		r, known := l.files[names[0]]
		if !known || of.files[names[0]] != nil {
			continue
		}
		of.files[names[0]] = r
		f := r.file
		f.Tools, f.Notes = l.Tools(f), nil
		cast.Agents = append(cast.Agents, f)
		for _, k := range f.links() {
			names = append(names, k.to)
		}
	}
	return cast, of.Check()
}

// Find is the agent of a name; false: it is none of the cast.
func (c Cast) Find(name string) (File, bool) {
	i := slices.IndexFunc(c.Agents, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return c.Agents[i], true
}

// Outside are those whose files are a repository's.
func (c Cast) Outside() (out []File) {
	for _, f := range c.Agents {
		if f.Outside() {
			out = append(out, f)
		}
	}
	return out
}

// Persona is an agent of the cast at a place, with the tools of a checkout where there is
// one; ok says that it is there.
func (c Cast) Persona(at agency.Post, checkout bool) (p roster.Persona, ok bool) {
	f, ok := c.Find(at.Agent)
	if !ok {
		return p, false
	}
	p = roster.Persona{Name: f.Name, Text: f.Body, Calls: c.callees(f.Agents), JSON: f.Output == JSON}
	if f.Router != nil {
		p.Routes = c.callees(f.Router.Destinations)
	}
	if checkout {
		p.Tools = slices.DeleteFunc(slices.Clone(f.Tools), func(t string) bool { return !roster.OfCheckout(t) })
	}
	if team, ok := c.Find(at.Team); ok && team.Team != nil {
		p.Team, p.Members, p.Charter, p.Member = team.Name, team.Team.Members, team.Body, at.Broadcasts()
	}
	return p, true
}

func (c Cast) callees(names []string) (out []roster.Callee) {
	for _, name := range names {
		f, _ := c.Find(name)
		out = append(out, roster.Callee{Name: name, Description: f.Description, Chat: c.Last(name).Chat})
	}
	return out
}

// Onward are those that the work of an agent goes on to by handoffs, in order.
func (c Cast) Onward(name string) (out []string) {
	for f, _ := c.Find(name); f.Handoff != "" && len(out) < len(c.Agents); f, _ = c.Find(f.Handoff) {
		out = append(out, f.Handoff)
	}
	return out
}

// Last is the agent whose report is the answer where one of this name is asked, as far as
// files say it: the end of its chain, and of a team its supervisor.
func (c Cast) Last(name string) File {
	f, _ := c.Find(name)
	for range c.Agents { // it has no cycle
		next := f.Handoff
		if next == "" && f.Team != nil {
			next = f.Team.Supervisor
		}
		if next == "" {
			break
		}
		f, _ = c.Find(next)
	}
	return f
}
