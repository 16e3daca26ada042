package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/preview"
	"agency/internal/quality"
	"agency/internal/report"
	"agency/internal/ui/tui"
	"agency/internal/ui/tui/turn"
)

type inspectFlags struct {
	tier, brief, contract, transcript, thread string
	sarif                                     string
	messages, decisions, plan, report, json   bool
	quality, checks, verbose                  bool
}

// settledDoc is what the agents of a run settled between them.
type settledDoc struct {
	Decisions []agency.SharedDecision `json:"decisions"`
	Names     []agency.Reservation    `json:"names"`
}

func inspectCommand(a *app) *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use: "inspect [RUN]", SuggestFor: []string{"show", "describe", "get"}, Short: "Show what a run did, and how each criterion is proved", Args: atMostOne,
		Long:    "Shows a run as a tree: contracts with the proof of each criterion, sessions, checks, landings, and the\ngate at which it waits. Without RUN it shows the newest.",
		Example: "  agency inspect k3f9d2ab\n  agency inspect k3f9d2ab --transcript attempt-1\n  agency inspect k3f9d2ab --messages --json\n  agency inspect k3f9d2ab --checks\n  agency inspect k3f9d2ab --report\n  agency inspect k3f9d2ab --quality\n  agency inspect k3f9d2ab --sarif findings.sarif\n  agency inspect k3f9d2ab --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.tier != "" && !slices.Contains([]string{"t1", "t2", "t3", "t4", "t5"}, f.tier) {
				return usage("--tier %s: want t1, t2, t3, t4 or t5", f.tier)
			}
			if f.verbose && !f.checks {
				return usage("--verbose goes with --checks")
			}
			return a.withView(cmd.Context(), args, func(_ daemon.Place, v api.View, run api.RunDoc) error {
				return a.inspect(cmd.Context(), v, run, f, cmd.Flags().Changed("transcript"))
			})
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&f.transcript, "transcript", "", "the conversation of a `SESSION`")
	cmd.Flags().BoolVar(&f.checks, "checks", false, "the checks of what was verified last, those that fail with the end of what they printed; then trials and earlier ones. With --contract of one")
	cmd.Flags().BoolVar(&f.verbose, "verbose", false, "with --checks: every check in its order, with all that is kept of its output")
	cmd.Flags().BoolVar(&f.messages, "messages", false, "the messages of people and agents by thread, how far each has come, dead letters and conflicts")
	cmd.Flags().BoolVar(&f.decisions, "decisions", false, "what the agents decided together: each key with its value, why and by whom; and the names that only one contract may take")
	cmd.Flags().StringVar(&f.thread, "thread", "", "all that was said in the thread of the message `ID`")
	cmd.Flags().BoolVar(&f.report, "report", false, "what the run came to, measured, in Markdown; with --json as JSON")
	cmd.Flags().BoolVar(&f.quality, "quality", false, "the quality score of each contract, with every finding")
	cmd.Flags().StringVar(&f.sarif, "sarif", "", "write the findings of the quality score as SARIF 2.1.0 to a `FILE`; - for standard output")
	cmd.Flags().StringVar(&f.contract, "contract", "", "only the contract `ID`")
	cmd.Flags().StringVar(&f.brief, "brief", "", "everything about the contract `ID`, as JSON")
	cmd.Flags().StringVar(&f.tier, "tier", "", "what a `TIER` of a tiered run did, published and decided: t1 to t5")
	cmd.Flags().BoolVar(&f.plan, "plan", false, "the plan and what it may take, also while its gate waits; with --json as the file that agency run takes, but of a tiered run, whose visionary plans anew")
	views := []string{"transcript", "messages", "decisions", "thread", "report", "brief", "tier", "quality", "sarif", "checks", "plan"}
	oneOf(cmd, views...)
	for _, view := range views[:len(views)-2] { // checks and a plan are shown also of one contract
		oneOf(cmd, "contract", view)
	}
	return cmd
}

