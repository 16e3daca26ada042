package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/overseer"
	"agency/internal/ui/tui"
)

type watchFlags struct {
	verbose, plain, json bool
	since                string
}

func watchCommand(a *app) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use: "watch [RUN]", Short: "Follow the live log of a run; Ctrl-C only leaves", Args: atMostOne,
		Example: "  agency watch k3f9d2ab --verbose\n  agency watch k3f9d2ab --since 10m\n  agency watch k3f9d2ab --json | jq .summary",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withView(cmd.Context(), args, func(_ daemon.Place, v api.View, run api.RunDoc) error {
				return a.watch(cmd.Context(), v, run, f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.verbose, "verbose", false, "show every event")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "one line an event, no progress line")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON event a line")
	cmd.Flags().StringVar(&f.since, "since", "", "only events after an event's id, or of the last `10m`")
	return cmd
}

func (a *app) watch(ctx context.Context, v api.View, run api.RunDoc, f watchFlags) error {
	if f.plain { // whole lines, however wide the terminal is
		a.style.Live, a.style.Width, a.width = false, 0, nil
	}
	after, from, err := since(f.since, a.now())
	if err != nil {
		return err
	}
	if c, ok := v.(*daemon.Connected); ok && run.Live && from.IsZero() {
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
	log := tui.NewLog(a.out, tui.LogOptions{Style: style, Verbose: f.verbose, Zone: time.Local, Health: healthOf(ctx, v, run.ID)})
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

// health is how the agents of a run are, folded from the events that are shown.
type health struct {
	trail *overseer.Trail
	ill   map[agency.AgentID]overseer.Health // of agents at work that do not just work
}

// copier is who knows the configuration that a run keeps.
type copier interface {
	Copy(ctx context.Context, run agency.RunID) (api.CopyDoc, error)
}

// healthOf is that of a run that has not begun, by the run's own thresholds where
// they are known.
func healthOf(ctx context.Context, v api.View, run agency.RunID) *health {
	kept := struct{ Config config.Config }{config.Defaults()}
	if c, ok := v.(copier); ok {
		if doc, err := c.Copy(ctx, run); err == nil && json.Unmarshal(doc.Config, &kept) != nil {
			kept.Config = config.Defaults() // of another version
		}
	}
	return &health{trail: overseer.NewTrail(kept.Config.Overseer), ill: map[agency.AgentID]overseer.Health{}}
}

// Add takes an event in, and gives a line where an agent gets on again: what makes
// it worse is an event of its own.
func (h *health) Add(ev agency.Event) string {
	c, changed := h.trail.Observe(ev)
	if !changed {
		return ""
	}
	delete(h.ill, c.Agent)
	if now := c.Now.Condition; now != overseer.Working && now != "" {
		h.ill[c.Agent] = c.Now
	}
	if c.Was.Well() || c.Was == overseer.Halted || !c.Now.Condition.Well() || c.Now.Condition == "" {
		return ""
	}
	return fmt.Sprintf("%s gets on again; it was %s", agency.ContractID(c.Agent).Post(), c.Was)
}

// Line is how those are that do not just work: who is stuck before who waits.
func (h *health) Line() string {
	var out []string
	for _, well := range []bool{false, true} {
		for _, id := range slices.Sorted(maps.Keys(h.ill)) {
			if c := h.ill[id]; c.Condition.Well() == well {
				word := c.Condition.String()
				if well {
					word = "waits " + c.Why
				}
				out = append(out, agency.ContractID(id).Post()+" "+word)
			}
		}
	}
	if len(out) > 2 {
		out = append(out[:2], fmt.Sprintf("%d more", len(out)-2))
	}
	return strings.Join(out, ", ")
}
