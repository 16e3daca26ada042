package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
)

func sayCommand(a *app) *cobra.Command {
	var to, reply string
	cmd := &cobra.Command{
		Use: "say RUN TEXT", Short: "Send a message into a run", Args: exactly(2),
		Long: "Sends a message to the agent that leads a run, or to another of its agents; it is read before the next\nturn. In a tiered run, whose visionary has no turn while others build, it goes to everyone who is at work\nthen, and whoever begins later reads it first; --to names one. To one that waits for an answer it is the answer. How far it has come, and the ids of messages, are shown by:\nagency inspect RUN --messages.",
		Example: `  agency say k3f9d2ab "the parser must also accept 1d"
  agency say k3f9d2ab --reply-to scaffolder-parser/parser/1/3/1 "yes, hours too"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return sayTo(cmd.Context(), a, args[0], api.SayRequest{To: to, InReplyTo: agency.MessageID(reply), Text: args[1]})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `AGENT` that is meant, or a role: the first of it to look (default: whoever leads; in a tiered run, while it builds, everyone)")
	cmd.Flags().StringVar(&reply, "reply-to", "", "the `ID` of the message that this one answers; it goes to its sender where --to names nobody")
	return cmd
}

// sayTo sends a message into a run.
func sayTo(ctx context.Context, a *app, name string, r api.SayRequest) error {
	return a.withRun(ctx, name, daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		id, err := newID()
		if err != nil {
			return err
		}
		reply := r.InReplyTo
		r.ID, r.By = agency.MessageID(id), who()
		m, err := c.Say(ctx, run.ID, r)
		if err != nil {
			return err
		}
		a.printf(a.out, "message %s to %s: %s\n", m.ID, readers(m), agency.StandOf(m.Message))
		switch {
		case m.To == agency.Everyone:
			a.printf(a.out, "whoever begins later reads it first, the others before their next turn, and who builds is not done before that\n(agency inspect %[1]s --messages says who has; for one of them: agency say %[1]s --to AGENT TEXT)\n", run.ID)
		case reply != "":
			a.printf(a.out, "it answers message %s\n", m.InReplyTo)
		case m.InReplyTo != "":
			a.printf(a.out, "it answers the question %s\n", m.InReplyTo)
		case r.To == "" && cmp.Or(run.MovedTo, run.Mode) == agency.ModeTiered:
			a.printf(a.out, "nobody builds now: it is read when %s plans or accepts\n", m.To)
		}
		return nil
	})
}

// readers is to whom a message went.
func readers(m api.SaidDoc) string {
	switch {
	case m.To != agency.Everyone:
		return cmp.Or(m.To, string(m.ToRole))
	case len(m.Readers) == 0:
		return "everyone"
	}
	return "everyone at work (" + agency.JoinIDs(m.Readers, ", ") + ")"
}
