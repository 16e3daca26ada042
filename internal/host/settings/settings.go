// Package settings makes the configuration of a run from the user's file, the
// repository's, a team file, flags and what was found in the checkout. A client
// does so to show it and to ask for keys, the host to start nothing that a
// client made up: both by this code and from the same files.
//
// It reads files and looks for programs; it writes nothing and starts nothing.
package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check/detect"
	"agency/internal/config"
	"agency/internal/llm/catalog"
)

// Files say where a configuration is read.
type Files struct {
	User     string // the user's own file
	WorkTree string // the user's checkout; "": none
	State    string // the state folder of all repositories
	// Agents has the repository's agent files count as what needs trust.
	Agents bool
}

// Load reads the configuration as it counts for a checkout. Its errors are
// those of config.Load, and of files that are not plain.
func Load(f Files, team config.Source, flags []config.Flag, env config.Env) (*config.Loaded, error) {
	own, err := readSource(f.User, os.Stat)
	if err != nil {
		return nil, err
	}
	repo := config.Source{Path: config.RepoFile}
	if f.WorkTree != "" {
		if repo, err = readSource(filepath.Join(f.WorkTree, config.RepoFile), os.Lstat); err != nil {
			return nil, err
		}
		repo.Path = config.RepoFile
	}
	known, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	home, _ := env("HOME")
	var agents map[string]config.AgentFile
	if f.Agents {
		if agents, err = f.agentFiles(); err != nil {
			return nil, err
		}
	}
	return config.Load(config.Input{
		AgentFiles: agents,
		UserFile:   own, TeamFile: team, RepoFile: repo, Flags: flags, Env: env, Catalogue: catalogue(known),
		Home: home, Repo: f.WorkTree, State: f.State,
	})
}

// AcrossRuns reads the limits that the user's own file sets across runs.
func AcrossRuns(f Files) (config.AcrossRuns, error) {
	own, err := readSource(f.User, os.Stat)
	if err != nil {
		return config.AcrossRuns{}, err
	}
	return config.LoadAcrossRuns(own)
}

func catalogue(known *catalog.Catalog) map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		levels := map[string][]string{}
		for level, model := range known.Defaults(provider) {
			levels[string(level)] = []string{model}
		}
		out[provider] = levels
	}
	return out
}

// maxConfig bounds a configuration file in bytes.
const maxConfig = 1 << 20

// readSource reads a configuration file that may not be there. It opens nothing
// but plain files: a pipe would never end, and a link in a repository would
// show what it points to in an error.
func readSource(path string, stat func(string) (fs.FileInfo, error)) (config.Source, error) {
	info, err := stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.Source{Path: path}, nil
	case err != nil:
		return config.Source{}, unread(path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return config.Source{}, agency.Errorf(agency.KindInvalid, "%s is a link; a repository's configuration must be a file of its own", path).
			WithMend("rm %s, then agency init", path)
	case !info.Mode().IsRegular():
		return config.Source{}, agency.Errorf(agency.KindInvalid, "%s is not a plain file", path).WithMend("remove it, then agency init")
	}
	b, err := bounded.ReadAt(path, maxConfig)
	if errors.Is(err, bounded.ErrTooLarge) {
		return config.Source{}, agency.Errorf(agency.KindInvalid, "%s is larger than %d bytes", path, maxConfig)
	}
	if err != nil {
		return config.Source{}, unread(path, err)
	}
	if b == nil {
		b = []byte{}
	}
	return config.Source{Path: path, Data: b}, nil
}

// unread names a file beside why it was not read.
func unread(path string, err error) error {
	return agency.Errorf(agency.KindInvalid, "%s: %v", path, agency.Cause(err))
}

// Resolved is the configuration that a run keeps.
type Resolved struct {
	Config config.Config
	// Untested is set where somebody said that there are no tests.
	Untested bool
	// Seen is what was found in the checkout.
	Seen detect.Detected
}

// Resolve fills in what no file says: commands that the checkout shows, and
// what follows from a flag or a team file.
func Resolve(l *config.Loaded, workTree string, flags []config.Flag, env config.Env) (Resolved, error) {
	r := Resolved{Config: l.Config}
	if l.Team != nil && l.Team.Planned.Line > 0 && l.Origin("mode").Layer == config.LayerDefault {
		r.Config.Mode = agency.ModeMultiAgent // contracts are worked on by a team, unless somebody says otherwise
	}
	asked := slices.ContainsFunc(flags, func(f config.Flag) bool { return f.Key == "mode" })
	if asked && l.Origin("triggers").Layer == config.LayerDefault {
		r.Config.Triggers = nil // a mode that was asked for is kept to
	}
	root, err := os.OpenRoot(workTree)
	if err != nil {
		return r, unread(workTree, err)
	}
	defer func() { _ = root.Close() }() // only read
	r.Seen = detect.Detect(detect.Input{Repo: bounded.FS(root), Dir: workTree, Env: env})
	have, found := &r.Config.Commands, r.Seen.Commands
	for _, c := range []struct {
		key  string
		have *string
		want string
	}{
		{"test", &have.Test, found.Test},
		{"lint", &have.Lint, found.Lint},
		{"typecheck", &have.Typecheck, found.Typecheck},
		{"build", &have.Build, found.Build},
		{"setup", &have.Setup, found.Setup},
	} {
		if l.Origin("commands."+c.key).Layer == config.LayerDefault {
			*c.have = c.want
		}
	}
	r.Untested = have.Test == "" && l.Origin("commands.test").Layer != config.LayerDefault
	return r, nil
}

// Recorder remembers what was asked of an environment: with these variables
// another process comes to the same configuration.
type Recorder struct {
	env   config.Env
	asked map[string]string
}

// Record listens to an environment.
func Record(env config.Env) *Recorder { return &Recorder{env: env, asked: map[string]string{}} }

// Env looks a variable up, as os.LookupEnv does. It is not safe for concurrent
// use.
func (r *Recorder) Env(name string) (string, bool) {
	v, ok := r.env(name)
	if ok {
		r.asked[name] = v
	}
	return v, ok
}

// Asked are the variables that were asked for and are set.
func (r *Recorder) Asked() map[string]string { return r.asked }
