package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/llm/catalog"
)

// here is the repository that a command is about.
type here struct {
	loc     git.Location
	folders config.Folders
	place   daemon.Place
}

// relative are files and folders as people name them from where they stand,
// relative to the top of the working tree.
func (h here) relative(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, usage("--include-untracked %s: %v", name, err)
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(dir, filepath.Base(abs))
		}
		rel, err := filepath.Rel(h.loc.WorkTree, abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nil, usage("--include-untracked %s: this is not in the working tree %s", name, h.loc.WorkTree)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out, nil
}

func (a *app) find() (git.Location, config.Folders, error) {
	if err := checkFolder(a.dir); err != nil {
		return git.Location{}, config.Folders{}, err
	}
	loc, err := git.Find(a.dir)
	if err != nil {
		return loc, config.Folders{}, err
	}
	f, err := config.FindFolders(a.env)
	return loc, f, err
}

// checkFolder says what is wrong with --repo before anything is looked for in
// it.
func checkFolder(dir string) error {
	const mend = "cd into the repository, or name it: --repo DIR"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return agency.Errorf(agency.KindInvalid, "--repo %s: there is no such folder", dir).WithMend(mend)
	case err != nil:
		return agency.Errorf(agency.KindInvalid, "--repo %s: %w", dir, bare(err)).WithMend(mend)
	case !info.IsDir():
		return agency.Errorf(agency.KindInvalid, "--repo %s: this is a file, not a folder", dir).WithMend(mend)
	}
	return nil
}

