package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

func diffCommand(a *app) *cobra.Command {
	var asJSON, stat, raw bool
	cmd := &cobra.Command{
		Use: "diff [RUN]", Short: "Show what a run would land", Args: atMostOne,
		Long: "Shows the change of a run's branch against its base; before anything was integrated, the agent's files as they\nwere last tested. Local edits that the run started from (--include-dirty) stand apart, before it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(_ daemon.Place, v api.View, run api.RunDoc) error {
				if run.Mode == agency.ModeAgent {
					return agency.Errorf(agency.KindConflict, "run %s has an answer and no work: nothing of an agent's run lands", run.ID).
						WithMend("agency resume %s prints the answer", run.ID)
				}
				d, err := v.Diff(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				asIs := diffText(func(patch string) string { return patch }, d, stat)
				if raw {
					return a.out.Raw(asIs)
				}
				if !asJSON && tui.Clean(asIs) != asIs {
					a.note("it has characters that steer a terminal or are not seen, shown as \\u001b: agency diff %s --raw prints it as it is merged, for git apply", run.ID)
				}
				return a.showAsIs(asJSON, d, func() string {
					return diffText(func(patch string) string { return tui.Diff(a.style, patch) }, d, stat)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&stat, "stat", false, "only the summary")
	cmd.Flags().BoolVar(&raw, "raw", false, "byte by byte as it is merged, for git apply: it may steer a terminal")
	oneOf(cmd, "json", "raw")
	oneOf(cmd, "stat", "raw")
	return cmd
}

// diffText is the change, after the user's own edits where the run started from
// some: both land, and only one of them is the run's work. A patch program passes
// the lines between them over.
func diffText(show func(patch string) string, d api.DiffDoc, stat bool) string {
	text := func(summary, patch string) string {
		if stat {
			return tui.Clean(summary)
		}
		return show(patch)
	}
	if d.Local == nil {
		return text(d.Stat, d.Patch)
	}
	return fmt.Sprintf("# your local edits, a commit of their own (%.10s), which the run started from\n%s\n# the work of the run on top of them\n%s",
		d.Local.Commit, text(d.Local.Stat, d.Local.Patch), text(d.Stat, d.Patch))
}
