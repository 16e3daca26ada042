package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/preview"
	"agency/internal/text"
	"agency/internal/ui/tui"
)

// nameRepo is how a command is told where its repository is.
const nameRepo = "cd into the repository, or name it: --repo DIR"

// checkFolder says what is wrong with --repo before anything is looked for in
// it.
func checkFolder(dir string) error {
	const mend = nameRepo
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return agency.Errorf(agency.KindInvalid, "--repo %s: there is no such folder", dir).WithMend(mend)
	case err != nil:
		return agency.Errorf(agency.KindInvalid, "--repo %s: %w", dir, agency.Cause(err)).WithMend(mend)
	case !info.IsDir():
		return agency.Errorf(agency.KindInvalid, "--repo %s: this is a file, not a folder", dir).WithMend(mend)
	}
	return nil
}

// look finds the repository of what is there already, and changes nothing.
func (r *repository) look() (daemon.Place, error) {
	h, err := r.lookToBegin()
	if none, ok := daemon.LookNone(r.env); errors.Is(err, daemon.ErrNoRepository) && r.dir == "." && ok { // what was asked of agents without one
		r.dir = none.Repo.WorkTree
		return none, nil
	}
	if errors.Is(err, daemon.ErrNoRepository) { // a new repository would hold nothing to look at
		err = agency.Errorf(agency.KindInvalid, "%w", err).WithMend(nameRepo)
	}
	return h, err
}

// lookToBegin finds the repository in which something would begin, and changes
// nothing.
func (r *repository) lookToBegin() (daemon.Place, error) {
	if err := checkFolder(r.dir); err != nil {
		return daemon.Place{}, err
	}
	return daemon.LookFrom(r.dir, r.env)
}

// claim finds the repository and makes its state folder where there is none.
// Nothing is written where daemon.Claim refuses.
func (r *repository) claim() (daemon.Place, error) {
	if err := checkFolder(r.dir); err != nil {
		return daemon.Place{}, err
	}
	return daemon.ClaimFrom(r.dir, r.env)
}

// claimNone is claim for a command on text alone: an empty repository of the program's own.
func (r *repository) claimNone(ctx context.Context) (daemon.Place, error) {
	return daemon.ClaimNone(ctx, r.env)
}

