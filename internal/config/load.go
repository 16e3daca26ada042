package config

import (
	"reflect"
	"strings"

	"agency/internal/agency"
)

// Source is the text of one file. A nil Data means that there is no file.
type Source struct {
	Path string // as shown in faults
	Data []byte
}

// Env looks an environment variable up, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// Flag is a setting made on the command line: a dotted key and its value as
// YAML, for instance {"budget.usd", "5", "--budget"}.
type Flag struct {
	Key   string
	Value string
	Name  string // how the user wrote it, for faults and `config show`
}

// AgentFile is an agent file of a repository, as its user is asked to trust it.
type AgentFile struct {
	Raw  []byte
	Asks string // what it asks for, in a line
	hash agency.Hash
}

// Input is all that a configuration is made from.
type Input struct {
	UserFile Source // the user's own file
	RepoFile Source // agency.yaml of the repository
	// AgentFiles are the repository's own agent files by slash path, where
	// this version loads them; each needs trust.
	AgentFiles map[string]AgentFile
	// TeamFile is a file that a run was started with; no Data: none.
	TeamFile Source
	Flags    []Flag
	Profile  string // of the user's own file, laid over all files; "": none
	Env      Env
	// Catalogue is provider -> capability level -> model names in order of
	// fallback, used for the first provider whose key is set when no file
	// has a models key. It comes from llm/catalog.
	Catalogue map[string]map[string][]string
	// Home is the user's home folder and Repo the repository's root, both
	// for sandbox.read; State is the state folder, which may not be read.
	Home, Repo, State string
}

// Layer says where a value came from.
type Layer string

// The layers, weakest first.
const (
	LayerDefault   Layer = "default"
	LayerCatalogue Layer = "catalogue" // models of the first provider whose key is set
	LayerUser      Layer = "user"
	LayerTeam      Layer = "team file"
	LayerRepo      Layer = "repository"
	LayerProfile   Layer = "profile" // of the user's own file, as a command names it
	LayerFlag      Layer = "flag"
)

// Origin is where one key's value came from. Line and Col are 1-based, 0
// where there is no file.
type Origin struct {
	Layer Layer
	File  string // path, or the flag's name
	Line  int
	Col   int
}

// Warning is something that is no fault but that a person should see.
type Warning struct {
	Text   string
	Origin Origin
}

// Loaded is a configuration with where each value came from.
type Loaded struct {
	Config   Config
	Warnings []Warning
	// Widenings are the settings of the repository's file that reach
	// further than the user's own; they need trust (docs/security.md).
	Widenings []Widening
	// Team is what the team file says beside settings; nil without one.
	Team *Team
	// Profiles are the names of those of the user's file.
	Profiles []string

	trusted bool // by the store or by AGENCY_TRUST=1
	state   *state
	env     Env
	texts   map[string]*lines
}

// Load layers defaults, the user's file, the repository's file and flags. Its
// error holds every Fault of every file and is KindInvalid.
func Load(in Input) (*Loaded, error) {
	if in.Env == nil {
		in.Env = func(string) (string, bool) { return "", false }
	}
	c := &collector{}
	user, userText := readTree(in.UserFile, c)
	repo, repoText := readTree(in.RepoFile, c)
	own, team, teamText := readTeam(in.TeamFile, c)
	flags := flagTrees(in.Flags, c)
	s := newState()
	profile := laid{LayerProfile, profileIn(user, in, c), userText}
	userLaid, teamLaid, repoLaid := laid{LayerUser, user, userText}, laid{LayerTeam, team, teamText}, laid{LayerRepo, repo, repoText}
	for _, l := range append([]laid{userLaid, teamLaid, repoLaid, profile}, flags...) {
		s.lay(l, in.Env, c)
	}
	l := &Loaded{state: s, env: in.Env, Team: own, texts: map[string]*lines{userText.path: userText, teamText.path: teamText, repoText.path: repoText}}
	if own != nil && len(c.faults) == 0 {
		for _, w := range asks(in, userLaid, teamLaid, profile, nil) {
			c.add(teamText, w.Line, w.col, "%s: a team file may not ask for more than your own configuration; set it in agency.yaml, and trust it there", w)
		}
	}
	s.complete(in)
	l.check(in, c)
	if err := c.err(); err != nil {
		return nil, err
	}
	l.Widenings = asks(in, userLaid, repoLaid, profile, in.AgentFiles)
	l.trusted = len(l.Widenings) == 0 || TrustFromEnv(in.Env)
	l.Profiles, s.config.Profiles = sortedKeys(s.config.Profiles), nil
	l.Config, l.Warnings = s.config, append(s.warnings, s.idle()...)
	return l, nil
}

