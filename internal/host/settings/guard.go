package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/text"
)

// Guard makes sure that a run is started with what the files of its user and
// repository say, whatever a request says. It reads them anew for each.
type Guard struct {
	Files Files        // WorkTree is taken from the request
	Repo  git.Location // that the host serves
	ID    string       // of the repository, to which trust is bound
	Now   func() time.Time
}

var _ host.Settings = Guard{}

// Check refuses a request whose configuration is another than the one that the
// host comes to itself from the files, the request's flags and the variables
// that these ask for; and one that widens what the user allows without trust.
// The error is KindInvalid or KindDenied and names the settings.
func (g Guard) Check(r api.RunRequest, c host.RunConfig) error {
	loc, err := git.Find(r.Repo)
	if err != nil {
		return err
	}
	if !sameFolder(loc.CommonDir, g.Repo.CommonDir) {
		return agency.Errorf(agency.KindDenied, "%s is not the repository that this host serves, %s", r.Repo, g.Repo.CommonDir).
			WithMend("run agency in that folder")
	}
	if !loc.Recorded() && !sameFolder(loc.WorkTree, g.Repo.WorkTree) {
		return agency.Errorf(agency.KindDenied, "%s says that it is a checkout of %s, and only %s is known as one to this host", loc.WorkTree, loc.CommonDir, g.Repo.WorkTree).
			WithMend("run agency in that folder")
	}
	for _, f := range r.From.Flags {
		if !slices.Contains(flagKeys[:], f.Key) && !strings.HasPrefix(f.Key, FlagModel+".") {
			return agency.Errorf(agency.KindDenied, "%s: %s is no setting of a command line", f.Name, f.Key).
				WithMend("write it into %s", g.Files.User)
		}
	}
	for name := range r.Env {
		if !config.IsToolVariable(name) {
			return agency.Errorf(agency.KindDenied, "variable %s is none that toolchains are found by", name).
				WithMend("set it in the command that needs it: commands of agency.yaml")
		}
	}
	files, flags := g.Files, flagsOf(r.From)
	files.WorkTree = loc.WorkTree
	if files.Agents, err = checkCast(files, r, c); err != nil {
		return err
	}
	env := func(name string) (string, bool) { v, ok := r.From.Vars[name]; return v, ok }
	loaded, err := Load(files, config.Source{Path: r.From.TeamPath, Data: r.From.Team}, flags, env)
	if err != nil {
		return err
	}
	if err := loaded.Supported(); err != nil {
		return err
	}
	if err := loaded.RequireTrust(config.NewTrustStore(files.State, g.Now), g.ID); err != nil {
		return err
	}
	want, err := Resolve(loaded, files.WorkTree, flags, env)
	if err != nil {
		return err
	}
	return g.compare(want, wanted{c.Config, r.Mode, r.Land, c.Untested})
}

// checkCast refuses agents that are others than the files say; outside says that files of the
// repository are among them.
func checkCast(files Files, r api.RunRequest, c host.RunConfig) (outside bool, err error) {
	if r.Agent == "" {
		return false, nil
	}
	own, err := files.Cast(r.Agent)
	if err != nil {
		return false, err
	}
	a, err := json.Marshal(own)
	if err != nil {
		return false, err
	}
	b, err := json.Marshal(c.Agents)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(a, b) {
		return false, agency.Errorf(agency.KindDenied, "the request asks for other agents than the host reads in the agent files").
			WithMend("where a file was changed just now, type the same again")
	}
	return len(own.Outside()) > 0, nil
}

// flagKeys are the settings that have flags. None of them widens what a run may
// reach; the budget is its caller's own, models are of providers that files name, and a
// profile stands in the user's file.
var flagKeys = [...]string{"mode", "max_parallel_agents", "budget.usd", FlagProfile, FlagModel}

// wanted is what of a request follows from the configuration.
type wanted struct {
	config.Config
	mode     agency.Mode
	land     agency.LandMode
	untested bool
}

func (g Guard) compare(own Resolved, r wanted) error {
	found, err := differences(own.Config, r.Config)
	if err != nil {
		return err
	}
	if r.mode != agency.ModeAgent && r.mode != own.Config.Mode {
		found = append(found, differ("mode", own.Config.Mode, r.mode))
	}
	if r.land != own.Config.Land {
		found = append(found, differ("land", own.Config.Land, r.land))
	}
	if r.untested != own.Untested {
		found = append(found, differ("commands.test set to nothing", own.Untested, r.untested))
	}
	if len(found) == 0 {
		return nil
	}
	const most = 5
	if n := len(found) - most; n > 0 {
		found = append(found[:most], fmt.Sprintf("and %d more", n))
	}
	return agency.Errorf(agency.KindDenied, "the request asks for other settings than the host reads in %s, %s and the flags:\n  %s",
		g.Files.User, config.RepoFile, strings.Join(found, "\n  ")).
		WithMend("where a file was changed just now, type the same again; else write it into %s, or into %s and then: agency trust", g.Files.User, config.RepoFile)
}

// Only lets runs start with one configuration alone: that of a host which a
// program starts for its own runs.
func Only(c config.Config) host.Settings { return only{c} }

type only struct{ config.Config }

func (o only) Check(_ api.RunRequest, c host.RunConfig) error {
	found, err := differences(o.Config, c.Config)
	if err == nil && len(found) > 0 {
		err = agency.Errorf(agency.KindDenied, "this host starts runs of its own only: %s", found[0])
	}
	return err
}

func flagsOf(s api.Sources) []config.Flag {
	out := make([]config.Flag, len(s.Flags))
	for i, f := range s.Flags {
		out[i] = config.Flag(f)
	}
	return out
}

func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	here, err := os.Stat(a)
	if err != nil {
		return false
	}
	there, err := os.Stat(b)
	return err == nil && os.SameFile(here, there)
}

func differ(key string, own, asked any) string {
	return fmt.Sprintf("%s: %s instead of %s", key, short(asked), short(own))
}

func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return text.Head(string(b), 120)
}

// differences are the settings in which a configuration is another, by their
// dotted keys. None of them can be overlooked: it compares what is stored.
func differences(own, asked config.Config) ([]string, error) {
	a, err := tree(own)
	if err != nil {
		return nil, err
	}
	b, err := tree(asked)
	if err != nil {
		return nil, err
	}
	var found []string
	walk("", a, b, &found)
	return found, nil
}

func tree(c config.Config) (v any, err error) {
	b, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

func walk(key string, own, asked any, found *[]string) {
	if reflect.DeepEqual(own, asked) {
		return
	}
	a, isMap := own.(map[string]any)
	b, both := asked.(map[string]any)
	if !isMap || !both {
		*found = append(*found, differ(key, own, asked))
		return
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := name
		if key != "" {
			at = key + "." + name
		}
		walk(at, a[name], b[name], found)
	}
}