// connect finds the repository's host or starts it.
func (r *repository) connect(ctx context.Context, h daemon.Place, want daemon.Want) (*daemon.Connected, error) {
	idle, err := config.HostIdle(r.env)
	if err != nil {
		return nil, err
	}
	c, err := daemon.Connect(ctx, daemon.Options{Place: h, Build: build(), Idle: idle}, want)
	if err != nil {
		return nil, err
	}
	if err := c.Hide(ctx, api.HideRequest{Texts: r.hidden(h)}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// hidden are the keys that the host must write nowhere. A configuration that
// cannot be read is said by whoever needs it.
func (r *repository) hidden(h daemon.Place) []string {
	loaded, err := r.load(h)
	if err != nil {
		return config.WellKnownKeys(r.env)
	}
	_ = r.preview(h).RequireTrust(loaded) // without trust what the repository names does not count
	return loaded.Hidden()
}

// view looks at the host where one lives, else at the store itself.
func (r *repository) view(ctx context.Context, h daemon.Place) (v api.View, closeIt func(), err error) {
	if !h.Exists() {
		return nil, func() {}, agency.Errorf(agency.KindNotFound, "no run of yours was ever started in %s", h.Repo.WorkTree).WithMend(`agency run "GOAL"`)
	}
	c, err := daemon.Await(ctx, h)
	switch {
	case err == nil && c.Hello.Wire == api.Wire:
		return c, c.Close, nil
	case err == nil:
		c.Close()
	case errors.Is(err, daemon.ErrSilent):
		r.note("the host of this repository cannot be asked; this is what it has recorded")
	case !api.Unreachable(err):
		return nil, func() {}, err
	}
	reader, closeDB, err := daemon.LookAt(ctx, h)
	if err != nil {
		return nil, func() {}, err
	}
	return reader, func() { _ = closeDB() }, nil // it was only read
}

// see has fn look at what was recorded.
func (r *repository) see(ctx context.Context, h daemon.Place, fn func(api.View) error) error {
	return lookTwice(func() (api.View, func(), error) { return r.view(ctx, h) }, fn)
}

// lookTwice has fn look at a view, and once more at another where the host leaves between
// two of its questions, as it does when nobody has asked for a while: the record stays.
// fn prints nothing before it has seen all.
func lookTwice(open func() (api.View, func(), error), fn func(api.View) error) error {
	for again := true; ; again = false {
		v, done, err := open()
		if err != nil {
			return err
		}
		err = fn(v)
		done()
		if !again || !api.Unreachable(err) {
			return err
		}
	}
}

// mostNamed bounds how many runs an error names.
const mostNamed = 5

// pick finds the run that is meant: its id, its number, or the beginning or end of an id that
// fits no other. What has the form of a number is one, and never a part of an id: else the
// number of a run that is gone would name another one. An empty name is the newest.
func pick(ctx context.Context, v api.Looker, name string) (api.RunDoc, error) {
	runs, err := v.Runs(ctx)
	if err != nil {
		return api.RunDoc{}, err
	}
	number := agency.NumberOf(name)
	var fits []api.RunDoc
	for _, r := range runs {
		if string(r.ID) == name || number != 0 && r.Number == number {
			return r, nil
		}
		if number != 0 {
			continue
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
	case len(fits) == 0 && number != 0:
		return api.RunDoc{}, agency.Errorf(agency.KindNotFound, "no run here has the number %d", number).WithMend("agency ps; more of an id than its digits names it")
	case len(fits) == 0:
		return api.RunDoc{}, agency.Errorf(agency.KindNotFound, "run %s is not known here%s", name, nearest(runs, name)).WithMend("agency ps")
	case len(fits) > 1:
		var ids []string
		for _, r := range fits[max(0, len(fits)-mostNamed):] {
			ids = append(ids, string(r.ID))
		}
		slices.Reverse(ids)
		return api.RunDoc{}, usage("run %s: %d runs are called like that, the newest first: %s", name, len(fits), strings.Join(ids, ", "))
	}
	return fits[0], nil
}

// nearest is the run that may be meant by a name that is none; a run is named by the end of its id, too.
func nearest(runs []api.RunDoc, name string) string {
	var known []string
	for _, r := range slices.Backward(runs) {
		id := string(r.ID)
		known = append(known, id, id[strings.LastIndex(id, "-")+1:])
	}
	return text.Suggestion(name, known)
}

// preview is the repository without its host.
func (r *repository) preview(h daemon.Place) *preview.Repo { return h.Preview(r.env, r.now, r.tell) }

// load reads the configuration as it counts here and now.
func (r *repository) load(h daemon.Place) (*config.Loaded, error) { return r.preview(h).Load() }

// secretsOf are the keys that a run's copy names, as far as this environment
// has them.
func (r *repository) secretsOf(ctx context.Context, h daemon.Place, c *daemon.Connected, run agency.RunID) (map[string]string, error) {
	doc, err := c.Copy(ctx, run)
	if err != nil {
		return nil, err
	}
	kept, err := preview.ConfigOf(doc)
	if err != nil {
		return nil, err
	}
	refs, err := preview.ModelsOf(doc)
	if err != nil {
		return nil, err
	}
	loaded, err := r.load(h)
	if err != nil {
		return nil, err
	}
	if err := r.preview(h).RequireTrust(loaded); err != nil {
		return nil, err
	}
	return loaded.SecretsFor(kept, config.ProvidersOf(refs))
}

// complete has shells complete the names of runs and gates where a command takes one, and
// what the flags of those that start work name. Nothing is started for it.
func complete(a *app, cmd *cobra.Command) {
	if names := argumentsOf(cmd); len(names) > 0 && strings.HasPrefix(names[0], "RUN") && cmd.ValidArgsFunction == nil {
		gates := strings.Contains(names[0], "GATE")
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return runNames(cmd.Context(), a, gates), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, list := range map[string]func() []string{
		"mode": func() []string {
			return []string{"single", "contract", "producer_critic", "multi_agent", "tiered", "full"}
		},
		"agent":   func() []string { return nameable(a).Agents },
		"model":   func() []string { return nameable(a).Models },
		"profile": func() []string { return nameable(a).Profiles },
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return list(), cobra.ShellCompDirectiveNoFileComp
			}) // it fails only for a flag that is not there, or has one
		}
	}
	for _, sub := range cmd.Commands() {
		complete(a, sub)
	}
}

// runNames are the runs of the repository, newest first, and with gates those that wait.
func runNames(ctx context.Context, a *app, gates bool) (out []string) {
	h, err := a.look()
	if err != nil {
		return nil
	}
	_ = a.see(ctx, h, func(v api.View) error { // what cannot be read completes nothing
		runs, err := v.Runs(ctx)
		out = nil
		for _, r := range slices.Backward(runs) {
			out = append(out, string(r.ID)+"\t"+tui.Line(r.Goal))
			if name := agency.NumberName(r.Number); name != "" {
				out = append(out, name+"\t"+string(r.ID))
			}
			for _, g := range r.Gates {
				if gates {
					out = append(out, string(g.ID)+"\t"+tui.Line(g.Summary))
				}
			}
		}
		return err
	})
	return out
}

// nameable is what flags may name here.
func nameable(a *app) preview.Named {
	h, err := a.look()
	if err != nil {
		return preview.Named{}
	}
	return a.preview(h).Named()
}
