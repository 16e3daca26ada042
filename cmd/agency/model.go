package main

import (
	"context"

	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/preview"
)

func modelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "model RUN [ROLE=]NAME", Short: "Have a run ask another model from its next requests on", Args: exactly(2),
		Long: `Has a run ask another model, in all of it or where a role, or a level, is named. It is
reserved for before it is asked, the log tells of it, and a request that waits for its
provider is sent to the new model instead. NAME is provider/model, a model's name alone
where one provider has it, or a level (reasoning-heavy, capable, fast-cheap).`,
		Example: `  agency model k3f9d2ab claude-haiku-4-5
  agency model k3f9d2ab reviewer=anthropic/claude-opus-4-1`,
		RunE: func(cmd *cobra.Command, args []string) error { return chooseModel(cmd.Context(), a, args[0], args[1]) },
	}
}

func chooseModel(ctx context.Context, a *app, name, given string) error {
	return a.withRun(ctx, name, daemon.Want{}, func(h daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		kept, err := c.Copy(ctx, run.ID)
		if err != nil {
			return err
		}
		chosen, err := preview.Choose(kept, given)
		if err != nil {
			return err
		}
		loaded, err := a.load(h)
		if err != nil {
			return err
		}
		if err := a.preview(h).RequireTrust(loaded); err != nil {
			return err
		}
		r := api.ModelRequest{Whom: chosen.Whom, Name: chosen.Name, By: who()}
		if r.Secrets, err = loaded.SecretsFor(chosen.Config, chosen.Providers); err != nil {
			return err
		}
		doc, err := api.Choose(ctx, c.Client, run.ID, r)
		switch {
		case err != nil:
		case doc.Model == doc.Before:
			a.printf(a.out, "%s asks %s already\n", run.ID, doc.Model)
		default:
			a.printf(a.out, "%s asks %s with its next requests, instead of %s\n", run.ID, doc.Model, doc.Before)
			if doc.Note != "" {
				a.printf(a.err, "%s\n", doc.Note)
			}
		}
		return err
	})
}
