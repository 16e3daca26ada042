package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/daemon"
	"agency/internal/report"
	"agency/internal/ui/prompt"
	"agency/internal/ui/tui"
	"agency/internal/ui/tui/ask"
	"agency/internal/ui/tui/turn"
)

// followOptions say how a run is followed.
type followOptions struct {
	levels
	yes, noWait bool
	pauses      bool  // Ctrl-C pauses the run; its gates are asked about
	asks        bool  // its gates are asked about, and Ctrl-C only leaves
	closed      bool  // nobody can answer a gate: the host ends with the command
	stays       bool  // a run that waits or is paused is followed on
	after       int64 // events up to here are not shown again
	// answer gets what a run of an agent has answered.
	answer *tui.Screen
	known  int64 // events up to here are history: they are shown and end nothing
}

// follower prints a run until it ends, waits or is paused.
type follower struct {
	a   *app
	c   *daemon.Connected
	run api.RunDoc
	o   followOptions
	log *tui.Log
	// turns shows what stands behind the events; nil where a line an event is wanted.
	turns *turn.Teller
	// heard tells that something happened since the forecast was asked for.
	heard atomic.Bool
	// shown tells that a gate stands on the screen with the commands that answer it.
	shown bool
	ask   *ask.Asker // nil: nobody is asked here
}

func (a *app) follow(ctx context.Context, c *daemon.Connected, run api.RunDoc, o followOptions) error {
	if o.plain {
		a = plain(a)
	}
	f := &follower{a: a, c: c, run: run, o: o, turns: turns(a, c, run.ID, o.levels)}
	f.heard.Store(true)
	well := healthOf(ctx, c, run.ID)
	f.log = tui.NewLog(a.out, tui.LogOptions{
		Style: a.style, Verbose: o.verbose || well.verbose && !o.quiet, Quiet: o.quiet, Zone: time.Local, Now: a.now, Start: run.CreatedAt, Width: a.width, Health: well, Away: away,
	})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := f.asking(ctx, cancel)
	stop := f.onInterrupt(ctx, cancel)
	defer stop()
	var err error
	if a.style.Live && !o.json {
		defer prompt.OnStop(f.log.Hold)()
		if err = f.history(ctx); err == nil {
			defer f.tick(ctx)()
			defer f.listen(ctx)()
		}
	}
	if err == nil {
		err = f.events(ctx)
	}
	answered() // the terminal is as it was for what follows
	return f.end(ctx, err)
}

// history takes in what happened before the first event that is shown, so that
// the progress line counts the whole run.
func (f *follower) history(ctx context.Context) error {
	if f.o.after == 0 {
		return nil
	}
	for ev, err := range f.c.Events(ctx, api.EventQuery{Run: f.run.ID}) {
		if err != nil {
			return err
		}
		if ev.ID > f.o.after {
			return nil
		}
		f.log.Seen(ev)
	}
	return nil
}

// errLeft is the second Ctrl-C; errLater leaves a gate for later.
var (
	errLeft  = errors.New("left")
	errLater = errors.New("later")
)

// catch begins to take Ctrl-C. It is called before the request that starts a
// run, so that none is lost between the request and the following.
func (a *app) catch() chan os.Signal {
	if a.signals == nil {
		a.signals = make(chan os.Signal, 2)
		signal.Notify(a.signals, os.Interrupt)
	}
	return a.signals
}

// onInterrupt lets the first Ctrl-C pause the run and the second one leave.
func (f *follower) onInterrupt(ctx context.Context, leave context.CancelCauseFunc) (stop func()) {
	signals := f.a.catch()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for paused := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if f.ask != nil && f.ask.Interrupt() {
				continue // it leaves what is typed
			}
			if paused || !f.o.pauses {
				leave(errLeft)
				return
			}
			paused = true
			f.say("pausing at the end of this turn; Ctrl-C again leaves at once")
			if _, err := f.c.Pause(ctx, f.run.ID, api.ByRequest{By: who()}); err != nil {
				leave(err)
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		leave(nil)
		<-done
	}
}

// forecastEvery is how often the forecast is asked for again, where anything happened: its sums
// are over all requests of the run.
const forecastEvery = 5 * time.Second

