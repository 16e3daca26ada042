package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/preview"
	"agency/internal/ui/tui"
)

// dryRun shows what a run would do and may cost. Everything is checked that a
// start checks, by the same code. What a team would do nobody knows before its
// manager has planned: that is done, and nothing else.
func (a *app) dryRun(ctx context.Context, goal string, f runFlags) error {
	h, err := a.lookToBegin()
	if err != nil {
		return err
	}
	req, err := a.preview(h).Request(ctx, a.wish(goal, f))
	if err != nil {
		return err
	}
	var c config.Config // as the run would keep it
	if err := json.Unmarshal(req.Config, &c); err != nil {
		return err
	}
	if c.Mode.Team() && req.Plan == nil {
		return a.dryTeam(ctx, req, f)
	}
	limit, stop := signal.NotifyContext(ctx, os.Interrupt) // Ctrl-C leaves nothing
	defer stop()
	foreseen := a.preview(h)
	foreseen.Past = a.past(limit, h)
	doc, err := foreseen.Foresee(limit, req)
	if err != nil && limit.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if doc.Across, err = a.across(limit, h, doc.WorstUSD); err != nil {
		return err
	}
	doc.Notes = a.said()
	return a.show(f.json, doc, func() string { return dryText(doc, c) })
}

// across says how the limits of a day and a month stand for a run that comes to so much
// at worst.
func (r *repository) across(ctx context.Context, h daemon.Place, worst float64) (out []api.AcrossDoc, err error) {
	all, err := h.Allowances(ctx, r.now(), func(path string, err error) {
		r.note("what was spent by the record in %s is not counted: %v", path, err)
	})
	for _, s := range all {
		out = append(out, api.AcrossDoc{
			Period: s.Name, LimitUSD: s.Money.Float(), LeftUSD: s.Left.Float(), HeldUSD: s.Held.Float(), Where: s.Where, Passed: agency.USD(worst) > s.Left,
		})
	}
	return out, err
}

