package main

import (
	"context"
	"encoding/json"
	"fmt"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/tui"
)

// withView finds what was recorded and the run that is meant; it starts
// nothing.
func (r *repository) withView(ctx context.Context, args []string, fn func(daemon.Place, api.View, api.RunDoc) error) error {
	h, err := r.look()
	if err != nil {
		return err
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	return r.see(ctx, h, func(v api.View) error {
		run, err := pick(ctx, v, name)
		if err != nil {
			return err
		}
		return fn(h, v, run)
	})
}

func (t *terminal) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = t.out.Write(append(tui.JSON(b), '\n'))
	return err
}

// show prints a document as JSON or as text that is fitted to the terminal.
func (t *terminal) show(asJSON bool, v any, text func() string) error {
	return t.showAsIs(asJSON, v, func() string { return tui.Fit(t.style, text()) })
}

// showPlain is show for a text without colours of ours: what others wrote into it has none either.
func (t *terminal) showPlain(asJSON bool, v any, text func() string) error {
	return t.show(asJSON, v, func() string { return tui.Clean(text()) })
}

// showAsIs is show for a text whose lines are somebody's own: a patch, a file.
func (t *terminal) showAsIs(asJSON bool, v any, text func() string) error {
	if asJSON {
		return t.printJSON(v)
	}
	_, err := fmt.Fprint(t.out, text())
	return err
}

// openGates are the gates at which a run waits, the most urgent first, each with what a
// person should know beside it and the commands that answer it.
func (t *terminal) openGates(doc api.InspectDoc, cost api.CostDoc, gates []agency.Gate) string {
	if doc.State.Final() {
		return ""
	}
	s := ""
	open := agency.Waiting(gates)
	for _, g := range open {
		s += tui.Gate(t.style, g, beside(t.style, doc, cost, gates, g))
	}
	return s
}

// beside is what a person should know of a run beside what its gate says.
func beside(st tui.Style, doc api.InspectDoc, cost api.CostDoc, gates []agency.Gate, g agency.Gate) string {
	return "\n" + tui.SoFar(st, doc, cost) + tui.Anomalies(st, doc, gates, g)
}

// elsewhere is what the commands of a run need that is of no repository.
func elsewhere(d api.RunDoc) string {
	if !daemon.IsNone(d.Repo) {
		return ""
	}
	return " --repo " + d.Repo
}