// tick keeps the progress line: its clock each second, and what the run is likely to come to,
// which may take longer to be asked than that.
func (f *follower) tick(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for sleep(ctx, tui.NextSecond(f.a.now())) {
			_ = f.log.Tick() // a terminal that is gone is noticed by the next event
		}
	})
	work.Go(func() {
		for again := true; again; again = sleep(ctx, forecastEvery) {
			if !f.heard.Swap(false) {
				continue
			}
			if c, err := f.c.Cost(ctx, f.run.ID); err == nil { // else the last one stays
				f.log.Stands(c)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// sleep waits so long; false: it ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// events prints the log until an event ends the command.
func (f *follower) events(ctx context.Context) error {
	after := f.o.after
	told := f.o.known <= after
	if told { // else the gates that wait stand below their history
		if err := f.waiting(ctx); err != nil {
			return err
		}
	}
	for ev, err := range f.c.Events(ctx, api.EventQuery{Run: f.run.ID, After: after, Follow: true}) {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		if err := f.show(ctx, ev); err != nil {
			return err
		}
		if ev.ID < f.o.known {
			continue
		}
		if !told {
			told = true
			if err := f.waiting(ctx); err != nil {
				return err
			}
		}
		if ev.ID == f.o.known {
			continue
		}
		if err := f.react(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) show(ctx context.Context, ev agency.Event) error {
	f.heard.Store(true)
	switch {
	case f.o.json:
		return f.a.printLine(ev)
	case f.turns == nil:
		return f.log.Event(ev)
	}
	return f.log.EventIn(ev, f.turns.Around(ctx, ev))
}

// react decides whether an event ends the command; its error is the end.
func (f *follower) react(ctx context.Context, ev agency.Event) error {
	d, err := agency.DecodeDetail(ev)
	if err != nil { // of a newer version
		return nil
	}
	switch d := d.(type) {
	case *agency.GatePending:
		return f.gate(ctx, d.Gate)
	case *agency.GateApproved:
		return f.answeredGate(ctx, d.Gate)
	case *agency.GateRejected:
		return f.answeredGate(ctx, d.Gate)
	case *agency.GatePaused:
		if f.o.stays || d.Manual { // the pause itself is told by the run's state
			return nil
		}
		f.say("no answer for a while; the run waits and nothing is spent")
		return exit(exitWaiting)
	}
	switch s := tui.StateAfter(ev); {
	case s.Final(), s == agency.StateInterrupted:
		return exit(s.ExitCode())
	case s == agency.StatePaused && !f.o.stays:
		return exit(exitInterrupted)
	}
	return nil
}

// waiting shows the gates that wait already when following begins.
func (f *follower) waiting(ctx context.Context) error {
	for _, g := range f.run.Gates {
		if err := f.gate(ctx, g.ID); err != nil {
			return err
		}
	}
	return nil
}

// gate shows a gate that waits, with the commands that answer it.
func (f *follower) gate(ctx context.Context, id agency.GateID) error {
	gates, err := f.c.Gates(ctx, f.run.ID)
	if err != nil {
		return err
	}
	var this agency.Gate
	for _, g := range gates {
		if g.ID == id {
			this = g
		}
	}
	if !this.Open() || (f.o.yes || f.run.Yes) && this.Kind.YesAnswers() && !this.NoYes {
		return nil
	}
	if f.o.json || f.o.yes && !f.a.seen && !f.o.closed {
		f.a.note("%s", tui.GateNotice(this)) // whoever reads the output does not read this
	}
	if f.ask != nil {
		f.shown = true
		return f.ask.Ask(ctx, this)
	}
	if !f.o.json {
		f.shown = true
		text, err := f.gateText(ctx, f.a.styleNow(), this)
		if err != nil {
			return err
		}
		if err := f.log.Print(text + "\n"); err != nil {
			return err
		}
	}
	if f.o.noWait {
		return exit(exitWaiting)
	}
	f.waitsHere(this)
	return nil
}

func (f *follower) say(text string) {
	if f.o.json {
		f.a.note("%s", text)
		return
	}
	_ = f.log.Note(text) // a terminal that is gone is noticed by the next event
}

// end says how the run stands and returns the command's exit.
func (f *follower) end(ctx context.Context, err error) error {
	_ = f.log.Stop() // the terminal is left as it was found
	var code exit
	switch {
	case errors.Is(err, errLeft):
		code, f.shown = exitInterrupted, false // likewise
	case errors.Is(err, errLater):
		code, f.shown = exitWaiting, false // the commands are what is left
	case api.Unreachable(err):
		return f.lost()
	case errors.As(err, &code):
	case ctx.Err() != nil: // a signal ended the command
		return f.ended(ctx)
	default:
		return err
	}
	left := errors.Is(err, errLeft) || errors.Is(err, errLater)
	if left { // whoever leaves is kept no longer than this
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ctx = limit
	}
	doc, derr := f.c.Inspect(ctx, f.run.ID) // a run may be large: only a lost host ends this
	switch {
	case derr == nil:
	case left, errors.Is(context.Cause(ctx), errLeft):
		return exit(exitInterrupted)
	case api.Unreachable(derr):
		return f.lost()
	default:
		return derr
	}
	if code == exitWaiting && len(doc.Gates) > 0 && doc.State == agency.StateRunning {
		// The host records it a moment after the gate's event, and the next
		// command is to see what this one says.
		_, _ = settled(ctx, f.c, doc.RunDoc) // what it would say is said here
		doc.State = agency.StateWaiting
	}
	if g := doc.Gates; doc.State == agency.StateWaiting && doc.Reason == "" && len(g) > 0 {
		doc.Reason = fmt.Sprintf("%s gate: %s", g[0].Kind, g[0].Summary)
	}
	if f.o.json {
		perr := f.a.printLine(api.ResultDoc{
			RunID: doc.ID, Number: doc.Number, State: doc.State, Branch: doc.Branch, Merged: doc.Merged, CostUSD: doc.CostUSD, Tokens: doc.Tokens, ExitCode: int(code), Answer: doc.Answer, Why: doc.Why,
		})
		if perr != nil {
			return perr
		}
	} else {
		f.a.printf(f.a.out, "%s", f.last(doc, code))
		if err := f.answered(doc.RunDoc); err != nil {
			return err
		}
	}
	if code == 0 {
		return nil
	}
	return code
}

// answered writes what a run of an agent has answered, and nothing else, to where it is
// wanted.
func (f *follower) answered(d api.RunDoc) error {
	if f.o.answer == nil || d.State != agency.StateSucceeded {
		return nil
	}
	return f.o.answer.Answer(strings.TrimRight(d.Answer, "\n") + "\n")
}

// lost is the end where the host died: nothing is lost, and nothing goes on.
func (f *follower) lost() error {
	return agency.Errorf(agency.KindTransient, "the host of this repository ended while run %s was followed; its record is kept", f.run.ID).
		WithMend("agency resume %s", f.run.ID)
}

// last is what a run that was followed ends with. A dry run ends with its plan,
// and is removed then: no command looks at it.
func (f *follower) last(d api.InspectDoc, code exit) string {
	if d.Dry && d.State == agency.StateSucceeded {
		return ""
	}
	if d.Dry && d.State.Final() {
		return standing(d.RunDoc) + result(d)
	}
	s := summary(d.RunDoc, !f.shown) + outcome(d)
	if code == exitInterrupted && (d.State == agency.StateRunning || d.State == agency.StatePlanning) {
		how := "goes on"
		if f.o.pauses {
			how += " to the end of its turn"
		}
		s += fmt.Sprintf("  it %s; follow it with: agency watch %s%s\n", how, d.ID, elsewhere(d.RunDoc))
	}
	return s
}

// standing is where a run stands, and what it cost.
func standing(d api.RunDoc) string {
	cost := tui.Cost(agency.USD(d.CostUSD), d.Tokens, d.Unpriced)
	s := fmt.Sprintf("\n%s  %s  %s\n", d.ID, d.State, tui.Line(d.Reason))
	if d.Agent != "" { // nothing of it lands
		return s + fmt.Sprintf("  cost %s\n", cost)
	}
	return s + fmt.Sprintf("  branch %s, cost %s\n", d.Branch, cost)
}

// summary is the last lines of a run that was followed: where it stands, where
// the work is, and the command that comes next; answers: also those that answer a
// gate.
func summary(d api.RunDoc, answers bool) string {
	s, where := standing(d), elsewhere(d)
	id := string(d.ID) + where
	switch {
	case d.State == agency.StateSucceeded && d.Merged != "":
		s += fmt.Sprintf("  merged into %s as %.10s\n", d.Target, d.Merged)
	case d.State == agency.StateSucceeded && d.Agent != "":
		s += fmt.Sprintf("  who worked for whom: agency inspect %s\n", id)
	case d.State == agency.StateSucceeded:
		s += fmt.Sprintf("  merge it with: agency merge %s\n", id)
	case d.State == agency.StateWaiting && answers:
		for _, g := range d.Gates {
			id := string(g.ID) + where
			s += fmt.Sprintf("  answer with: %s\n               %s\n", tui.AnswerWith(agency.Approve, g.Kind, id), tui.AnswerWith(agency.Reject, g.Kind, id))
		}
	case len(d.Next) > 0:
		s += tui.Next(tui.Style{}, d.Next, where)
	}
	return s
}

// outcome is what a run that is over came to, and where to read all of it.
func outcome(d api.InspectDoc) string {
	if !d.State.Final() || d.Agent != "" {
		return ""
	}
	return result(d) + fmt.Sprintf("  report: agency inspect %s --report\n", d.ID)
}

// result is what a run that is over came to, in few words.
func result(d api.InspectDoc) string {
	s := fmt.Sprintf("  %s\n", tui.Line(report.Summary(d.Report)))
	if m := d.Report.Manager; m != nil {
		if first := firstWords(m.Text); first != "" {
			lead := "project manager"
			if d.Report.Mode == agency.ModeTiered {
				lead = "visionary"
			}
			s += fmt.Sprintf("  the %s says: %s\n", lead, tui.Line(first))
		}
	}
	return s
}

// firstWords is the first line of a text in Markdown that is no heading.
func firstWords(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}
