package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/ui/prompt"
	"agency/internal/ui/tui"
	"agency/internal/ui/tui/ask"
)

func approveCommand(a *app) *cobra.Command {
	var r api.AnswerRequest
	var budget usd
	var asJSON bool
	cmd := &cobra.Command{
		Use: "approve [RUN | GATE]", Short: "Approve a gate at which a run waits, or list all that wait", Args: atMostOne,
		Long: "Approves the gate at which a run waits. At the merge gate this merges the work; at a question the\nnote is the answer, or an option's number; at a budget gate it grants more. GATE is its id as gates print\nit, such as fix-parser-k3f9d2ab.merge-1: an answer to it never reaches a later gate of the run. RUN means the\none that waits now; it is an id, the beginning or end of one, or the run's number: 42, agency-42\nor '#42'. Without either it asks on a terminal about the gate of the one run that waits, by the\nkeys of agency run, and follows it on. Where several wait, and without a terminal, it lists their gates,\nthe most urgent first, answers none, and ends with code 3.",
		Example: `  agency approve fix-parser-k3f9d2ab
  agency approve k3f9d2ab.merge-1
  agency approve k3f9d2ab --note "use the existing helper in internal/dur"
  agency approve k3f9d2ab --budget 10`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("budget") {
				if err := budget.positive("budget"); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				return answerWaiting(cmd, a, agency.Approve, asJSON)
			}
			r.BudgetUSD = float64(budget)
			return a.answer(cmd.Context(), args[0], agency.Approve, r, asJSON)
		},
	}
	cmd.Flags().StringVar(&r.Note, "note", "", "a `TEXT` for the agent; at a question the answer")
	cmd.Flags().StringVar((*string)(&r.Gate), "gate", "", "which gate, where several wait: its `ID`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().Var(&budget, "budget", "at a budget gate: the new limit of the run in `USD`")
	return cmd
}

