package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host/foresee"
	"agency/internal/host/workshop"
	"agency/internal/llm/catalog"
	"agency/internal/sandbox"
	"agency/internal/ui/tui"
)

// dryRun shows what a run would do and may cost. Everything is checked that a
// start checks before it makes anything: configuration, trust, keys, branch
// and sandbox.
func (a *app) dryRun(ctx context.Context, goal string, f runFlags) error {
	h, err := a.look()
	if err != nil {
		return err
	}
	req, err := a.request(ctx, h, goal, f)
	if err != nil {
		return err
	}
	var c config.Config // as the run would keep it
	if err := json.Unmarshal(req.Config, &c); err != nil {
		return err
	}
	g, err := git.NewHost(ctx, git.Options{})
	if err != nil {
		return err
	}
	base, target, err := workshop.Start(ctx, g, h.loc, f.target)
	if err != nil {
		return err
	}
	walls, err := sandbox.New(sandbox.Options{Mode: sandbox.Mode(c.Sandbox.Mode), Loopback: c.Sandbox.Loopback == "allow"})
	if err != nil {
		return err
	}
	defer func() { _ = walls.Close() }() // nothing ran in it
	models, err := modelsOf(c)
	if err != nil {
		return err
	}
	doc, err := foresee.Run(foresee.Input{Goal: req.Goal, Strict: f.strict, Config: c, Models: models})
	if err != nil {
		return err
	}
	doc.Base, doc.Target, doc.Sandbox = base, target, string(walls.Tier())
	doc.Commands = map[string]string{}
	for name, line := range map[string]string{
		"test": c.Commands.Test, "lint": c.Commands.Lint, "typecheck": c.Commands.Typecheck,
		"build": c.Commands.Build, "setup": c.Commands.Setup,
	} {
		if line != "" {
			doc.Commands[name] = line
		}
	}
	return a.show(f.json, doc, func() string { return dryText(doc, c) })
}

// modelsOf tells what is known about the models of a role. One that a single
// run moves up into asks the generalist's.
func modelsOf(c config.Config) (func(agency.RoleID) ([]agency.Offer, error), error) {
	known, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	return func(role agency.RoleID) ([]agency.Offer, error) {
		if c.Mode == agency.ModeSingle {
			role = "generalist"
		}
		refs, err := c.MayAsk(role)
		if err != nil {
			return nil, err
		}
		out := make([]agency.Offer, len(refs))
		for i, ref := range refs {
			out[i].Model = ref.String()
			out[i].Price, out[i].Window = workshop.Known(known, c, ref)
		}
		return out, nil
	}, nil
}

func dryText(d api.DryDoc, c config.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "dry run: nothing was started, nothing was spent\n\n")
	fmt.Fprintf(&b, "goal      %s\n", tui.Line(d.Goal))
	fmt.Fprintf(&b, "mode      %s\n", d.Mode)
	if d.MovesUp != "" {
		fmt.Fprintf(&b, "          it moves up to contract at once: %s\n", tui.Line(d.MovesUp))
	}
	fmt.Fprintf(&b, "from      %.10s, for %s\n", d.Base, d.Target)
	fmt.Fprintf(&b, "commands  %s\n", shownCommands(c.Commands))
	fmt.Fprintf(&b, "sandbox   %s\n\nCONTRACTS\n", d.Sandbox)
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "%s  %s\n", s.Contract, s.Title)
		if s.Only != "" {
			fmt.Fprintf(&b, "    only if %s\n", s.Only)
		}
		fmt.Fprintf(&b, "    %s on %s\n", s.Role, strings.Join(s.Models, ", then "))
		fmt.Fprintf(&b, "    at most %d attempts of %d turns and %s tokens%s\n", s.Attempts, s.Turns, tui.Count(s.SessionTokens), atMost(s.SessionUSD))
	}
	b.WriteString("\nGATES\n")
	for _, g := range d.Gates {
		fmt.Fprintf(&b, "%-10s  %s\n", g.Kind, g.When)
	}
	fmt.Fprintf(&b, "\nWORST CASE  %s, %s tokens; it stops at a gate before %s or %s tokens\n", agency.USD(d.WorstUSD), tui.Count(d.WorstTokens),
		agency.USD(d.BudgetUSD), tui.Count(d.BudgetTokens))
	if len(d.Unpriced) > 0 {
		fmt.Fprintf(&b, "without a price, so that only the token limit holds: %s\n", strings.Join(d.Unpriced, ", "))
	}
	return b.String()
}

func atMost(usd float64) string {
	if usd == 0 {
		return ""
	}
	return ", " + agency.USD(usd).String() + " each at most"
}
