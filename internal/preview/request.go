package preview

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/host"
	"agency/internal/host/settings"
	"agency/internal/llm"
	"agency/internal/llm/catalog"
	"agency/internal/regexp"
)

// Wish is what a person asks a run for.
type Wish struct {
	Goal    string           // or the name of a team file
	Agent   string           // who answers the goal; "": it is worked on
	NoRepo  bool             // with an agent: the repository is none of the user's
	Feature agency.FeatureID // in the place of a goal
	Follows *agency.Follows  // the run where this one begins; nil: none
	Flags   []config.Flag    // that are settings
	Target  string           // the branch; "": the one that is checked out
	By      string

	Yes, Strict bool
	Asks        bool // somebody sits at a terminal and can be asked
	// IncludeDirty takes edits of tracked files along, IncludeUntracked these files
	// and folders, as they are named from the working folder.
	IncludeDirty     bool
	IncludeUntracked []string
	Images           []string // files
	// Allowed refuses a configuration that this system cannot run.
	Allowed func(config.Config) error
}

// ProfileFlag is a profile of the user's file as a setting of a command line.
func ProfileFlag(name string) config.Flag {
	return config.Flag{Key: settings.FlagProfile, Value: name, Name: "--profile"}
}

// Chosen is a person's choice of a model for a run that has begun: NAME or WHOM=NAME, and
// what the run keeps then, with whom it may ask.
type Chosen struct {
	Whom, Name string
	Config     config.Config
	Providers  []string
}

// Choose reads one, as the host will.
func Choose(doc api.CopyDoc, given string) (out Chosen, err error) {
	out.Name = given
	if whom, name, ok := strings.Cut(given, "="); ok {
		out.Whom, out.Name = whom, name
	}
	kept, err := host.ParseRunConfig(doc.Config)
	if err != nil {
		return out, err
	}
	known, err := catalog.Load()
	if err != nil {
		return out, err
	}
	if kept.Config, err = host.Choose(known, kept.Config, out.Whom, out.Name); err != nil {
		return out, err
	}
	refs, err := kept.Models()
	out.Config, out.Providers = kept.Config, config.ProvidersOf(refs)
	return out, err
}

// ModelFlag is a choice of a model, NAME or ROLE=NAME, likewise.
func ModelFlag(given string) config.Flag {
	key, name := settings.FlagModel, given
	if whom, of, ok := strings.Cut(given, "="); ok {
		key, name = key+"."+whom, of
	}
	return config.Flag{Key: key, Value: name, Name: "--model " + given}
}

// Request is everything that a run is started with.
func (r *Repo) Request(ctx context.Context, w Wish) (api.RunRequest, error) {
	file, err := config.Source{}, error(nil)
	if w.Follows == nil {
		file, err = teamFile(w.Goal)
	}
	if err != nil {
		return api.RunRequest{}, err
	}
	s, err := r.resolve(file, w.Flags)
	if err != nil {
		return api.RunRequest{}, err
	}
	cfg := s.Config
	goal, plan, err := given(s.loaded, cfg, w.Goal)
	if err != nil {
		return api.RunRequest{}, err
	}
	if err := w.Allowed(cfg); err != nil {
		return api.RunRequest{}, err
	}
	refs, err := cfg.RunModels()
	if err != nil {
		return api.RunRequest{}, err
	}
	secrets, err := s.loaded.Secrets(config.ProvidersOf(refs))
	if err != nil {
		return api.RunRequest{}, err
	}
	r.tellFound(s, refs)
	raw, err := json.Marshal(cfg)
	if err != nil {
		return api.RunRequest{}, err
	}
	name, of := goal, (*agency.Feature)(nil)
	if w.Feature != "" {
		found, err := r.feature(ctx, w, cfg.Contracts.MaxVerificationSteps)
		if err != nil {
			return api.RunRequest{}, err
		}
		goal, name, of = found.Goal(), string(found.ID)+" "+found.Description, &found
		if err := agency.CheckGoal(goal); err != nil {
			return api.RunRequest{}, err
		}
	}
	untracked, err := r.relative(w.IncludeUntracked)
	if err != nil {
		return api.RunRequest{}, err
	}
	images, err := imagesIn(w.Images)
	if err != nil {
		return api.RunRequest{}, err
	}
	id, err := agency.NewRunID(nameable(name, s.loaded.Hidden()), rand.Reader)
	if err != nil {
		return api.RunRequest{}, err
	}
	return api.RunRequest{
		ID: id, Goal: goal, Feature: of, Follows: w.Follows, Repo: r.At.WorkTree, Mode: cfg.Mode, Target: w.Target, Land: cfg.Land, Yes: w.Yes, Strict: w.Strict, Asks: w.Asks,
		IncludeDirty: w.IncludeDirty, IncludeUntracked: untracked, Untested: s.Untested,
		Plan: plan, Config: raw, From: s.from, Env: config.ToolEnv(r.Env), Secrets: secrets, By: w.By, Images: images,
	}, nil
}

// imagesIn reads the pictures that a person names. What none is, or too large, is refused
// before it is sent anywhere.
func imagesIn(names []string) (out []api.Image, err error) {
	for _, name := range names {
		data, err := bounded.ReadAt(name, llm.MaxImage)
		if err == nil {
			_, err = llm.ReadImage(name, data)
		}
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "--image %s: %w", name, agency.Cause(err)).WithMend("name a PNG, JPEG, GIF or WebP file of at most %d bytes", llm.MaxImage)
		}
		out = append(out, api.Image{Name: filepath.Base(name), Data: data})
	}
	return out, nil
}

