package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/overseer"
	"agency/internal/ui/tui"
	termapp "agency/internal/ui/tui/app"
	"agency/internal/ui/tui/turn"
)

type watchFlags struct {
	levels
	since string
}

// levels say how much of a run is shown, and in which form.
type levels struct{ quiet, verbose, plain, json bool }

// define gives a command the flags of the levels.
func (l *levels) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.quiet, "quiet", false, "show gates, failures and the end alone")
	cmd.Flags().BoolVar(&l.verbose, "verbose", false, "show every event, and more of what agents say and do")
	cmd.Flags().BoolVar(&l.plain, "plain", false, "print one line an event, as to a file, also on a terminal")
	cmd.Flags().BoolVar(&l.json, "json", false, "print one JSON document a line: every event")
	oneOf(cmd, "quiet", "verbose", "json")
	oneOf(cmd, "plain", "json")
}

// plain is the command as it prints to a file: whole lines, however wide the terminal is.
func plain(a *app) *app {
	b := *a
	b.style.Live, b.style.Width, b.width = false, 0, nil
	return &b
}

// turns is who shows what stands behind the events of a run; nil where that is no terminal
// with colours, or gates and failures alone are wanted.
func turns(a *app, v turn.Recorder, run agency.RunID, l levels) *turn.Teller {
	if !a.style.Live || !a.style.Color || l.json || l.quiet {
		return nil
	}
	return &turn.Teller{From: v, Run: run, Style: a.styleNow, Zone: time.Local, Whole: l.verbose}
}

func watchCommand(a *app) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use: "watch [RUN]", SuggestFor: []string{"logs", "log", "tail", "follow", "attach"}, Short: "Follow a run; Ctrl-C only leaves", Args: atMostOne,
		Long:    "Follows a run. On a terminal it is an application: contracts, agents and the live log, gates with what is\nneeded to answer them, conversations; ? lists its keys. Else, with --quiet, --plain or --json, where CI is set and\non a terminal that is dumb, it is a line for each event. What an agent says is shown while it says it, on terminals alone.\nOn a terminal the steps of a tiered run have a word each: PLAN_START and PLAN_DONE (the visionary plans),\nLEAD_START, BOUNDS_READY, SYNTH_DONE and LEAD_DONE (a lead parts and joins the design), SPEC_START and SPEC_DONE\n(a specialist's part), MESH_START and MESH_DONE (a squad lead parts its tasks), SWARM_START (they begin), START,\nDONE, FAIL, RETRY (an implementer; START and DONE with --verbose), VERIFY_START and VERDICT (verifiers judge),\nACCEPT (the visionary judges the whole). Else an event's type stands there. --verbose is the default where the\nrun's visibility.log_level is verbose.",
		Example: "  agency watch k3f9d2ab --verbose\n  agency watch k3f9d2ab --since 10m\n  agency watch k3f9d2ab --json | jq .summary",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.plain && !f.json && !f.quiet && draws(a) {
				return watchLive(cmd.Context(), a, args, f)
			}
			return a.withView(cmd.Context(), args, func(_ daemon.Place, v api.View, run api.RunDoc) error {
				return a.watch(cmd.Context(), v, run, f)
			})
		},
	}
	f.define(cmd)
	cmd.Flags().StringVar(&f.since, "since", "", "only events after an event's id, or of the last `10m`")
	return cmd
}

// draws tells whether a person sits at a terminal on which an application can be drawn.
func draws(a *app) bool {
	_, ci := a.env("CI")
	kind, _ := a.env("TERM")
	return !ci && kind != "dumb" && kind != "" && onTerminal()
}

// watchLive is watch as an application.
func watchLive(ctx context.Context, a *app, args []string, f watchFlags) error {
	after, from, err := since(f.since, a.now())
	if err != nil {
		return err
	}
	o := termapp.Options{After: after, From: from, Verbose: f.verbose}
	var place daemon.Place
	err = a.withView(ctx, args, func(h daemon.Place, v api.View, run api.RunDoc) error {
		place, o.Run = h, run.ID
		o.Verbose = f.verbose || healthOf(ctx, v, run.ID).verbose
		return nil
	})
	if err != nil {
		return err
	}
	return application(ctx, a, place, o)
}

// application shows the runs of a repository until the person leaves.
func application(ctx context.Context, a *app, h daemon.Place, o termapp.Options) error {
	o.Looker, o.Steerer, o.Repo = looking{a, h}, steering{a}, filepath.Base(h.Repo.WorkTree)
	o.Style, o.Zone, o.Now = a.style, time.Local, a.now
	return termapp.Run(ctx, o, ownTerminal())
}

