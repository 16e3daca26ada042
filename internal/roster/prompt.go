package roster

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"text/template"

	"agency/internal/agency"
)

//go:embed prompts/*.md prompts/parts/*.md prompts/agents/*.md
var prompts embed.FS

// View is what a role's prompt may name.
type View struct {
	Title, ID string
	Repo      string // path at which the agent sees its repository
	Network   bool   // commands may reach the hosts that the user granted
	// Contracts is how many contracts a plan of the role may have; 0 is any.
	Contracts int
	// MaxFiles and MaxLines are the most that a contract of a plan may change; 0
	// is any.
	MaxFiles, MaxLines int
	// Resources are what is scarce on the machine and a contract may name.
	Resources []string
	// Phase is what a manager's session is for.
	Phase Phase
	// Present is what the repository has.
	Present
	// Talent is the expertise that the session has beside its role's; without a name none.
	Talent Talent
	// Talents are those that a plan may give its contracts.
	Talents []Talent

	role Role
}

// Talent is the expertise of a specialist: an agent file's name, when to choose it, and its
// text.
type Talent struct{ Name, Description, Text string }

// Has tells whether the session is offered a tool.
func (v View) Has(tool string) bool {
	return v.role.OffersWith(v.Phase, v.Present, tool)
}

// Those are the tools of these that the session is offered, as a list in words.
func (v View) Those(names ...string) string { return those(v.Has, names) }

func those(has func(string) bool, names []string) string {
	var out []string
	for _, name := range names {
		if has(name) {
			out = append(out, "`"+name+"`")
		}
	}
	return strings.Join(out, ", ")
}

// Endings are the tools by which the session ends.
func (v View) Endings() []string {
	return slices.DeleteFunc(v.role.Endings(), func(t string) bool { return !v.Has(t) })
}

// Works tells whether an agent of the role can fulfil a contract in this
// version: it may hold one, has a prompt, and a way to say that it is done: a
// claim, or for a reviewer its review.
func (r Role) Works() bool {
	_, err := fs.Stat(prompts, "prompts/"+string(r.ID)+".md")
	return err == nil && r.Holds && (r.Offers("signal_complete") || r.Offers("submit_review"))
}

// Prompt renders the role's system prompt, whose first line is
// "# TITLE (ID)". A role without a prompt is not in this version: KindInvalid.
func (r Role) Prompt(v View) (string, error) {
	name := string(r.ID)
	switch v.Phase {
	case Answering:
		name = "lead_answer"
	case Reporting:
		name += "_report"
	}
	text, err := fs.ReadFile(prompts, "prompts/"+name+".md")
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "role %s is not in this version", r.ID)
	}
	t, err := template.New(string(r.ID)).Option("missingkey=error").ParseFS(prompts, "prompts/parts/*.md")
	if err == nil {
		t, err = t.Parse(string(text))
	}
	if err != nil {
		return "", agency.Errorf(agency.KindInternal, "prompt of role %s: %w", r.ID, err)
	}
	v.Title, v.ID, v.role = r.Title, string(r.ID), r
	var b strings.Builder
	err = t.Execute(&b, v)
	if err == nil && v.Talent.Name != "" {
		err = t.ExecuteTemplate(&b, "talent.md", v)
	}
	if err != nil {
		return "", agency.Errorf(agency.KindInternal, "prompt of role %s: %w", r.ID, err)
	}
	return b.String(), nil
}
