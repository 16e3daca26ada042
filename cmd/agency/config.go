package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/daemon"
)

func configCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show and check the configuration", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "show", Short: "The effective configuration: each value and where it came from", Args: none,
			RunE: func(*cobra.Command, []string) error {
				_, l, err := a.loadHere()
				if err != nil {
					return err
				}
				_, err = a.out.Write(config.Show(l))
				return err
			},
		},
		&cobra.Command{
			Use: "validate", Short: "Check the files; faults are shown with line, column and caret", Args: none,
			RunE: func(*cobra.Command, []string) error {
				h, l, err := a.loadHere()
				if err != nil {
					return err
				}
				for _, w := range l.Warnings {
					a.note("%s: %s", w.Origin, w.Text)
				}
				if err := l.Supported(); err != nil {
					return err
				}
				valid := "the configuration is valid"
				if err := a.preview(h).RequireTrust(l); agency.MendOf(err) == trustIt {
					a.note("%v", err)
					valid += ", and a run needs your trust in it: " + trustIt
				} else if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.out, valid)
				return err
			},
		},
		&cobra.Command{
			Use: "schema", Short: "The JSON schema of agency.yaml", Args: none,
			RunE: func(*cobra.Command, []string) error {
				_, err := a.out.Write(config.Schema())
				return err
			},
		},
	)
	return cmd
}

// trustIt mends a configuration that asks for more than the user's own allows.
const trustIt = "agency trust"

// loadHere reads the configuration of the repository, or outside of one the
// user's own.
func (r *repository) loadHere() (daemon.Place, *config.Loaded, error) {
	h, err := r.look()
	if err != nil {
		f, ferr := config.FindFolders(r.env)
		if ferr != nil {
			return h, nil, err
		}
		h = daemon.Place{Root: f.State, Config: f.ConfigFile()}
	}
	l, err := r.load(h)
	return h, l, err
}