// hushed is the command with all that it says kept for an application, which has the
// terminal to itself.
func hushed(a *app) (b *app, said func() string) {
	var out, notes bytes.Buffer
	c := *a
	c.out, c.err, c.told, c.signals = tui.NewScreen(&out, tui.Style{}), tui.NewScreen(&notes, tui.Style{}), nil, nil
	c.style, c.errStyle, c.width, c.seen = tui.Style{}, tui.Style{}, nil, false
	return &c, func() string { return tui.Line(out.String() + notes.String()) }
}

// looking is how the application looks: as the commands do that only look.
type looking struct {
	a *app
	h daemon.Place
}

func (x looking) Look(ctx context.Context, fn func(v api.View, live bool) error) error {
	q, _ := hushed(x.a)
	h := x.h
	if !h.Exists() { // the first run may have been started by now
		var err error
		if h, err = q.look(); err != nil {
			return err
		}
	}
	return q.see(ctx, h, func(v api.View) error {
		_, live := v.(*daemon.Connected)
		return fn(v, live)
	})
}

// steering is how the application steers: each act is the command of its name, and its
// answer is what that prints.
type steering struct{ a *app }

// told is what a command said; how it went is in its words where it has an exit code.
func told(said func() string, err error) (string, error) {
	var code exit
	if errors.As(err, &code) {
		if text := said(); text != "" {
			return text, nil
		}
	}
	return said(), err
}

func (x steering) Answer(ctx context.Context, run agency.RunID, r api.AnswerRequest) (string, error) {
	q, said := hushed(x.a)
	return told(said, q.answer(ctx, string(run), r.Verb, r, false))
}

func (x steering) Say(ctx context.Context, run agency.RunID, to, text string) (string, error) {
	q, said := hushed(x.a)
	return told(said, sayTo(ctx, q, string(run), api.SayRequest{To: to, Text: text}))
}

func (x steering) Change(ctx context.Context, run agency.RunID, c termapp.Change) (string, error) {
	q, said := hushed(x.a)
	var err error
	switch c {
	case termapp.Pause:
		err = pauseRun(ctx, q, string(run))
	case termapp.Cancel:
		err = cancelRun(ctx, q, string(run))
	case termapp.Resume:
		err = q.withRun(ctx, string(run), daemon.Want{Work: true}, func(h daemon.Place, c *daemon.Connected, run api.RunDoc) error {
			return q.resume(ctx, h, c, run, followOptions{}, true)
		})
		if err == nil {
			return "the run goes on", nil
		}
	}
	return told(said, err)
}

func (x steering) Start(ctx context.Context, line string) (agency.RunID, string, error) {
	q, said := hushed(x.a)
	goal, f, err := typedGoal(line)
	if err == nil {
		err = agency.CheckGoal(goal)
	}
	if err != nil {
		return "", "", err
	}
	id, err := startGoal(ctx, q, goal, f)
	text, err := told(said, err)
	return id, cmp.Or(text, "started"), err
}

// typedGoal is a goal that was typed on a line of its own, with the settings before it. What
// follows them is the goal as it was typed.
func typedGoal(line string) (goal string, f runFlags, err error) {
	f.detach = true
	goal = strings.TrimSpace(line)
	for strings.HasPrefix(goal, "--") {
		flag, rest, _ := strings.Cut(goal, " ")
		name, value, joined := strings.Cut(flag, "=")
		if rest = strings.TrimSpace(rest); !joined {
			value, rest, _ = strings.Cut(rest, " ")
			rest = strings.TrimSpace(rest)
		}
		switch name {
		case "--mode":
			f.mode = value
		case "--budget":
			if err = f.budget.Set(value); err == nil {
				err = f.budget.positive("budget")
			}
			f.budgeted = true
		default:
			err = usage("%s is not known here: want a goal, and before it --mode MODE or --budget USD where they are to differ", name)
		}
		if err != nil {
			return "", f, err
		}
		goal = rest
	}
	return goal, f, nil
}

