package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/preview"
	"agency/internal/ui/tui"
)

func notifyCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "Try the places to which gates and ends of runs are announced", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	test := &cobra.Command{
		Use: "test", Short: "Send a test message to every configured place", Args: none,
		Long: "Sends a test message to every place under notify: in the configuration that a run here would have, with the\n" +
			"keys of this environment, and says for each whether it was taken. Quiet hours do not hold it. The exit code is\n" +
			"0 when all were, 1 when one was not, 2 when none is configured.",
		RunE: func(cmd *cobra.Command, _ []string) error { return tryPlaces(cmd.Context(), &a.repository, asJSON) },
	}
	test.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(test)
	return cmd
}

// placesExample is what is written where no place is configured.
const placesExample = `notify:
  - {type: slack, url: "${SLACK_WEBHOOK_URL}"}
  - {type: desktop, events: [gate, failure]}
  - {type: email, url: "smtp://me:${MAIL_PASSWORD}@mail.example.org:587", to: [me@example.org]}
`

func tryPlaces(ctx context.Context, r *repository, asJSON bool) error {
	h, l, err := r.loadHere()
	if err != nil {
		return err
	}
	if len(l.Config.Notify) == 0 {
		r.printf(r.err, "%s", "in agency.yaml, for instance:\n"+placesExample)
	}
	found, err := r.preview(h).TryPlaces(ctx, l)
	if err != nil {
		return err
	}
	if err := r.show(asJSON, found, func() string { return places(found) }); err != nil {
		return err
	}
	if found.Failed() {
		return exit(exitFailed)
	}
	return nil
}

func places(found preview.Announced) string {
	var out strings.Builder
	for _, p := range found.Places {
		result := "ok"
		if !p.OK {
			result = tui.Line(p.Error)
		}
		fmt.Fprintf(&out, "%-10s %-9s %s\n", p.Place, p.Type, result)
		if p.Mend != "" {
			out.WriteString("  mend: " + tui.Line(p.Mend) + "\n")
		}
	}
	return out.String()
}
