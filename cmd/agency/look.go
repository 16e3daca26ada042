package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/report"
	"agency/internal/ui/tui"
)

// withView finds what was recorded and the run that is meant; it starts
// nothing.
func (a *app) withView(ctx context.Context, args []string, fn func(api.View, api.RunDoc, bool) error) error {
	h, err := a.look()
	if err != nil {
		return err
	}
	v, live, done, err := a.view(ctx, h)
	if err != nil {
		return err
	}
	defer done()
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	run, err := pick(ctx, v, name)
	if err != nil {
		return err
	}
	return fn(v, run, live)
}

func (a *app) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

// show prints a document as JSON or as text that is fitted to the terminal.
func (a *app) show(asJSON bool, v any, text func() string) error {
	return a.showAsIs(asJSON, v, func() string { return tui.Fit(a.style, text()) })
}

// showAsIs is show for a text whose lines are somebody's own: a patch, a file.
func (a *app) showAsIs(asJSON bool, v any, text func() string) error {
	if asJSON {
		return a.printJSON(v)
	}
	_, err := fmt.Fprint(a.out, text())
	return err
}

func (a *app) psCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ps", Short: "List the runs of this repository", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runs, err := a.runs(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(asJSON, runs, func() string { return tui.Runs(a.style, runs, a.now()) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) runs(ctx context.Context) ([]api.RunDoc, error) {
	h, err := a.look()
	if err != nil {
		return nil, err
	}
	if !h.place.Exists() {
		return []api.RunDoc{}, nil
	}
	v, _, done, err := a.view(ctx, h)
	if err != nil {
		return nil, err
	}
	defer done()
	runs, err := v.Runs(ctx)
	if err != nil {
		return nil, err
	}
	if use, err := v.DiskUse(ctx); err == nil { // a host of an older build does not know it
		for i := range runs {
			if n, ok := use[runs[i].ID]; ok {
				runs[i].DiskBytes = &n
			}
		}
	}
	return runs, nil
}

type inspectFlags struct {
	tier, brief, contract, transcript, thread string
	messages, plan, report, json              bool
}

func (a *app) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use: "inspect [RUN]", Short: "Show what a run did, and how each criterion is proved", Args: atMostOne,
		Long:    "Shows a run as a tree: contracts with the proof of each criterion, sessions, checks, landings, and the\ngate at which it waits. Without RUN it shows the newest.",
		Example: "  agency inspect k3f9d2ab\n  agency inspect k3f9d2ab --transcript attempt-1\n  agency inspect k3f9d2ab --messages --json\n  agency inspect k3f9d2ab --report\n  agency inspect k3f9d2ab --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.tier != "" {
				return usage("--tier: not in this version")
			}
			return a.withView(cmd.Context(), args, func(v api.View, run api.RunDoc, _ bool) error {
				return a.inspect(cmd.Context(), v, run, f, cmd.Flags().Changed("transcript"))
			})
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&f.transcript, "transcript", "", "the conversation of a `SESSION`")
	cmd.Flags().BoolVar(&f.messages, "messages", false, "the messages of people and agents by thread, how far each has come, dead letters and conflicts")
	cmd.Flags().StringVar(&f.thread, "thread", "", "all that was said in the thread of the message `ID`")
	cmd.Flags().BoolVar(&f.report, "report", false, "what the run came to, measured, in Markdown; with --json as JSON")
	cmd.Flags().StringVar(&f.contract, "contract", "", "only the contract `ID`")
	cmd.Flags().StringVar(&f.brief, "brief", "", "everything about the contract `ID`, as JSON")
	cmd.Flags().StringVar(&f.tier, "tier", "", "")
	cmd.Flags().BoolVar(&f.plan, "plan", false, "the plan and what it may take; with --json as the file that agency run takes")
	_ = cmd.Flags().MarkHidden("tier")
	return cmd
}

func (a *app) inspect(ctx context.Context, v api.View, run api.RunDoc, f inspectFlags, transcript bool) error {
	switch {
	case transcript:
		t, err := v.Transcript(ctx, run.ID, agency.SessionID(f.transcript))
		if err != nil {
			return err
		}
		return a.showAsIs(f.json, t, func() string { return tui.Transcript(a.style, t) })
	case f.messages:
		ms, err := v.Messages(ctx, run.ID)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(ms)
		}
		doc, err := v.Inspect(ctx, run.ID)
		if err != nil {
			return err
		}
		return a.show(false, ms, func() string { return tui.Messages(a.style, ms, doc.Conflicts) })
	}
	doc, err := v.Inspect(ctx, run.ID)
	if err != nil {
		return err
	}
	if f.thread != "" {
		t, err := threadOf(doc, agency.MessageID(f.thread))
		if err != nil {
			return err
		}
		return a.show(f.json, t, func() string { return tui.Thread(a.style, t) })
	}
	if only := f.contract + f.brief; only != "" {
		if doc.Contracts, err = one(doc, agency.ContractID(only)); err != nil {
			return err
		}
	}
	if f.report {
		return a.printReport(doc, f.json)
	}
	if f.plan {
		return a.printPlan(doc, f.json)
	}
	if f.brief != "" {
		return a.printJSON(doc.Contracts[0])
	}
	gates, err := v.Gates(ctx, run.ID)
	if err != nil {
		return err
	}
	return a.show(f.json, doc, func() string { return tui.Inspect(a.style, doc) + a.openGates(doc.RunDoc, gates) })
}

