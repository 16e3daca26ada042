package main

import (
	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

func costCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "cost [RUN]", Short: "Show tokens and money by model, contract, agent and role", Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(_ daemon.Place, v api.View, run api.RunDoc) error {
				c, err := v.Cost(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return a.show(asJSON, c, func() string { return tui.Costs(a.style, c) })
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
