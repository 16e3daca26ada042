package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/roster/agentfile"
	"agency/internal/tool"
)

// agentFolders are where a repository keeps agent files, nearest first: its own, and those
// of other tools that read the same format.
func agentFolders() []string {
	return []string{agentFolder, ".claude/agents", ".github/agents", ".opencode/agent", ".gemini/agents", ".qwen/agents"}
}

const agentFolder = "agents"

// UserAgents is the folder of the user's own agent files, beside their configuration.
func (f Files) UserAgents() string { return filepath.Join(filepath.Dir(f.User), agentFolder) }

// HasSkills tells whether agents that see the checkout are offered skills.
func (f Files) HasSkills() (bool, error) {
	files, err := tool.OpenFiles(f.WorkTree, f.WorkTree)
	if err != nil {
		return false, err
	}
	defer func() { _ = files.Close() }() // it was only read
	err = files.SetSkills(filepath.Join(filepath.Dir(f.User), "skills"))
	return len(files.Skills()) > 0, err
}

// agentSources opens the folders of agent files, nearest first.
func (f Files) agentSources() (sources []agentfile.Source, closeAll func(), err error) {
	var roots []*os.Root
	closeAll = func() {
		for _, root := range roots {
			_ = root.Close() // it was only read
		}
	}
	open := func(dir string) (fs.FS, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "agent files: %w", agency.Cause(err))
		}
		roots = append(roots, root)
		return bounded.FS(root), nil
	}
	if f.WorkTree != "" {
		files, err := open(f.WorkTree)
		if err != nil {
			return nil, closeAll, err
		}
		for i, dir := range agentFolders() {
			layer := agentfile.Repository
			if i > 0 { // who keeps an agent for two tools has written it twice
				layer = agentfile.Layer(dir)
			}
			sources = append(sources, agentfile.Source{Layer: layer, FS: files, Dir: dir})
		}
	}
	if _, err := os.Stat(f.UserAgents()); f.User != "" && !errors.Is(err, fs.ErrNotExist) {
		files, err := open(f.UserAgents())
		if err != nil {
			return nil, closeAll, err
		}
		sources = append(sources, agentfile.Source{Layer: agentfile.User, Name: f.UserAgents(), FS: files})
	}
	return append(sources, agentfile.Talents()), closeAll, nil
}

// AgentLibrary are the agent files as they count here: the repository's, the user's, and
// those that come with the program; of one name the nearest counts.
func (f Files) AgentLibrary() (agentfile.Library, error) { return f.library(agentfile.Load) }

// SoundAgents are those of the agent files in which nothing is wrong by itself.
func (f Files) SoundAgents() (agentfile.Library, error) { return f.library(agentfile.LoadSound) }

func (f Files) library(load func(...agentfile.Source) (agentfile.Library, error)) (agentfile.Library, error) {
	sources, closeAll, err := f.agentSources()
	defer closeAll()
	if err != nil {
		return agentfile.Library{}, err
	}
	return load(sources...)
}

// Cast is an agent with all that it comes to. A file in which something is wrong and that
// nobody of them needs is no hindrance.
func (f Files) Cast(agent string) (agentfile.Cast, error) {
	sound, err := f.SoundAgents()
	if err != nil {
		return agentfile.Cast{}, err
	}
	cast, err := sound.Cast(agent)
	if err == nil {
		return cast, nil
	}
	if _, strict := f.AgentLibrary(); strict != nil { // what is missing may be what cannot be read
		return cast, strict
	}
	if agency.KindOf(err) == agency.KindNotFound {
		err = agency.Errorf(agency.KindInvalid, "%w", err).WithMend("agency agents list")
	}
	return cast, err
}

// agentFiles are the repository's own, by path.
func (f Files) agentFiles() (map[string]config.AgentFile, error) {
	out := map[string]config.AgentFile{}
	sources, closeAll, err := f.agentSources()
	defer closeAll()
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if s.Layer == agentfile.User || s.Layer == agentfile.BuiltIn {
			continue
		}
		if _, err := fs.Stat(s.FS, s.Dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found, _, err := agentfile.Gather(s)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			out[one.Path] = config.AgentFile{Raw: one.Raw, Asks: one.Asks()}
		}
	}
	return out, nil
}