// printReport prints what a run came to.
func (a *app) printReport(doc api.InspectDoc, asJSON bool) error {
	if doc.Report == nil {
		return agency.Errorf(agency.KindInvalid, "run %s: its host is of an older build, which measures no report", doc.ID).WithMend("wait until the run ends, and ask again")
	}
	text, err := report.Markdown(*doc.Report)
	if err != nil {
		return err
	}
	return a.show(asJSON, doc.Report, func() string { return tui.Clean(text) })
}

// threadOf is the thread in which a message stands.
func threadOf(doc api.InspectDoc, id agency.MessageID) (api.ThreadDoc, error) {
	for _, t := range doc.Threads {
		if slices.ContainsFunc(t.Messages, func(m api.MessageDoc) bool { return m.ID == id }) {
			return t, nil
		}
	}
	return api.ThreadDoc{}, agency.Errorf(agency.KindNotFound, "run %s has no message %q", doc.ID, id).WithMend("agency inspect %s --messages", doc.ID)
}

func one(doc api.InspectDoc, id agency.ContractID) ([]api.ContractDoc, error) {
	for _, c := range doc.Contracts {
		if c.ID == id {
			return []api.ContractDoc{c}, nil
		}
	}
	return nil, agency.Errorf(agency.KindNotFound, "run %s has no contract %s", doc.ID, id).WithMend("agency inspect %s", doc.ID)
}

func (a *app) openGates(run api.RunDoc, gates []agency.Gate) string {
	s := ""
	for _, g := range gates {
		if g.Open() && !run.State.Final() {
			s += tui.Gate(a.style, g, len(run.Gates) > 1)
		}
	}
	return s
}

func (a *app) costCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "cost [RUN]", Short: "Show tokens and money by model, contract, agent and role", Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(v api.View, run api.RunDoc, _ bool) error {
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

func (a *app) diffCommand() *cobra.Command {
	var asJSON, stat bool
	cmd := &cobra.Command{
		Use: "diff [RUN]", Short: "Show what a run would land", Args: atMostOne,
		Long: "Shows the change of a run's branch against its base; before anything landed, the agent's files as they\nwere last tested. Local edits that the run started from (--include-dirty) stand apart, before it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(v api.View, run api.RunDoc, _ bool) error {
				d, err := v.Diff(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return a.showAsIs(asJSON, d, func() string {
					return diffText(a.style, d, stat)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&stat, "stat", false, "only the summary")
	return cmd
}

// diffText is the change, after the user's own edits where the run started from
// some: both land, and only one of them is the run's work. A patch program passes
// the lines between them over.
func diffText(st tui.Style, d api.DiffDoc, stat bool) string {
	text := func(summary, patch string) string {
		if stat {
			return summary
		}
		return tui.Diff(st, patch)
	}
	if d.Local == nil {
		return text(d.Stat, d.Patch)
	}
	return fmt.Sprintf("# your local edits, a commit of their own (%.10s), which the run started from\n%s\n# the work of the run on top of them\n%s",
		d.Local.Commit, text(d.Local.Stat, d.Local.Patch), text(d.Stat, d.Patch))
}

type watchFlags struct {
	verbose, plain, json bool
	since                string
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use: "watch [RUN]", Short: "Follow the live log of a run; Ctrl-C only leaves", Args: atMostOne,
		Example: "  agency watch k3f9d2ab --verbose\n  agency watch k3f9d2ab --since 10m\n  agency watch k3f9d2ab --json | jq .summary",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(v api.View, run api.RunDoc, live bool) error {
				return a.watch(cmd.Context(), v, run, live, f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.verbose, "verbose", false, "show every event")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "one line an event, no progress line")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON event a line")
	cmd.Flags().StringVar(&f.since, "since", "", "only events after an event's id, or of the last `10m`")
	return cmd
}

func (a *app) watch(ctx context.Context, v api.View, run api.RunDoc, live bool, f watchFlags) error {
	if f.plain { // whole lines, however wide the terminal is
		a.style.Live, a.style.Width, a.width = false, 0, nil
	}
	after, from, err := since(f.since, a.now())
	if err != nil {
		return err
	}
	if c, ok := v.(*daemon.Connected); ok && live && run.Live && from.IsZero() {
		err := a.follow(ctx, c, run, followOptions{json: f.json, verbose: f.verbose, after: after, known: run.LastEvent, stays: true})
		var e exit
		if errors.As(err, &e) { // looking succeeded, however the run stands
			return nil
		}
		return err
	}
	return a.history(ctx, v, run, after, from, f)
}

// history prints what was recorded; nothing is at work that could add to it.
func (a *app) history(ctx context.Context, v api.View, run api.RunDoc, after int64, from time.Time, f watchFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	style := a.style
	style.Live = false
	log := tui.NewLog(a.out, tui.LogOptions{Style: style, Verbose: f.verbose, Zone: time.Local})
	for ev, err := range v.Events(ctx, api.EventQuery{Run: run.ID, After: after}) {
		if err != nil {
			return err
		}
		if ev.Time.Before(from) {
			continue
		}
		if f.json {
			err = a.printLine(ev)
		} else {
			err = log.Event(ev)
		}
		if err != nil {
			return err
		}
	}
	if f.json {
		return nil
	}
	waits := ""
	if len(run.Gates) > 0 {
		gates, err := v.Gates(ctx, run.ID)
		if err != nil {
			return err
		}
		waits = a.openGates(run, gates)
	}
	_, err := fmt.Fprint(a.out, tui.Fit(a.style, waits+summary(run, 0, waits == "")))
	return err
}

// since reads an event's id or an age.
func since(s string, now time.Time) (after int64, from time.Time, err error) {
	if s == "" {
		return 0, from, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n, from, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, from, usage("--since %q: want an event's id, or an age such as 10m", s)
	}
	return 0, now.Add(-d), nil
}
