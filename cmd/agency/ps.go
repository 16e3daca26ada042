package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

func psCommand(a *app) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "ps", SuggestFor: []string{"list", "ls", "status", "runs"}, Short: "List the runs of this repository, or of all", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := a.runs
			if all {
				list = func(ctx context.Context) ([]api.RunDoc, error) { return runsOfAll(ctx, &a.repository) }
			}
			runs, err := list(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(asJSON, runs, func() string { return tui.Runs(a.style, runs, a.now(), all) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "of all repositories, from any folder")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// runsOfAll are those of all repositories of the user, newest first, as they are recorded. A
// record that cannot be read is named.
func runsOfAll(ctx context.Context, r *repository) ([]api.RunDoc, error) {
	places, err := daemon.Places(r.env)
	if err != nil {
		return nil, err
	}
	all := []api.RunDoc{}
	for _, p := range places {
		err := r.see(ctx, p, func(v api.View) error { // its host, where one lives, knows what works now
			runs, err := v.Runs(ctx)
			all = append(all, runs...)
			return err
		})
		if err != nil {
			r.note("the runs that %s records cannot be read: %v", p.State, err)
		}
	}
	slices.SortStableFunc(all, func(a, b api.RunDoc) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// runs are those of the repository, newest first.
func (r *repository) runs(ctx context.Context) ([]api.RunDoc, error) {
	h, err := r.look()
	if err != nil {
		return nil, err
	}
	if !h.Exists() {
		return []api.RunDoc{}, nil
	}
	var runs []api.RunDoc
	var use map[agency.RunID]int64
	err = r.see(ctx, h, func(v api.View) (err error) {
		if runs, err = v.Runs(ctx); err == nil {
			use, err = v.DiskUse(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	for i := range runs {
		if n, ok := use[runs[i].ID]; ok {
			runs[i].DiskBytes = &n
		}
	}
	return runs, nil
}