// laid is one layer, parsed.
type laid struct {
	layer Layer
	root  *node
	text  *lines
}

func newState() *state {
	return &state{config: Defaults(), origins: map[string]Origin{}, raw: map[string]string{}}
}

func (s *state) lay(l laid, env Env, c *collector) {
	if l.root == nil {
		return
	}
	d := &decoder{state: s, layer: l.layer, text: l.text, faults: c, env: env}
	d.object(reflect.ValueOf(&s.config).Elem(), l.root, "")
}

// flagTrees makes each flag a layer of its own, so that its faults carry the
// name that the user typed.
func flagTrees(flags []Flag, c *collector) []laid {
	var out []laid
	for _, f := range flags {
		t := &lines{path: f.Name}
		sub := &collector{}
		n, _ := readTree(Source{Path: f.Name, Data: []byte("value: " + f.Value + "\n")}, sub)
		if len(sub.faults) > 0 || n == nil || len(n.entries) != 1 {
			c.add(t, 0, 0, "%s is no value for %s", clip(f.Value), f.Key)
			continue
		}
		v := n.entries[0].value
		v.flatten()
		parts := strings.Split(f.Key, ".")
		for i := len(parts) - 1; i >= 0; i-- {
			v = &node{shape: isMap, entries: []entry{{key: parts[i], value: v}}}
		}
		out = append(out, laid{LayerFlag, v, t})
	}
	return out
}

// flatten takes the positions away: a flag has none.
func (n *node) flatten() {
	n.line, n.col = 0, 0
	for i := range n.entries {
		n.entries[i].line, n.entries[i].col = 0, 0
		n.entries[i].value.flatten()
	}
	for _, m := range n.items {
		m.flatten()
	}
}

// Origin is where a dotted key's effective value came from: the key's own
// line, else that of the mapping it stands in.
func (l *Loaded) Origin(key string) Origin { return l.state.origin(key) }

func (s *state) origin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Origin{Layer: LayerDefault}
}

// ownKeys are the limits across runs and repositories, which stand in the user's own
// file alone.
var ownKeys = []string{"budget.daily_usd", "budget.monthly_usd"}

// ownSections are all that stands there alone, each with all that is in it, and why.
var ownSections = []struct{ key, why string }{
	{ownKeys[0], " is a limit across repositories and stands"},
	{ownKeys[1], " is a limit across repositories and stands"},
	{"hooks", ": commands that run outside of the sandbox stand"},
	{"profiles", ": profiles stand"},
}

func within(key, section string) bool { return key == section || strings.HasPrefix(key, section+".") }

// ownAlone tells whether a key is one of the user's own file alone.
func ownAlone(key string) bool {
	for _, own := range ownSections {
		if within(key, own.key) {
			return true
		}
	}
	return false
}

// ownOnly refuses them in a file that comes with a repository: it would speak for all
// others.
func (ch *checker) ownOnly() {
	for _, own := range ownSections {
		for _, key := range sortedKeys(ch.state.origins) {
			if by := ch.state.origins[key].Layer; within(key, own.key) && by != LayerDefault && by != LayerUser {
				ch.fault("%s%s in your own file alone: move it to %s", []any{key, own.why, ch.in.UserFile.Path}, key)
				break
			}
		}
	}
}

// AcrossRuns are the limits of a user across runs and repositories, each with where
// it stands. 0 is none.
type AcrossRuns struct {
	DailyUSD, MonthlyUSD float64
	Daily, Monthly       Origin
}

// LoadAcrossRuns reads them from the user's own file. Only faults of the file as a whole
// and of its budget count: a host reads it while runs are at work, without what else
// a configuration is made from. The error is KindInvalid.
func LoadAcrossRuns(own Source) (AcrossRuns, error) {
	c := &collector{}
	root, t := readTree(own, c)
	s := newState()
	if root != nil && root.shape == isMap {
		d := &decoder{state: s, layer: LayerUser, text: t, faults: c, env: func(string) (string, bool) { return "", false }}
		for _, e := range root.entries {
			if e.key == "budget" {
				d.object(reflect.ValueOf(&s.config.Budget).Elem(), e.value, e.key)
			}
		}
	}
	b := s.config.Budget
	return AcrossRuns{b.DailyUSD, b.MonthlyUSD, s.origin(ownKeys[0]), s.origin(ownKeys[1])}, c.err()
}
