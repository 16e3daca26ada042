package resources

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/roster"
	"agency/internal/roster/agentfile"
	"agency/internal/session"
	"agency/internal/text"
)

// talents are the agents whose text may stand beside a role's own: the user's, and those
// that come with the program. What a repository has of them is from outside, and none.
//
// A file in which something is wrong is none, too: nobody's run ends because somebody
// writes one.
func (r *Runs) talents() (agentfile.Library, error) {
	sources := []agentfile.Source{agentfile.Talents()}
	root, err := os.OpenRoot(r.o.Agents)
	switch {
	case r.o.Agents == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return agentfile.Library{}, agency.Errorf(agency.KindInvalid, "agent files: %w", agency.Cause(err))
	default:
		defer func() { _ = root.Close() }() // it was only read
		own := agentfile.Source{Layer: agentfile.User, Name: r.o.Agents, FS: bounded.FS(root)}
		sources = append([]agentfile.Source{own}, sources...)
	}
	return agentfile.LoadSound(sources...)
}

// talentFault says what is wrong with a talent that somebody names; empty: nothing.
func (r *Runs) talentFault(name string) string {
	lib, err := r.talents()
	if err != nil {
		return err.Error()
	}
	var known []string
	for _, f := range lib.All() {
		if f.Name == name {
			return ""
		}
		known = append(known, f.Name)
	}
	return fmt.Sprintf("talent %q is not known%s: agency agents list has them, but for the repository's", name, text.Suggestion(name, known))
}

// checkTalents refuses a configuration that names a talent which nobody knows.
func (r *Runs) checkTalents(c config.Config) error {
	for _, role := range roster.Roles() {
		a := c.Agents[string(role.ID)]
		for _, name := range append(slices.Sorted(maps.Values(a.Talents)), a.Talent) {
			if name == "" || !config.InEffect("agents."+string(role.ID)+".talent") {
				continue
			}
			if what := r.talentFault(name); what != "" {
				return agency.Errorf(agency.KindInvalid, "agents.%s: %s", role.ID, what).WithMend("agency agents list")
			}
		}
	}
	return nil
}

// talentOf is the expertise of a session: what its contract asks for, of whoever carries it
// out, else what is configured for the role and the contract's domain.
func (r *Runs) talentOf(spec session.Spec, c config.Config, contract agency.Contract) (roster.Talent, error) {
	name := c.TalentFor(spec.Role, contract.Domain)
	if contract.Talent != "" && contract.AssignedRole == spec.Role {
		name = contract.Talent
	}
	if name == "" {
		return roster.Talent{}, nil
	}
	lib, err := r.talents()
	if err != nil {
		return roster.Talent{}, err
	}
	f, err := lib.Find(name)
	return roster.Talent{Name: f.Name, Description: f.Description, Text: f.Body}, err
}

// What a plan's author is shown of talents, in each request: a public library may have
// hundreds, and pages of words for one.
const (
	mostOffered     = 48
	mostDescription = 160 // bytes
)

// offered are the talents that whoever plans chooses from: the user's own before those that
// come with the program, where there are too many.
func (r *Runs) offered() ([]roster.Talent, error) {
	lib, err := r.talents()
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(lib.All(), func(f agentfile.File) bool { return f.Description == "" }) // by nothing else it can be chosen
	slices.SortStableFunc(all, func(a, b agentfile.File) int {
		return cmp.Compare(farther(a), farther(b))
	})
	all = all[:min(len(all), mostOffered)]
	slices.SortFunc(all, func(a, b agentfile.File) int { return cmp.Compare(a.Name, b.Name) })
	var out []roster.Talent
	for _, f := range all {
		out = append(out, roster.Talent{Name: f.Name, Description: text.OneLine(f.Description, mostDescription)})
	}
	return out, nil
}

func farther(f agentfile.File) int {
	if f.Layer == agentfile.BuiltIn {
		return 1
	}
	return 0
}
