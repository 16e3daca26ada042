package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/doctor"
	"agency/internal/ui/tui"
)

func doctorCommand(a *app) *cobra.Command {
	var run, history string
	var asJSON, agents bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the machine, or with --run a run's record, tree and leftovers", Args: none,
		Long: `Checks git, the sandbox (by trying to break out of it), what it does not show and
what was left running, keys, commands, disk and the store. Of each command it names
the program that is absent in the sandbox and how to install it, and runs none. With
--run it checks one run: its record, its history, its sums, and that nothing of it was
left behind. Exit code 4 when something is bad.

With --overseer it reads a history of events, as 'agency watch RUN --json' prints
it, and prints what the overseer's detectors find in it, as JSON: an array of
detections, or with --agents what each agent did. How much of it was judged, and what
was left out, is said on the standard error; exit code 2 where nothing could be.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("overseer") {
				return a.oversee(cmd.InOrStdin(), history, agents)
			}
			if agents {
				return usage("--agents shows who did what in a history: name it with --overseer FILE")
			}
			found, err := a.examine(cmd.Context(), run, cmd.Flags().Changed("run"))
			if err != nil {
				return err
			}
			if err := a.show(asJSON, found, func() string { return a.findings(found) }); err != nil {
				return err
			}
			if doctor.Worst(found) == doctor.Bad {
				return exit(exitEnvironment)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "check the `RUN`")
	cmd.Flags().StringVar(&history, "overseer", "", "run the overseer's detectors on the events in `FILE`; - is the standard input")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&agents, "agents", false, "with --overseer, print what each agent did instead of what was found")
	oneOf(cmd, "run", "overseer")
	oneOf(cmd, "run", "agents")
	return cmd
}

// oversee prints what the detectors find in a history, by the settings that hold
// here.
func (a *app) oversee(stdin io.Reader, name string, agents bool) error {
	_, l, err := a.loadHere()
	if err != nil {
		return err
	}
	seen, err := doctor.OverseeFile(name, stdin, l.Config.Overseer)
	if err != nil {
		return err
	}
	for _, w := range append(seen.Warnings, seen.Line()) {
		a.printf(a.err, "%s: %s\n", doctor.HistoryName(name), w)
	}
	if agents {
		return a.show(true, seen.Agents, nil)
	}
	return a.show(true, seen.Found, nil)
}

func (t *terminal) findings(fs []doctor.Finding) string {
	const head, name = 28, 18 // columns before the detail, and of its name
	indent := strings.Repeat(" ", head)
	var out strings.Builder
	for _, f := range fs {
		text := tui.Wrap(t.style, indent, tui.Line(f.Detail))
		if len(f.Name) <= name && text != "" {
			text = " " + text[head:]
		} else if text != "" {
			text = "\n" + text
		}
		out.WriteString(strings.TrimRight(fmt.Sprintf("%-8s %-*s%s", f.Level, name, f.Name, text), " \n") + "\n")
		if f.Mend != "" {
			out.WriteString(tui.Wrap(t.style, indent, "mend: "+tui.Line(f.Mend)) + "\n")
		}
	}
	return out.String()
}

func (r *repository) examine(ctx context.Context, run string, named bool) ([]doctor.Finding, error) {
	if named {
		return r.examineRun(ctx, run)
	}
	h, l, err := r.loadHere()
	if err != nil {
		return nil, err
	}
	m, err := r.preview(h).Machine(ctx, l)
	if err != nil {
		return nil, err
	}
	if h.Exists() {
		m.DB = h.DB()
	}
	return m.Check(ctx), nil
}

func (r *repository) examineRun(ctx context.Context, name string) (found []doctor.Finding, err error) {
	err = r.withView(ctx, []string{name}, func(h daemon.Place, _ api.View, run api.RunDoc) (err error) {
		live := run.Live && run.State == agency.StateRunning
		found, err = doctor.Run{Repo: h.Repo, StateDir: h.State, ID: run.ID, Live: live}.CheckAt(ctx, h.DB(), daemon.Migrations())
		return err
	})
	return found, err
}
