package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agency/internal/api"
)

func cancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "End a run; its branch and record stay", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], (*api.Client).Cancel, func(d api.RunDoc) string {
				return fmt.Sprintf("%s: %s", d.ID, d.State)
			})
		},
	}
}
