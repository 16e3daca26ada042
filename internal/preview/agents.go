package preview

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/host"
	"agency/internal/llm/catalog"
	"agency/internal/roster"
	"agency/internal/roster/agentfile"
)

const agentFolder = "agents"

// Agents are agent files, for the commands that show and check them.
type Agents struct {
	lib  agentfile.Library
	repo string // at whose path an agent sees its checkout; empty: there is none
	has  roster.Present
}

// UserAgents is the folder of the user's own agent files, beside their configuration.
func (r *Repo) UserAgents() string { return r.Files.UserAgents() }

// Agents are the agent files as they count here: the repository's, the user's, and those
// that come with the program; of one name the nearest counts. Beside an error about some of
// them are the others.
func (r *Repo) Agents() (Agents, error) {
	lib, err := r.Files.AgentLibrary()
	var faults config.Faults
	if errors.As(err, &faults) {
		var other error
		if lib, other = r.Files.SoundAgents(); other != nil {
			return Agents{}, err
		}
	}
	out := Agents{lib: lib, repo: r.Files.WorkTree}
	if out.repo != "" && (err == nil || faults != nil) {
		var other error
		out.has.Skills, other = r.Files.HasSkills()
		err = errors.Join(err, other)
	}
	return out, err
}

// Named is what the flags of a command may name, for completion; what cannot be read is
// left out.
type Named struct{ Agents, Models, Profiles []string }

// Named finds it.
func (r *Repo) Named() (out Named) {
	if lib, err := r.Files.SoundAgents(); err == nil {
		for _, f := range lib.All() {
			out.Agents = append(out.Agents, f.Name+"\t"+f.Description)
		}
	}
	l, err := r.Load()
	if err != nil {
		return out
	}
	out.Profiles = l.Profiles
	if known, err := catalog.Load(); err == nil {
		out.Models = host.Nameable(known, l.Config)
	}
	return out
}

// Imported is what became of the agent files of a folder.
type Imported struct {
	Into      string   `json:"into"`
	New       []string `json:"new"`       // names
	Unchanged []string `json:"unchanged"` // that were there word for word
	Kept      []string `json:"kept"`      // that were there otherwise, and stay as they are
	Notes     []string `json:"notes"`     // what was not taken, and why
}

// ImportAgents copies the agent files of a folder, at any depth, into agents/ below another,
// as they are written and a file each by name: through no link that leads out of that. What
// is there already stays, unless it is to be replaced.
func ImportAgents(from, base string, replace bool) (out Imported, err error) {
	out = Imported{Into: filepath.Join(base, agentFolder), New: []string{}, Unchanged: []string{}, Kept: []string{}, Notes: []string{}}
	root, err := os.OpenRoot(from)
	if err != nil {
		return out, agency.Errorf(agency.KindInvalid, "%s: %w", from, agency.Cause(err)).WithMend("agency agents import DIR, a folder of agent files")
	}
	defer func() { _ = root.Close() }() // it was only read
	found, notes, err := agentfile.Gather(agentfile.Source{Layer: agentfile.User, Name: filepath.ToSlash(from), FS: bounded.FS(root)})
	if err != nil {
		return out, err
	}
	if out.Notes = append(out.Notes, notes...); len(found) == 0 {
		return out, agency.Errorf(agency.KindInvalid, "%s holds no agent file: Markdown that begins with a line of ---", from).WithMend("agency agents validate %s says what is wrong with each", from)
	}
	to, err := agentsBelow(base)
	if err != nil {
		return out, agency.Errorf(agency.KindInvalid, "%s: %w", out.Into, agency.Cause(err)).WithMend("make it a folder of your own")
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	for _, f := range found {
		name := f.Name + ".md"
		old, err := bounded.Read(to, name, int64(len(f.Raw))+1)
		switch {
		case err == nil && bytes.Equal(old, f.Raw):
			out.Unchanged = append(out.Unchanged, f.Name)
			continue
		case !errors.Is(err, fs.ErrNotExist) && !replace:
			out.Kept = append(out.Kept, f.Name)
			continue
		}
		if err := write(to, name, f.Raw); err != nil {
			return out, fmt.Errorf("%s: %w", filepath.Join(out.Into, name), err)
		}
		out.New = append(out.New, f.Name)
	}
	return out, nil
}

// agentsBelow opens the folder of agents below another, and makes both where they are not
// there.
func agentsBelow(base string) (*os.Root, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what is opened below stays open
	if err := root.MkdirAll(agentFolder, 0o700); err != nil {
		return nil, err
	}
	return root.OpenRoot(agentFolder)
}

// write puts a file in place whole: a crash leaves the old one, or the new.
func write(to *os.Root, name string, raw []byte) error {
	temp := "." + name + ".new"
	f, err := to.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, to.Remove(temp))
	}
	return to.Rename(temp, name)
}

