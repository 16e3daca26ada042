package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
)

func pauseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "pause RUN", Short: "Stop a run at its next turn boundary", Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], (*api.Client).Pause, func(d api.RunDoc) string {
				switch {
				case d.State.Final():
					return fmt.Sprintf("%s %s already", d.ID, d.State.Has())
				case d.State == agency.StatePaused:
					return fmt.Sprintf("%s is paused; go on with: agency resume %s", d.ID, d.ID)
				}
				return fmt.Sprintf("%s pauses at the end of its turn; go on with: agency resume %s", d.ID, d.ID)
			})
		},
	}
}