// AgentRequest is everything that a run is started with in which an agent answers the goal.
func (r *Repo) AgentRequest(w Wish) (api.RunRequest, error) {
	if err := agency.CheckGoal(w.Goal); err != nil {
		return api.RunRequest{}, err
	}
	cast, err := r.Files.Cast(w.Agent)
	if err != nil {
		return api.RunRequest{}, err
	}
	here := *r
	here.Files.Agents = len(cast.Outside()) > 0
	s, err := here.resolve(config.Source{}, w.Flags)
	if err != nil {
		return api.RunRequest{}, err
	}
	if err := w.Allowed(s.Config); err != nil {
		return api.RunRequest{}, err
	}
	refs, err := host.RunConfig{Config: s.Config, Agents: cast}.Models()
	if err != nil {
		return api.RunRequest{}, err
	}
	secrets, err := s.loaded.Secrets(config.ProvidersOf(refs))
	if err != nil {
		return api.RunRequest{}, err
	}
	raw, err := json.Marshal(s.Config)
	if err != nil {
		return api.RunRequest{}, err
	}
	agents, err := json.Marshal(cast)
	if err != nil {
		return api.RunRequest{}, err
	}
	images, err := imagesIn(w.Images)
	if err != nil {
		return api.RunRequest{}, err
	}
	id, err := agency.NewRunID(nameable(w.Agent+" "+w.Goal, s.loaded.Hidden()), rand.Reader)
	if err != nil {
		return api.RunRequest{}, err
	}
	return api.RunRequest{
		ID: id, Goal: w.Goal, Agent: w.Agent, Agents: agents, NoRepo: w.NoRepo, Repo: r.At.WorkTree, Mode: agency.ModeAgent, Land: s.Config.Land, Yes: w.Yes,
		Untested: s.Untested, Config: raw, From: s.from, Env: config.ToolEnv(r.Env), Secrets: secrets, By: w.By, Images: images,
	}, nil
}

// resolved is the configuration of a run, with what it was made from.
type resolved struct {
	settings.Resolved
	loaded *config.Loaded
	from   api.Sources
}

// resolve makes the configuration of a run as its host will, and says what is
// to be said of it.
func (r *Repo) resolve(team config.Source, flags []config.Flag) (s resolved, err error) {
	asked := settings.Record(r.Env)
	if s.loaded, err = settings.Load(r.Files, team, flags, asked.Env); err != nil {
		return s, err
	}
	for _, w := range s.loaded.Warnings {
		r.Tell("%s: %s", w.Origin, w.Text)
	}
	if err := s.loaded.Supported(); err != nil {
		return s, err
	}
	if err := r.RequireTrust(s.loaded); err != nil {
		return s, err
	}
	if s.Resolved, err = settings.Resolve(s.loaded, r.At.WorkTree, flags, asked.Env); err != nil {
		return s, err
	}
	s.from = api.Sources{TeamPath: team.Path, Team: team.Data, Vars: asked.Asked()}
	for _, f := range flags {
		s.from.Flags = append(s.from.Flags, api.Setting(f))
	}
	return s, nil
}

// nameable is a goal without what must not stand in a run's id, which is a
// branch's name too: the user's keys, and words that look like one.
func nameable(goal string, keys []string) string {
	for _, key := range keys {
		goal = strings.ReplaceAll(goal, key, " ")
	}
	words := strings.FieldsFunc(goal, unicode.IsSpace)
	return strings.Join(slices.DeleteFunc(words, looksSecret), " ")
}

// looksSecret: no word of a language or of code is so long without a sign in
// between and holds digits.
var longRun = regexp.MustCompile(`[A-Za-z0-9]{16,}`)

func looksSecret(word string) bool {
	return strings.ContainsAny(longRun.FindString(word), "0123456789")
}

// tellFound says which parts of the repository are left out and, where no file
// says anything, what a run goes by instead.
func (r *Repo) tellFound(s resolved, models []config.ModelRef) {
	for _, left := range s.Seen.Left {
		if s.loaded.Origin("commands.test").Layer == config.LayerDefault {
			r.Tell("%s", left)
		}
	}
	if fileExists(filepath.Join(r.At.WorkTree, config.RepoFile)) {
		return
	}
	var names []string
	for _, lang := range s.Seen.Languages {
		names = append(names, lang.Name)
	}
	r.Tell("no %s; found %s", config.RepoFile, orNone(strings.Join(names, ", ")))
	for _, lang := range s.Seen.Languages {
		if lang.Note != "" {
			r.Tell("%s: %s", lang.Name, lang.Note)
		}
	}
	r.Tell("commands: %s", s.Config.Commands.Line())
	r.Tell("model: %s; write all of it into a file with: agency init", models[0])
}

func orNone(s string) string {
	if s == "" {
		return "nothing that is known"
	}
	return s
}

// relative are files and folders as people name them from where they stand,
// relative to the top of the working tree.
func (r *Repo) relative(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "--include-untracked %s: %v", name, err)
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(dir, filepath.Base(abs))
		}
		rel, err := filepath.Rel(r.At.WorkTree, abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nil, agency.Errorf(agency.KindInvalid, "--include-untracked %s: this is not in the working tree %s", name, r.At.WorkTree)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out, nil
}
