package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/ui/tui"
)

func psCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ps", Short: "List the runs of this repository", Args: cobra.NoArgs,
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
	v, done, err := r.view(ctx, h)
	if err != nil {
		return nil, err
	}
	defer done()
	runs, err := v.Runs(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	use, err := v.DiskUse(ctx)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if n, ok := use[runs[i].ID]; ok {
			runs[i].DiskBytes = &n
		}
	}
	return runs, nil
}