// acrossText is a line for each limit across runs.
func acrossText(all []api.AcrossDoc) string {
	var b strings.Builder
	for _, d := range all {
		left := agency.USD(d.LeftUSD)
		fmt.Fprintf(&b, "LIMIT OF THE %s  %s (%s), of which %s is left", strings.ToUpper(d.Period), agency.USD(d.LimitUSD), tui.Line(d.Where), max(0, left))
		if left < 0 {
			fmt.Fprintf(&b, ": it is passed by %s", -left)
		}
		if held := agency.USD(d.HeldUSD); held > 0 {
			fmt.Fprintf(&b, " beside %s held by requests under way", held)
		}
		if d.Passed {
			b.WriteString("; the worst case passes it, at which the run would wait at a gate")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// dryTeam has a manager plan, shows the plan and what it may take, and removes
// the run.
func (a *app) dryTeam(ctx context.Context, req api.RunRequest, f runFlags) error {
	if f.detach {
		return usage("--dry-run shows a plan: it cannot be detached")
	}
	h, err := a.claim()
	if err != nil {
		return err
	}
	req.Dry = true
	var ended exit
	log := *a
	if f.json { // one document is the answer
		log.out = tui.NewScreen(io.Discard, tui.Style{})
	} else {
		a.say("dry run: the plan is made and nothing else; what its making costs is spent")
	}
	if err := log.begin(ctx, h, req, f, nil); err != nil && !errors.As(err, &ended) {
		return err
	}
	a.told = log.told
	c, err := a.connect(ctx, h, daemon.Want{})
	if err != nil {
		return err
	}
	defer c.Close()
	return a.endDry(ctx, h, c, req.ID, ended, f.json)
}

// endDry shows what a dry run came to and removes it, if it has ended, and then
// exits as it did.
func (a *app) endDry(ctx context.Context, h daemon.Place, c *daemon.Connected, id agency.RunID, ended exit, asJSON bool) error {
	run, err := c.Inspect(ctx, id)
	if err != nil {
		return err
	}
	if !run.State.Final() { // it waits, or was paused
		a.note("the dry run %s is %s; its plan is shown by: agency resume %s", run.ID, run.State, run.ID)
		return ended
	}
	doc, err := c.Copy(ctx, id)
	if err != nil {
		return err
	}
	kept, err := preview.ConfigOf(doc)
	if err != nil {
		return err
	}
	if err := a.showPlanned(ctx, h, run, kept, asJSON); err != nil {
		return err
	}
	if err := c.Remove(ctx, run.ID, api.ByRequest{By: who()}); err != nil {
		return err
	}
	if ended != 0 {
		return ended
	}
	return nil
}

// showPlanned prints the plan of a dry run, and what it cost.
func (r *repository) showPlanned(ctx context.Context, h daemon.Place, run api.InspectDoc, c config.Config, asJSON bool) error {
	spent := &api.SpentDoc{Run: run.ID, Tokens: run.Tokens, CostUSD: run.CostUSD, Unpriced: run.Unpriced}
	doc := api.DryDoc{
		Goal: run.Goal, Mode: run.Mode, Land: c.Land, Base: run.Base, Target: run.Target, Steps: []api.DryStep{}, Gates: []api.DryGate{},
		BudgetUSD: c.Budget.USD, BudgetTokens: c.Budget.Tokens, Unpriced: []string{}, Spent: spent, Commands: map[string]string{},
	}
	text := ""
	if preview.Tiered(run) {
		if plan, err := preview.TierPlanOf(run); err == nil {
			doc.TierPlan = &plan
			text = "\nPLAN\n\n" + tui.Clean(preview.TierPlanText(run, plan))
		}
	} else if plan, err := preview.PlanOf(run); err == nil {
		doc.Plan = &plan
		if e := preview.EstimateOf(run); e != nil {
			doc.Estimate, doc.Unpriced = e, append(doc.Unpriced, e.Unpriced...)
			doc.WorstUSD, doc.WorstTokens = min(e.WorstUSD, c.Budget.USD), min(e.WorstTokens, c.Budget.Tokens)
		}
		text = "\nPLAN\n\n" + tui.Clean(preview.PlanText(plan, doc.Estimate, c.MaxParallelAgents))
	}
	across, err := r.across(ctx, h, doc.WorstUSD)
	if err != nil {
		return err
	}
	doc.Across, doc.Notes = across, r.said()
	if len(across) > 0 {
		text += "\n" + acrossText(across)
	}
	text += fmt.Sprintf("\nthe plan took %s; the run is removed, and nothing was begun\n", tui.Cost(agency.USD(spent.CostUSD), spent.Tokens, spent.Unpriced))
	return r.show(asJSON, doc, func() string { return text })
}

func dryText(d api.DryDoc, c config.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "dry run: nothing was started, nothing was spent\n\n")
	fmt.Fprintf(&b, "goal      %s\n", tui.Line(d.Goal))
	fmt.Fprintf(&b, "mode      %s\n", d.Mode)
	if d.MovesUp != "" {
		fmt.Fprintf(&b, "          it moves up to %s at once: %s\n", d.MovesTo, tui.Line(d.MovesUp))
	}
	fmt.Fprintf(&b, "from      %.10s, for %s\n", d.Base, d.Target)
	fmt.Fprintf(&b, "commands  %s\n", c.Commands.Line())
	fmt.Fprintf(&b, "sandbox   %s\n", d.Sandbox)
	if d.Plan != nil {
		fmt.Fprintf(&b, "\nPLAN\n\n%s", tui.Clean(preview.PlanText(*d.Plan, d.Estimate, c.MaxParallelAgents)))
	} else {
		b.WriteString("\nCONTRACTS\n")
	}
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "%s  %s\n", s.Contract, s.Title)
		if s.Only != "" {
			fmt.Fprintf(&b, "    only if %s\n", s.Only)
		}
		fmt.Fprintf(&b, "    %s on %s\n", s.Role, strings.Join(s.Models, ", then "))
		fmt.Fprintf(&b, "    at most %s, each of %s of %s and %s tokens%s\n", agency.Things(s.Attempts, "attempt", "attempts"),
			agency.Things(s.Sessions, "session", "sessions"), agency.Things(s.Turns, "turn", "turns"), agency.Count(s.SessionTokens), atMost(s.SessionUSD))
	}
	b.WriteString("\nGATES\n")
	for _, g := range d.Gates {
		fmt.Fprintf(&b, "%-10s  %s\n", g.Kind, g.When)
	}
	b.WriteString("\n" + oddsText(d))
	b.WriteString(acrossText(d.Across))
	if len(d.Unpriced) > 0 {
		fmt.Fprintf(&b, "unpriced, so that only the limit of tokens holds: %s\n", strings.Join(d.Unpriced, ", "))
	}
	return b.String()
}

// oddsText is what a run is likely to take, and what at most, with how likely that is.
func oddsText(d api.DryDoc) string {
	s := ""
	if e := d.Estimate; e != nil {
		s = fmt.Sprintf("LIKELY   %s to %s, %s to %s tokens, %s\n", agency.USD(e.Low.USD), agency.USD(e.High.USD), agency.Count(e.Low.Tokens), agency.Count(e.High.Tokens), e.Basis)
	} else if d.Odds.Known() {
		s = fmt.Sprintf("LIKELY   about %s and %s tokens a contract, as half of those took that held here\n", agency.USD(d.Odds.USD), agency.Count(d.Odds.Tokens))
	}
	return s + fmt.Sprintf("AT MOST  %s, %s tokens\n         if every attempt but the last fails, and each session goes to its limit;\n         %s;\n         the run asks at a gate before %s or %s tokens\n",
		agency.USD(d.WorstUSD), agency.Count(d.WorstTokens), d.Odds, agency.USD(d.BudgetUSD), agency.Count(d.BudgetTokens))
}

func atMost(usd float64) string {
	if usd == 0 {
		return ""
	}
	return ", " + agency.USD(usd).String() + " each at most"
}
