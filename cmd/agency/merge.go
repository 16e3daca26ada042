package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agency/internal/api"
)

func mergeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "merge RUN", Short: "Land a run that ended on its branch", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], (*api.Client).Merge, func(d api.RunDoc) string {
				return fmt.Sprintf("%s merged into %s as %.10s", d.ID, d.Target, d.Merged)
			})
		},
	}
}