// bare is the cause of a failed system call without the call's name, which
// tells people nothing.
func bare(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// look finds the repository and changes nothing.
func (a *app) look() (here, error) {
	loc, f, err := a.find()
	if err != nil {
		return here{}, err
	}
	p, err := daemon.Look(loc, f)
	return here{loc, f, p}, err
}

// claim finds the repository and makes its state folder where there is none.
func (a *app) claim() (here, error) {
	loc, f, err := a.find()
	if err != nil {
		return here{}, err
	}
	if err := f.Make(); err != nil {
		return here{}, err
	}
	p, err := daemon.Claim(loc, f)
	return here{loc, f, p}, err
}

// connect finds the repository's host or starts it.
func (a *app) connect(ctx context.Context, h here, want daemon.Want) (*daemon.Connected, error) {
	idle, err := config.HostIdle(a.env)
	if err != nil {
		return nil, err
	}
	c, err := daemon.Connect(ctx, daemon.Options{Place: h.place, Build: build(), Idle: idle}, want)
	if err != nil {
		return nil, err
	}
	if err := c.Hide(ctx, api.HideRequest{Texts: a.hidden(h)}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// hidden are the keys that the host must write nowhere. A configuration that
// cannot be read is said by whoever needs it.
func (a *app) hidden(h here) []string {
	loaded, err := a.load(h, nil)
	if err != nil {
		return config.WellKnownKeys(a.env)
	}
	_ = a.trusted(h, loaded) // without trust what the repository names does not count
	return loaded.Hidden()
}

// view looks at the host where one lives, else at the store itself.
func (a *app) view(ctx context.Context, h here) (v api.View, live bool, closeIt func(), err error) {
	if !h.place.Exists() {
		return nil, false, func() {}, agency.Errorf(agency.KindNotFound, "no run was ever started in %s", h.loc.WorkTree).WithMend(`agency run "GOAL"`)
	}
	c, err := daemon.Await(ctx, h.place)
	switch {
	case err == nil && c.Hello.Wire == api.Wire:
		return c, true, c.Close, nil
	case err == nil:
		c.Close()
	case errors.Is(err, daemon.ErrSilent):
		a.note("the host of this repository cannot be asked; this is what it has recorded")
	case !api.Unreachable(err):
		return nil, false, func() {}, err
	}
	r, closeDB, err := daemon.LookAt(ctx, h.place)
	if err != nil {
		return nil, false, func() {}, err
	}
	return r, false, func() { _ = closeDB() }, nil // it was only read
}

// pick finds the run that is meant: its id, or the beginning or end of one
// that fits no other. An empty name is the newest.
func pick(ctx context.Context, v api.Looker, name string) (api.RunDoc, error) {
	runs, err := v.Runs(ctx)
	if err != nil {
		return api.RunDoc{}, err
	}
	var fits []api.RunDoc
	for _, r := range runs {
		if string(r.ID) == name {
			return r, nil
		}
		if strings.HasPrefix(string(r.ID), name) || strings.HasSuffix(string(r.ID), "-"+name) {
			fits = append(fits, r)
		}
	}
	switch {
	case len(runs) == 0:
		return api.RunDoc{}, agency.Errorf(agency.KindNotFound, "there is no run here yet").WithMend(`agency run "GOAL"`)
	case name == "":
		return runs[len(runs)-1], nil
	case len(fits) == 0:
		return api.RunDoc{}, agency.Errorf(agency.KindNotFound, "run %s is not known here", name).WithMend("agency ps")
	case len(fits) > 1:
		return api.RunDoc{}, usage("run %s: %d runs are called like that", name, len(fits))
	}
	return fits[0], nil
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
		return config.Source{}, usage("%s: %v", path, bare(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return config.Source{}, agency.Errorf(agency.KindInvalid, "%s is a link; a repository's configuration must be a file of its own", path).
			WithMend("rm %s, then agency init", path)
	case !info.Mode().IsRegular():
		return config.Source{}, agency.Errorf(agency.KindInvalid, "%s is not a plain file", path).WithMend("remove it, then agency init")
	}
	f, err := os.Open(path)
	if err != nil {
		return config.Source{}, usage("%s: %v", path, bare(err))
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return config.Source{}, usage("%s: %v", path, bare(err))
	}
	if len(b) > maxConfig {
		return config.Source{}, usage("%s is larger than %d bytes", path, maxConfig)
	}
	if b == nil {
		b = []byte{}
	}
	return config.Source{Path: path, Data: b}, nil
}

// repoFile is where a repository's configuration stands.
const repoFile = "agency.yaml"

// load reads the configuration as it counts here and now.
func (a *app) load(h here, flags []config.Flag) (*config.Loaded, error) {
	return a.loadWith(h, config.Source{}, flags)
}

// loadWith is load with the file that a run is started with.
func (a *app) loadWith(h here, team config.Source, flags []config.Flag) (*config.Loaded, error) {
	own, err := readSource(h.folders.ConfigFile(), os.Stat)
	if err != nil {
		return nil, err
	}
	repo := config.Source{Path: repoFile}
	if h.loc.WorkTree != "" {
		if repo, err = readSource(filepath.Join(h.loc.WorkTree, repoFile), os.Lstat); err != nil {
			return nil, err
		}
		repo.Path = repoFile
	}
	known, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	home, _ := a.env("HOME")
	return config.Load(config.Input{
		UserFile: own, TeamFile: team, RepoFile: repo, Flags: flags, Env: a.env, Catalogue: catalogue(known),
		Home: home, Repo: h.loc.WorkTree, State: h.folders.State,
	})
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

// secretsOf are the keys that a run's copy names, as far as this environment
// has them.
func (a *app) secretsOf(ctx context.Context, h here, c *daemon.Connected, run agency.RunID) (map[string]string, error) {
	doc, err := c.Copy(ctx, run)
	if err != nil {
		return nil, err
	}
	kept, err := host.ParseCopy(doc.Config)
	if err != nil {
		return nil, err
	}
	refs, err := kept.Config.RunModels()
	if err != nil {
		return nil, err
	}
	loaded, err := a.load(h, nil)
	if err != nil {
		return nil, err
	}
	if err := a.trusted(h, loaded); err != nil {
		return nil, err
	}
	return loaded.SecretsFor(kept.Config, config.ProvidersOf(refs))
}

func (a *app) trusted(h here, l *config.Loaded) error {
	return l.RequireTrust(config.NewTrustStore(h.folders.State, a.now), h.place.ID)
}