// Has tells whether there is an agent of the name.
func (a Agents) Has(name string) bool {
	_, err := a.lib.Find(name)
	return err == nil
}

// List are all of them, by name.
func (a Agents) List() []api.AgentFileDoc {
	docs := []api.AgentFileDoc{}
	for _, f := range a.lib.All() {
		docs = append(docs, a.doc(f))
	}
	return docs
}

// Show is one of them with its prompt and a drawing of whom it comes to.
func (a Agents) Show(name string) (api.AgentFileDoc, error) {
	f, err := a.lib.Find(name)
	if err != nil {
		return api.AgentFileDoc{}, agency.Errorf(agency.KindInvalid, "%w", err).WithMend("agency agents list")
	}
	doc := a.doc(f)
	doc.Drawing = a.lib.Draw(f.Name)
	if f.Team != nil {
		doc.Prompt = f.Body
		return doc, nil
	}
	doc.Prompt, err = a.persona(f).Prompt(roster.View{Repo: a.repo, Present: a.has})
	return doc, err
}

// persona is an agent as its session has it that answers here: in the repository, or on text
// alone where there is none. What it comes to
// may not fit together: that is for whoever checks it.
func (a Agents) persona(f agentfile.File) roster.Persona {
	cast, _ := a.lib.Cast(f.Name)
	p, _ := cast.Persona(agency.Post{Agent: f.Name}, a.repo != "")
	p.Tools = slices.DeleteFunc(p.Tools, a.has.Lacks)
	return p
}

// Mermaid is the drawing as a flowchart of Mermaid.
func (a Agents) Mermaid(name string) (string, error) {
	f, err := a.lib.Find(name)
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "%w", err).WithMend("agency agents list")
	}
	return a.lib.Mermaid(f.Name), nil
}

// Check says whether they fit together.
func (a Agents) Check() error { return a.lib.Check() }

// Notes are what was not read, and what means nothing here.
func (a Agents) Notes() []string { return a.lib.Notes() }

func (a Agents) doc(f agentfile.File) api.AgentFileDoc {
	p, l := a.persona(f), f.Limits()
	doc := api.AgentFileDoc{
		Name: f.Name, Description: f.Description, From: string(f.Layer), Path: f.Path, Role: f.Role, Model: f.Model, Tools: slices.Concat(p.Tools, p.Asking(), p.Endings()),
		ServerTools: f.Servers,
		MaxTurns:    l.Turns, MaxToolCallsPerTurn: l.CallsPerTurn, MaxOutputTokens: l.MaxOutput, MaxTokens: l.Tokens, TimeoutSeconds: l.Seconds,
		Chat: f.Chat, Agents: f.Agents, Handoff: f.Handoff, Advisors: f.Advisors, Input: f.Input, Output: f.Output, Notes: f.Notes,
	}
	if f.Router != nil {
		doc.Destinations = f.Router.Destinations
	}
	if f.Team != nil {
		doc.Members, doc.Supervisor = f.Team.Members, f.Team.Supervisor
		doc.Tools = []string{} // it has no session of its own
	}
	return doc
}

// CheckAgentFiles reads agent files, each by itself, and gives notes on them.
func CheckAgentFiles(files []string) (notes []string, err error) {
	var faults config.Faults
	for _, name := range files {
		raw, err := bounded.ReadAt(name, maxAgentFile)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "%s: %w", name, agency.Cause(err)).WithMend("name files of Markdown; all that count here are checked by: agency agents validate")
		}
		f, err := agentfile.Parse(name, raw)
		var wrong config.Faults
		switch {
		case errors.As(err, &wrong):
			faults = append(faults, wrong...)
		case err != nil:
			return nil, err
		}
		for _, n := range f.Notes {
			notes = append(notes, name+": "+n)
		}
	}
	return notes, faults.Err()
}

// maxAgentFile bounds what is read of a file that somebody names, in bytes.
const maxAgentFile = 1 << 20