func (a *app) watch(ctx context.Context, v api.View, run api.RunDoc, f watchFlags) error {
	if f.plain {
		a = plain(a)
	}
	after, from, err := since(f.since, a.now())
	if err != nil {
		return err
	}
	if c, ok := v.(*daemon.Connected); ok && run.Live {
		if after, err = before(ctx, v, run.ID, after, from); err != nil {
			return err
		}
		err := a.follow(ctx, c, run, followOptions{levels: f.levels, after: after, known: run.LastEvent, stays: true})
		var e exit
		if errors.As(err, &e) { // looking succeeded, however the run stands
			return nil
		}
		return err
	}
	return a.history(ctx, v, run, after, from, f)
}

// before is the last event of a run before a time, from which on its follower is told; after,
// where that is later.
func before(ctx context.Context, v api.View, run agency.RunID, after int64, from time.Time) (int64, error) {
	if from.IsZero() {
		return after, nil
	}
	for ev, err := range v.Events(ctx, api.EventQuery{Run: run, After: after}) {
		if err != nil || !ev.Time.Before(from) {
			return after, err
		}
		after = ev.ID
	}
	return after, nil
}

// history prints what was recorded; nothing is at work that could add to it.
func (a *app) history(ctx context.Context, v api.View, run api.RunDoc, after int64, from time.Time, f watchFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	style := a.style
	style.Live = false
	well := healthOf(ctx, v, run.ID)
	log := tui.NewLog(a.out, tui.LogOptions{Style: style, Verbose: f.verbose || well.verbose && !f.quiet, Quiet: f.quiet, Zone: time.Local, Health: well})
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
		doc, err := v.Inspect(ctx, run.ID, api.Tree)
		if err != nil {
			return err
		}
		if waits, err = a.waitsAt(ctx, v, doc, gates); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(a.out, tui.Fit(a.style, waits+summary(run, waits == "")))
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
	verbose bool // the run's visibility.log_level
	trail   *overseer.Trail
	ill     map[agency.AgentID]overseer.Health // of agents at work that do not just work
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
	return &health{verbose: kept.Config.Visibility.LogLevel == "verbose", trail: overseer.NewTrail(kept.Config.Overseer), ill: map[agency.AgentID]overseer.Health{}}
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

// listenPace is how far two looks at what agents say are apart at least.
const listenPace = 100 * time.Millisecond

// listen shows what agents say while they say it. It is no record: where it cannot be
// heard, as from a host of an older version, the log is all there is.
func (f *follower) listen(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	said := make(chan api.Delta, 1024)
	work.Go(func() {
		defer close(said)
		for d, err := range f.c.Stream(ctx, f.run.ID) {
			if err != nil {
				return
			}
			select {
			case said <- d:
			case <-ctx.Done():
				return
			}
		}
	})
	work.Go(func() {
		for d := range said {
			batch := []api.Delta{d}
			frame := time.After(listenPace)
			for open := true; open; {
				select {
				case d, more := <-said:
					if open = more; more {
						batch = append(batch, d)
					}
				case <-frame:
					open = false
				}
			}
			f.heard.Store(true)     // an answer may have been paid for
			_ = f.log.Say(batch...) // a terminal that is gone is noticed by the next event
			for _, d := range batch {
				f.told(ctx, d)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// told has an answer stand in the log once it is whole.
func (f *follower) told(ctx context.Context, d api.Delta) {
	if f.turns == nil || !d.Done || d.Turn == 0 {
		return
	}
	by := agency.Event{Time: f.a.now(), Role: d.Role, ContractID: d.Contract}
	_ = f.log.Told(d.Session, d.Turn, f.turns.Said(ctx, d.Session, d.Turn, by)) // likewise
}

// waitsHere says where nothing is redrawn, as without a terminal or where CI is set, that the
// command waits, and what answers the gate: elsewhere the keys or the progress say so.
func (f *follower) waitsHere(g agency.Gate) {
	if f.a.style.Live || f.o.json || f.o.closed {
		return
	}
	var how []string
	for _, c := range tui.Answers(g) {
		if strings.HasPrefix(c.Command, "agency approve") || strings.HasPrefix(c.Command, "agency reject") {
			how = append(how, c.Command)
		}
	}
	text := fmt.Sprintf("this command waits until the %s gate is answered from another terminal: %s", g.Kind, strings.Join(how, ", or "))
	if f.a.seen {
		f.say(text)
		return
	}
	f.a.note("%s", text) // whoever reads the output does not read this
}

// ended says what becomes of a run whose follower a signal has ended.
func (f *follower) ended(ctx context.Context) error {
	if !f.o.closed {
		f.a.note("run %s goes on in the background; follow it with: agency watch %s", f.run.ID, f.run.ID)
	}
	return context.Cause(ctx)
}
