package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/doctor"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/store"
	"agency/internal/ui/tui"
)

func (a *app) doctorCommand() *cobra.Command {
	var run string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the machine, or with --run a run's record, tree and leftovers", Args: cobra.NoArgs,
		Long: `Checks git, the sandbox (by trying to break out of it), keys, commands, disk and
the store. With --run it checks one run: its record, its history, its sums, and
that nothing of it was left behind. Exit code 4 when something is bad.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := a.examine(cmd.Context(), run, cmd.Flags().Changed("run"))
			if err != nil {
				return err
			}
			if err := a.show(asJSON, found, func() string { return a.findings(found) }); err != nil {
				return err
			}
			if doctor.Worst(found) == doctor.Bad {
				return exit(exitEnvironment)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "check the `RUN`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) findings(fs []doctor.Finding) string {
	const head, name = 28, 18 // columns before the detail, and of its name
	indent := strings.Repeat(" ", head)
	var out strings.Builder
	for _, f := range fs {
		text := tui.Wrap(a.style, indent, tui.Line(f.Detail))
		if len(f.Name) <= name && text != "" {
			text = " " + text[head:]
		} else if text != "" {
			text = "\n" + text
		}
		out.WriteString(strings.TrimRight(fmt.Sprintf("%-8s %-*s%s", f.Level, name, f.Name, text), " \n") + "\n")
		if f.Mend != "" {
			out.WriteString(tui.Wrap(a.style, indent, "mend: "+tui.Line(f.Mend)) + "\n")
		}
	}
	return out.String()
}

func (a *app) examine(ctx context.Context, run string, named bool) ([]doctor.Finding, error) {
	if named {
		return a.examineRun(ctx, run)
	}
	m := doctor.Machine{Sets: daemon.Migrations()}
	h, l, err := a.loadHere()
	if err != nil {
		return nil, err
	}
	m.StateDir = h.folders.State
	if h.place.Exists() {
		m.DB = h.place.DB()
	}
	cfg := l.Config
	if h.loc.WorkTree != "" {
		quiet := *a
		quiet.err = discard{}
		if err := quiet.detect(h, l, &cfg); err != nil {
			return nil, err
		}
		m.Untested = cfg.Commands.Test == "" && l.Origin("commands.test").Layer != config.LayerDefault
	}
	m.Commands = host.Copy{Config: cfg}.Commands()
	m.Keys = keysOf(l, h.loc.WorkTree)
	return m.Check(ctx), nil
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func keysOf(l *config.Loaded, workTree string) []doctor.Key {
	refs, err := l.Config.RunModels()
	if err != nil {
		return []doctor.Key{{Provider: "models", Err: err}}
	}
	var keys []doctor.Key
	ordinary := append(l.Config.Ordinary(), workTree)
	for _, ref := range refs {
		have, err := l.Secrets([]string{ref.Provider})
		key, given := have[ref.Provider]
		keys = append(keys, doctor.Key{
			Provider: ref.Provider, Model: ref.String(), Err: err, Placeholder: given && !agency.IsSecret(key, ordinary...),
		})
	}
	return keys
}

func (a *app) examineRun(ctx context.Context, name string) ([]doctor.Finding, error) {
	h, err := a.look()
	if err != nil {
		return nil, err
	}
	v, _, done, err := a.view(ctx, h)
	if err != nil {
		return nil, err
	}
	defer done()
	run, err := pick(ctx, v, name)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{Path: h.place.DB(), Sets: daemon.Migrations(), ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // only read
	g, err := git.NewHost(ctx, git.Options{})
	if err != nil {
		return nil, err
	}
	live := run.Live && run.State == agency.StateRunning
	return doctor.Run{DB: db, Git: g, Repo: h.loc, StateDir: h.place.State, ID: run.ID, Live: live}.Check(ctx), nil
}
