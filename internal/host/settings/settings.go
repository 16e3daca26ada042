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
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check/detect"
	"agency/internal/config"
	"agency/internal/host"
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
	settings, profile, _ := sorted(flags)
	return config.Load(config.Input{
		AgentFiles: agents,
		UserFile:   own, TeamFile: team, RepoFile: repo, Flags: settings, Profile: profile, Env: env, Catalogue: catalogue(known),
		Home: home, Repo: f.WorkTree, State: f.State,
	})
}

// Flags that are no keys of a file: a profile of the user's file, and the model that a run
// or, behind a dot, a role or a level asks.
const (
	FlagProfile = "profile"
	FlagModel   = "model"
)

// sorted parts the flags that are keys from a profile's name and from those that choose models.
func sorted(flags []config.Flag) (keys []config.Flag, profile string, models []config.Flag) {
	for _, f := range flags {
		switch {
		case f.Key == FlagProfile:
			profile = f.Value
		case f.Key == FlagModel, strings.HasPrefix(f.Key, FlagModel+"."):
			models = append(models, f)
		default:
			keys = append(keys, f)
		}
	}
	return keys, profile, models
}

// choose has a configuration ask the models that flags name; that of the run first, so that
// those of roles differ from it.
func choose(c config.Config, flags []config.Flag) (config.Config, error) {
	_, _, models := sorted(flags)
	if len(models) == 0 {
		return c, nil
	}
	known, err := catalog.Load()
	if err != nil {
		return c, err
	}
	slices.SortStableFunc(models, func(a, b config.Flag) int { return len(strings.Split(a.Key, ".")) - len(strings.Split(b.Key, ".")) })
	for _, f := range models {
		whom, _ := strings.CutPrefix(strings.TrimPrefix(f.Key, FlagModel), ".")
		if c, err = host.Choose(known, c, whom, f.Value); err != nil {
			return c, err
		}
	}
	return c, nil
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
	asked := slices.ContainsFunc(flags, func(f config.Flag) bool { return f.Key == "mode" }) || l.Origin("mode").Layer == config.LayerProfile
	if asked && l.Origin("triggers").Layer == config.LayerDefault {
		r.Config.Triggers = nil // a mode that was asked for is kept to
	}
	var err error
	if r.Config, err = choose(r.Config, flags); err != nil {
		return r, err
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