// extent is what of a run is shown: the tree is asked for alone where nothing else is.
func (f inspectFlags) extent() api.Extent {
	switch f {
	case inspectFlags{contract: f.contract}:
		return api.Tree
	case inspectFlags{contract: f.contract, checks: true, json: f.json, verbose: f.verbose}:
		return api.Checks
	}
	return api.Whole
}

func (a *app) inspect(ctx context.Context, v api.View, run api.RunDoc, f inspectFlags, transcript bool) error {
	switch {
	case transcript:
		t, err := v.Transcript(ctx, run.ID, agency.SessionID(f.transcript))
		if err != nil {
			return err
		}
		return a.showAsIs(f.json, t, func() string { return turn.Transcript(a.style, t) })
	case f.messages:
		ms, err := v.Messages(ctx, run.ID)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(ms)
		}
		doc, err := v.Inspect(ctx, run.ID, api.Tree)
		if err != nil {
			return err
		}
		return a.show(false, ms, func() string { return tui.Messages(a.style, ms, doc.Conflicts) })
	}
	doc, err := v.Inspect(ctx, run.ID, f.extent())
	if err != nil {
		return err
	}
	if f.decisions {
		settled := settledDoc{append([]agency.SharedDecision{}, doc.Decisions...), append([]agency.Reservation{}, doc.Names...)}
		return a.show(f.json, settled, func() string { return tui.Decisions(a.style, doc.Decisions) + tui.Names(a.style, doc.Names) })
	}
	if f.thread != "" {
		t, err := threadOf(doc, agency.MessageID(f.thread))
		if err != nil {
			return err
		}
		return a.show(f.json, t, func() string { return tui.Thread(a.style, t) })
	}
	if only := f.contract + f.brief; only != "" {
		if err := one(&doc, agency.ContractID(only)); err != nil {
			return err
		}
	}
	if f.checks {
		return a.show(f.json, doc.Receipts, func() string { return tui.Checks(a.style, doc, f.verbose) })
	}
	if f.tier != "" {
		return a.show(f.json, doc, func() string { return a.tier(doc, agency.Tier(f.tier)) })
	}
	if f.quality || f.sarif != "" {
		return a.printQuality(doc, f)
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
	waits, err := a.waitsAt(ctx, v, doc, gates)
	if err != nil {
		return err
	}
	return a.show(f.json, doc, func() string { return tui.Inspect(a.style, doc) + waits })
}

// tier is what a tier of a run did as text; of the visionary, with what it planned.
func (t *terminal) tier(doc api.InspectDoc, tier agency.Tier) string {
	said := tui.Tier(t.style, doc, tier)
	if plan := preview.VisionText(doc); tier == agency.TierVisionary && plan != "" {
		said += "\nThe plan: " + tui.Clean(plan)
	}
	return said
}

// waitsAt are the open gates of a run as text.
func (t *terminal) waitsAt(ctx context.Context, v api.View, doc api.InspectDoc, gates []agency.Gate) (string, error) {
	if doc.State.Final() || len(agency.Waiting(gates)) == 0 {
		return "", nil
	}
	cost, err := v.Cost(ctx, doc.ID, api.Tree)
	return t.openGates(doc, cost, gates), err
}