func rejectCommand(a *app) *cobra.Command {
	var r api.AnswerRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use: "reject [RUN | GATE] --reason TEXT", Short: "Reject a gate at which a run waits", Args: atMostOne,
		Long:    "Rejects the gate at which a run waits. A reject of the merge gate sends the work back with your\nreason, as often as you want and the budget allows: the agent goes on in the same conversation, its work\nis verified as before, and the gate asks again. Where that fails, it asks about what was there before.\nWhat RUN and GATE mean, agency approve --help says.",
		Example: `  agency reject fix-parser-k3f9d2ab --reason "durations without a unit must stay an error"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return answerWaiting(cmd, a, agency.Reject, asJSON)
			}
			return a.answer(cmd.Context(), args[0], agency.Reject, r, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&r.Note, "reason", "", "why: the `TEXT` that the agent is told")
	cmd.Flags().StringVar((*string)(&r.Gate), "gate", "", "which gate, where several wait: its `ID`")
	return cmd
}

// answerWaiting is an answer that names nothing: the person is asked about the one run that
// waits. Where several do, or nobody can be asked, their gates are listed.
func answerWaiting(cmd *cobra.Command, a *app, verb agency.Verb, asJSON bool) error {
	if n := cmd.Flags().NFlag(); n > 1 || n == 1 && !asJSON {
		return usage("%s: want the RUN or the GATE that is answered; agency %[1]s lists those that wait", verb)
	}
	ctx := cmd.Context()
	runs, err := a.runs(ctx)
	if err != nil {
		return err
	}
	all := tui.WaitingOf(runs)
	several := slices.ContainsFunc(all, func(w tui.Waiting) bool { return w.Run != all[0].Run })
	if len(all) == 0 || several || asJSON || !draws(a) {
		gates := make([]api.GateDoc, len(all)) // the id of each begins with its run's
		for i, w := range all {
			gates[i] = w.Gate
		}
		if err := a.show(asJSON, gates, func() string { return tui.Waits(a.style, all, verb, a.now()) }); err != nil || len(all) == 0 {
			return err
		}
		return exit(exitWaiting) // nothing was answered
	}
	a.catch()
	return a.withRun(ctx, string(all[0].Run), daemon.Want{}, func(_ daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		log, o := a, followOptions{asks: true, after: run.LastEvent, known: run.LastEvent}
		if run.Agent != "" {
			log, o.answer = aside(a), a.out
		}
		if err := log.announce(run, false, false); err != nil {
			return err
		}
		return log.follow(ctx, c, run, o)
	})
}

func (a *app) answer(ctx context.Context, name string, verb agency.Verb, r api.AnswerRequest, asJSON bool) error {
	name, gate, _ := strings.Cut(name, ".") // no run's id holds one; every gate's begins with its run's
	return a.withRun(ctx, name, daemon.Want{}, func(h daemon.Place, c *daemon.Connected, run api.RunDoc) error {
		r.Verb, r.By = verb, who()
		if gate != "" {
			of := agency.GateID(string(run.ID) + "." + gate)
			if r.Gate != "" && r.Gate != of {
				return usage("two gates are named, %s and %s: leave --gate out", of, r.Gate)
			}
			r.Gate = of
		}
		if r.Gate == "" && len(run.Gates) == 1 { // the one that waits now, not one that opens until the answer is there
			r.Gate = run.Gates[0].ID
		}
		if verb == agency.Reject && strings.TrimSpace(r.Note) == "" {
			if err := reasonFor(ctx, a, c, run.ID, &r); err != nil {
				return err
			}
		}
		// A key that is missing here is named by the run when it needs one: a
		// merge needs none.
		r.Secrets, _ = a.secretsOf(ctx, h, c, run.ID)
		got, err := c.Answer(ctx, run.ID, r)
		if err != nil {
			return err
		}
		if !asJSON {
			a.printf(a.out, "%s\n", answered(got.Gate))
		}
		if got.Note != "" {
			a.note("%s", got.Note)
			if err := a.show(asJSON, got, func() string { return "" }); err != nil {
				return err
			}
			return exit(exitEnvironment)
		}
		if got.Run, err = settled(ctx, c, got.Run); err != nil {
			return err
		}
		if err := a.show(asJSON, got, func() string { return after(got.Run) }); err != nil {
			return err
		}
		return cameTo(got.Gate, got.Run)
	})
}

// answered says how a gate was answered.
func answered(g agency.Gate) string {
	verb := g.Decision.Verb
	if g.Kind == agency.GateQuestion {
		return map[agency.Verb]string{agency.Approve: fmt.Sprintf("question of %s answered: %s", g.RunID, tui.Line(g.Decision.Note)), agency.Reject: fmt.Sprintf("question of %s not answered", g.RunID)}[verb]
	}
	return fmt.Sprintf("%s gate of %s %s%s", g.Kind, g.RunID, map[agency.Verb]string{agency.Approve: "approved", agency.Reject: "rejected"}[verb], raised(g))
}

// raised says which limit an approval set.
func raised(g agency.Gate) string {
	if g.Decision.Verb != agency.Approve || g.Decision.BudgetUSD == 0 {
		return ""
	}
	of := "the run"
	if g.Grant != nil && g.Grant.Node != "run" {
		of = tui.Line(g.Grant.Node)
	}
	return fmt.Sprintf(": the limit of %s is %s now", of, agency.USD(g.Decision.BudgetUSD))
}

// reasonFor asks why a gate is rejected, where somebody acts on the reason.
func reasonFor(ctx context.Context, a *app, c *daemon.Connected, run agency.RunID, r *api.AnswerRequest) error {
	gates, err := c.Gates(ctx, run)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(gates, func(g agency.Gate) bool { return g.ID == r.Gate && g.Open() })
	if i < 0 || !tui.WantsReason(gates[i]) { // the host says what is wrong with it
		return nil
	}
	missing := agency.Errorf(agency.KindInvalid, "reject: say why: whoever works on it next is told").WithMend("agency reject %s --reason TEXT", r.Gate)
	if !a.asksPeople() {
		return missing
	}
	if r.Note, err = prompt.Line(os.Stdin, a.out, "why? (an empty line opens your editor) ", agency.MaxGoal); err != nil {
		return err
	}
	if r.Note == "" {
		r.Note, err = editorOf(a).Text(ctx, "Say above this line why not: whoever works on it next is told.")
	}
	if err != nil {
		return fmt.Errorf("not rejected: %w", err)
	}
	return nil
}

// asking has the person at the terminal answer the run's gates where they are shown. Its end
// gives the terminal back as it was.
func (f *follower) asking(ctx context.Context, leave context.CancelCauseFunc) (stop func()) {
	if !f.o.pauses && !f.o.asks || f.o.json || f.o.noWait || !f.a.asksPeople() {
		return func() {}
	}
	keys, err := prompt.OpenKeys(os.Stdin)
	if err != nil { // it is not this program's to read: the commands answer
		return func() {}
	}
	f.ask = &ask.Asker{
		Keys: keys, Run: answering{f, leave}, Log: f.log, Out: f.a.out, Editor: editorOf(f.a), Pager: prompt.Pager{Env: f.a.env},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ask.Listen(ctx)
	}()
	return func() {
		if err := keys.Close(); err != nil {
			f.a.report(err)
		}
		<-done
	}
}

// gateText is a gate for people, with the run as it stands.
func (f *follower) gateText(ctx context.Context, st tui.Style, g agency.Gate) (string, error) {
	if f.o.closed {
		return tui.GateText(st, g), nil
	}
	doc, err := f.c.Inspect(ctx, f.run.ID, api.Tree)
	if err != nil {
		return "", err
	}
	gates, err := f.c.Gates(ctx, f.run.ID)
	if err != nil {
		return "", err
	}
	cost, err := f.c.Cost(ctx, f.run.ID, api.Tree)
	return tui.Gate(st, g, beside(st, doc, cost, gates, g)), err
}

// answeredGate tells that a gate was answered, by whomever.
func (f *follower) answeredGate(ctx context.Context, id agency.GateID) error {
	if f.ask == nil {
		return nil
	}
	return f.ask.Answered(ctx, id)
}

// answering is the run that is followed, for who asks about its gates.
type answering struct {
	f     *follower
	leave context.CancelCauseFunc
}

// Answer answers as the command does. What came of it is told by the log, but for what only
// the command says.
func (x answering) Answer(ctx context.Context, r api.AnswerRequest) (string, error) {
	q, said := hushed(x.f.a)
	err := q.answer(ctx, string(x.f.run.ID), r.Verb, r, false)
	if err == nil {
		return "", nil
	}
	return told(said, err)
}

func (x answering) Diff(ctx context.Context) (string, error) {
	d, err := x.f.c.Diff(ctx, x.f.run.ID)
	if err != nil {
		return "", err
	}
	return x.screened(diffText(func(patch string) string { return tui.Diff(x.f.a.styleNow(), patch) }, d, false))
}

func (x answering) Gate(ctx context.Context, g agency.Gate, whole bool) (string, error) {
	st := x.f.a.styleNow()
	if !whole {
		st.Fold = foldNow()
	}
	text, err := x.f.gateText(ctx, st, g)
	if err != nil {
		return "", err
	}
	return x.screened(text)
}

// screened is a text as the command prints it.
func (x answering) screened(text string) (string, error) {
	var b strings.Builder
	_, err := io.WriteString(tui.NewScreen(&b, x.f.a.style), text)
	return b.String(), err
}

func (x answering) Leave() { x.leave(errLater) }

func editorOf(a *app) prompt.Editor { return prompt.Editor{Env: a.env, Max: agency.MaxGoal} }

// cameTo is the exit code of an approval: a script that goes on after it must
// not take a merge for done that was not.
func cameTo(answered agency.Gate, doc api.RunDoc) error {
	if answered.Decision.Verb != agency.Approve {
		return nil
	}
	switch doc.State {
	case agency.StateFailed, agency.StateCancelled:
		return exit(exitFailed)
	case agency.StateInterrupted:
		return exit(exitEnvironment)
	}
	for _, g := range doc.Gates {
		if answered.Kind == agency.GateMerge && g.Kind == agency.GateMerge {
			return exit(exitWaiting)
		}
	}
	return nil
}

// settleTime is how long a command waits to be able to say what an answer led
// to: a merge takes milliseconds, an agent's work is not waited for.
const settleTime = 5 * time.Second

// settled waits a moment for a run to end, wait again or begin to work.
func settled(ctx context.Context, c *daemon.Connected, run api.RunDoc) (api.RunDoc, error) {
	limit, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for ev, err := range c.Events(limit, api.EventQuery{Run: run.ID, After: run.LastEvent, Follow: true}) {
		s := tui.StateAfter(ev)
		if err != nil || s.Final() || s == agency.StateInterrupted || s == agency.StateWaiting || ev.Type == "spawned" || ev.Type == "turn_completed" {
			break
		}
	}
	runs, err := c.Runs(ctx)
	for _, r := range runs {
		if r.ID == run.ID {
			return r, err
		}
	}
	return run, err
}

func after(d api.RunDoc) string {
	switch {
	case d.State.Final() || d.State == agency.StateInterrupted:
		return strings.TrimPrefix(summary(d, true), "\n")
	case len(d.Gates) > 0:
		return fmt.Sprintf("%s waits again: %s; see it with: agency inspect %s\n", d.ID, tui.Line(d.Gates[0].Summary), d.ID)
	default:
		return fmt.Sprintf("%s goes on; follow it with: agency watch %s\n", d.ID, d.ID)
	}
}

// usd is a flag of US dollars. Whether so many are allowed is decided where they count.
type usd float64

func (u *usd) String() string { return strconv.FormatFloat(float64(*u), 'f', -1, 64) }

// Type is what the flag is of, for its help.
func (u *usd) Type() string { return "USD" }

func (u *usd) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New(wantUSD)
	}
	*u = usd(v)
	return nil
}

// wantUSD is what a flag of dollars is to be.
var wantUSD = fmt.Sprintf("want a number of US dollars, more than 0 and at most %d, such as --budget 5 or --budget 5.00", agency.MostUSD)

// positive refuses what can be no limit.
func (u *usd) positive(flag string) error {
	if *u > 0 && *u <= agency.MostUSD {
		return nil
	}
	return usage("--%s %s: %s", flag, u, wantUSD)
}
