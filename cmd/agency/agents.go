package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/preview"
	"agency/internal/ui/tui"
)

const longAgents = `Agent files are Markdown with a head of YAML: who an agent is, what it may call, whom
it hands over to; the text below is its system prompt. They are read from agents/ in
the repository and the folders in which it keeps them for other tools, from agents/
beside your own configuration, and from the program itself; of one name the nearest
counts. Files of subagents and of libraries of personalities load unchanged.

The text of your own and of the program's stands in a role's prompt where
agents.ROLE.talent or a contract's talent names it. agency run --agent NAME has one of
them answer, with all that it comes to.`

func agentsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "List, show, check and import agent files", Long: longAgents, Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(agentsList(a), agentsShow(a), agentsValidate(a), agentsImport(a))
	return cmd
}

func agentsList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "The agents that count here", Args: none,
		RunE: func(*cobra.Command, []string) error {
			all, err := a.agents()
			docs := all.List()
			if len(docs) == 0 && err != nil {
				return err
			}
			return errors.Join(a.show(asJSON, docs, func() string { return tui.Agents(a.style, docs) }), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func agentsShow(a *app) *cobra.Command {
	var asJSON, mermaid bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "An agent as a session would get it, and whom it comes to", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, faults := a.agents()
			if faults != nil && !all.Has(args[0]) { // what is wrong may be what is asked for
				return faults
			}
			if mermaid {
				chart, err := all.Mermaid(args[0])
				_, _ = io.WriteString(a.out, chart) // its lines are its language's
				return err
			}
			doc, err := all.Show(args[0])
			if err != nil {
				return err
			}
			return a.show(asJSON, doc, func() string { return tui.Agent(a.style, doc) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print what hands over to whom as a flowchart of Mermaid")
	oneOf(cmd, "json", "mermaid")
	return cmd
}

func agentsValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "validate [FILE...]", Short: "Check agent files; faults are shown with line, column and caret",
		Long: `Checks all agent files that count here, and how they fit together: unknown agents,
cycles, routers without destinations, formats that do not fit. With FILEs, these alone
and each by itself.`,
		RunE: func(_ *cobra.Command, files []string) error {
			if len(files) > 0 {
				notes, err := preview.CheckAgentFiles(files)
				for _, n := range notes {
					a.note("%s", n)
				}
				if err == nil {
					a.printf(a.out, "%s can be read\n", agency.Things(len(files), "agent file", "agent files"))
				}
				return err
			}
			all, err := a.agents()
			if err != nil {
				return err
			}
			for _, n := range all.Notes() {
				a.note("%s", n)
			}
			if err := all.Check(); err != nil {
				return err
			}
			a.printf(a.out, "%s fit together\n", agency.Things(len(all.List()), "agent", "agents"))
			return nil
		},
	}
}

func agentsImport(a *app) *cobra.Command {
	var asJSON, replace, here bool
	cmd := &cobra.Command{
		Use: "import DIR", Short: "Copy the agent files of a folder to your own", Args: exactly(1),
		Long: `Copies each agent file below DIR, as it is written, into agents/ beside your own
configuration, or with --here into agents/ of the repository. What cannot be read is
named and left out; a file that is there already stays, but for --replace.`,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.agentPlace()
			if err != nil {
				return err
			}
			into := filepath.Dir(p.UserAgents())
			if here {
				if p.Files.WorkTree == "" {
					return agency.Errorf(agency.KindInvalid, "--here: there is no repository here").WithMend(nameRepo)
				}
				into = p.Files.WorkTree
			}
			done, err := preview.ImportAgents(args[0], into, replace)
			if err != nil {
				return err
			}
			for _, n := range done.Notes {
				a.note("%s", n)
			}
			return a.show(asJSON, done, func() string { return importText(done) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&replace, "replace", false, "put files in the place of those that are there")
	cmd.Flags().BoolVar(&here, "here", false, "into the repository")
	return cmd
}

func importText(i preview.Imported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s imported into %s", agency.Things(len(i.New), "agent", "agents"), tui.Line(i.Into))
	if n := len(i.Unchanged); n > 0 {
		fmt.Fprintf(&b, ", %d as they were", n)
	}
	if n := len(i.Notes); n > 0 {
		fmt.Fprintf(&b, ", %s", agency.Things(n, "note", "notes"))
	}
	b.WriteString("\n")
	if n := len(i.Kept); n > 0 {
		fmt.Fprintf(&b, "%s there already with another text, and left as it is: %s; to put the new in its place: --replace\n", agency.Things(n, "is", "are"), strings.Join(i.Kept, ", "))
	}
	return b.String()
}

// agents are the agent files as they count where the command stands, in a repository or
// not.
func (r *repository) agents() (preview.Agents, error) {
	p, err := r.agentPlace()
	if err != nil {
		return preview.Agents{}, err
	}
	return p.Agents()
}

func (r *repository) agentPlace() (*preview.Repo, error) {
	h, err := r.lookToBegin()
	if errors.Is(err, daemon.ErrNoRepository) {
		var f config.Folders
		f, err = config.FindFolders(r.env)
		h.Config = f.ConfigFile()
	}
	if err != nil {
		return nil, err
	}
	return r.preview(h), nil
}