// printReport prints what a run came to.
func (t *terminal) printReport(doc api.InspectDoc, asJSON bool) error {
	text, err := report.Markdown(doc.Report)
	if err != nil {
		return err
	}
	return t.show(asJSON, doc.Report, func() string { return tui.Markdown(t.style, text) })
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

// one leaves of a run what is about one of its contracts.
func one(doc *api.InspectDoc, id agency.ContractID) error {
	at := slices.IndexFunc(doc.Contracts, func(c api.ContractDoc) bool { return c.ID == id })
	if at < 0 {
		return agency.Errorf(agency.KindNotFound, "run %s has no contract %s", doc.ID, id).WithMend("agency inspect %s", doc.ID)
	}
	doc.Contracts = doc.Contracts[at : at+1]
	doc.Sessions = slices.DeleteFunc(doc.Sessions, func(s api.SessionDoc) bool { return s.Contract != id })
	doc.Agents = slices.DeleteFunc(doc.Agents, func(a api.AgentDoc) bool { return a.Contract != id })
	doc.Receipts = slices.DeleteFunc(doc.Receipts, func(r api.ReceiptDoc) bool { return r.Contract != id })
	doc.Landings = slices.DeleteFunc(doc.Landings, func(l api.LandingDoc) bool { return l.Contract != id })
	for i, p := range doc.Planned {
		doc.Planned[i].Contracts = slices.DeleteFunc(slices.Clone(p.Contracts), func(c agency.Contract) bool { return c.ID != id })
	}
	return nil
}

// printPlan prints a run's plan.
func (t *terminal) printPlan(run api.InspectDoc, asJSON bool) error {
	if preview.Tiered(run) {
		plan, err := preview.TierPlanOf(run)
		if err != nil {
			return err
		}
		return t.show(asJSON, plan, func() string {
			return tui.Line(run.Goal) + "\n\n" + tui.Clean(preview.TierPlanText(run, plan))
		})
	}
	plan, err := preview.PlanOf(run)
	if err != nil {
		return err
	}
	return t.show(asJSON, plan, func() string {
		return tui.Line(run.Goal) + "\n\n" + tui.Clean(preview.PlanText(plan, preview.EstimateOf(run), 0))
	})
}

// scoredDoc is the quality score of the last claim of a contract that has one.
type scoredDoc struct {
	Contract agency.ContractID `json:"contract_id"`
	Tree     agency.OID        `json:"tree"`
	Quality  *agency.Quality   `json:"quality"`
}

// scoresOf are the scores of a run, in the order in which its contracts were verified.
func scoresOf(doc api.InspectDoc) []scoredDoc {
	out := []scoredDoc{}
	for _, v := range doc.Verdicts {
		if v.Quality == nil {
			continue
		}
		at := slices.IndexFunc(out, func(s scoredDoc) bool { return s.Contract == v.ContractID })
		if at < 0 {
			at, out = len(out), append(out, scoredDoc{})
		}
		out[at] = scoredDoc{v.ContractID, v.Tree, v.Quality}
	}
	return out
}

// printQuality prints the quality scores of a run, or writes their findings.
func (t *terminal) printQuality(doc api.InspectDoc, f inspectFlags) error {
	scores := scoresOf(doc)
	if f.sarif == "" {
		return t.show(f.json, scores, func() string { return qualityText(doc.ID, scores) })
	}
	var all []agency.QualityFinding
	for _, s := range scores {
		all = append(all, s.Quality.Findings...)
	}
	var b bytes.Buffer
	if err := quality.WriteSARIF(&b, all); err != nil {
		return err
	}
	if f.sarif == "-" {
		_, err := t.out.Write(b.Bytes())
		return err
	}
	// A link of the checkout may lead out of it, and is somebody else's word.
	if info, err := os.Lstat(f.sarif); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return agency.Errorf(agency.KindInvalid, "--sarif: %s is a link", f.sarif).WithMend("name the file that it leads to, or remove it")
	}
	if err := os.WriteFile(f.sarif, b.Bytes(), 0o644); err != nil {
		return agency.Errorf(agency.KindInvalid, "--sarif: %v", err)
	}
	return nil
}

func qualityText(run agency.RunID, scores []scoredDoc) string {
	if len(scores) == 0 {
		return "no claim of " + string(run) + " has a quality score: it is computed of claims that pass their checks, where quality.enabled is true\n"
	}
	var b bytes.Buffer
	for _, s := range scores {
		line := s.Quality.Line()
		if line == "" {
			line = "nothing that it changes is measured"
		}
		b.WriteString(tui.Line(string(s.Contract)+": "+line) + "\n")
		for _, low := range s.Quality.Low {
			b.WriteString("  low: " + tui.Line(low) + "\n")
		}
		for _, f := range s.Quality.Shown(agency.MaxQualityFindings) {
			b.WriteString("  " + tui.Line(f) + "\n")
		}
		for _, why := range s.Quality.Failed {
			b.WriteString("  not measured: " + tui.Line(why) + "\n")
		}
	}
	return b.String()
}
