package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/ui/tui"
	termapp "agency/internal/ui/tui/app"
)

const longHelp = `agency turns a goal into a verified, merged change of a git repository.

An agent works in a worktree of its own, every command it runs is in a sandbox,
its claim is verified on a clean checkout, and nothing reaches your branch
before you have seen it at the merge gate.

  agency                               your runs and their gates, in this terminal
  agency demo                          the whole pipeline, offline, no key
  agency run "Parse durations in config.Load; add tests"
  agency approve RUN                   merge it into your branch

Exit codes: 0 success; 1 the run ended without success; 2 usage or
configuration; 3 a gate waits and the command was told not to wait;
4 provider or environment; 130 interrupted (agency resume goes on).`

func (a *app) root() *cobra.Command {
	versionAlone := false
	root := &cobra.Command{
		Use: "agency", Short: "Delegate work on a git repository and trust what comes back", Long: longHelp,
		SilenceErrors: true, SilenceUsage: true, Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if versionAlone {
				a.printf(a.out, "%s", versionLine(build()))
				return nil
			}
			if h, err := a.look(); err == nil && draws(a) {
				return application(cmd.Context(), a, h, termapp.Options{})
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&versionAlone, "version", false, "print the version")
	root.PersistentFlags().StringVar(&a.dir, "repo", ".", "work on the repository that holds `DIR`")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return agencyUsage(cmd, flagFault(cmd, err))
	})
	groups := []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"work", "Start and steer work:", []*cobra.Command{
			initCommand(a), runCommand(a), askCommand(a), approveCommand(a), rejectCommand(a), sayCommand(a), modelCommand(a),
			pauseCommand(a), resumeCommand(a), cancelCommand(a), mergeCommand(a), undoCommand(a), rmCommand(a), featuresCommand(a), decisionsCommand(a), releaseCommand(a),
		}},
		{"look", "Look (starts nothing, changes nothing):", []*cobra.Command{
			psCommand(a), watchCommand(a), inspectCommand(a), costCommand(a), statsCommand(a), diffCommand(a), codeCommand(a),
		}},
		{"set", "Set up and check:", []*cobra.Command{
			demoCommand(a), doctorCommand(a), trustCommand(a), configCommand(a), notifyCommand(a), agentsCommand(a), rehearseCommand(a), versionCommand(a),
		}},
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(demoCheckCommand(a))
	root.AddCommand(absentCommands()...)
	root.SetCompletionCommandGroupID("set")
	root.SetHelpCommandGroupID("set")
	helpKnown(root)
	sayUsage(root)
	if a.width != nil {
		fitHelp(root, a.styleNow())
	}
	complete(a, root)
	return root
}

// helpKnown has help of a command that is not there refused, as the command itself is.
func helpKnown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // no help, no promise
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		of, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 && of.HasSubCommands() {
			return agencyUsage(of, none(of, args[len(args)-max(len(rest), 1):]))
		}
		return nil
	}
}

// fitHelp has the help of a command and of those below it fit a terminal.
func fitHelp(cmd *cobra.Command, st tui.Style) {
	cmd.Long = tui.Fit(st, cmd.Long)
	for _, c := range cmd.Commands() {
		fitHelp(c, st)
	}
	if !cmd.HasParent() {
		cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", st.Width-1)))
	}
}

// absentCommands are those of later versions: their names are promised, so
// that a script learns why they fail.
func absentCommands() []*cobra.Command {
	var out []*cobra.Command
	for _, name := range []string{"replay", "eval", "improve", "serve", "worker", "mcp"} {
		out = append(out, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return usage("%s: not in this version", name) },
		})
	}
	return out
}
