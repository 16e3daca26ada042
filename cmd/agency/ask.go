package main

import (
	"github.com/spf13/cobra"

	"agency/internal/agency"
)

func askCommand(a *app) *cobra.Command {
	f := runFlags{agent: agency.GuideAgent}
	cmd := &cobra.Command{
		Use: "ask QUESTION | ask -f FILE | ask -", Short: "Answer a question about the repository, and change nothing",
		Long: `Answers a question about the repository as HEAD has it. The agent repository-guide
reads a checkout of its own; it has no tool that writes or runs anything, there is no
branch and no gate but that of the budget. The answer alone is standard output; what was
done for it and what it cost stand beside it, where errors go. It is a run as any other:
agency ps lists it, agency resume lets it go on after a crash.`,
		Example: `  agency ask "Where are durations parsed, and what happens to 1h30m?"
  agency ask -f question.md --budget 0.50 >answer.md
  git show | agency ask -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && f.file == "" {
				return agency.Errorf(agency.KindInvalid, "ask: say what you want to know").WithMend(`agency ask "QUESTION"`)
			}
			return agentFlags(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.budgeted = cmd.Flags().Changed("budget")
			text, err := wanted(cmd.Context(), a, f, args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return runAgent(cmd.Context(), a, f, text)
		},
	}
	f.levels.define(cmd)
	defineAsked(cmd.Flags(), &f, "question")
	return cmd
}
