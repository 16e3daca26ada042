package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

func psCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ps", Short: "List the runs of this repository", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runs, err := a.runs(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(asJSON, runs, func() string { return tui.Runs(a.style, runs, a.now()) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
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
