package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/bug"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/text"
)

// asker sends the requests of a conversation, and pays for them.
//
// A request is paid for model by model and try by try. A reservation holds the
// worst case of the model that is about to be asked; it is made that of
// another before that one is asked, settled by the name that the answer
// carries, given back where the provider refused at the door, and charged
// where an answer had begun or may have. Each further try reserves anew.
type asker struct{ *conversation }

// ask sends the request of the open turn and persists the answer. An outcome
// means that the part has ended without one.
func (c asker) ask(ctx context.Context) (*session.Outcome, error) {
	if err := c.r.o.between("asking"); err != nil {
		return nil, err
	}
	pay := c.forTurn()
	pay.begun = c.enter(ctx)
	defer pay.begun()
	req := c.req
	req.MaxOutput, req.Cache = c.turn.out, c.prefix().String()
	begun := c.r.o.Now()
	defer c.Stream.Done() // once it is stored: who hears it reads the whole answer then
	a, took, err := c.request(ctx, req, pay)
	if err == nil {
		c.dear = ""
		c.r.watch.heard(a.By, c.r.o.Now())
		return nil, c.persist(ctx, a, took)
	}
	c.st.Work += took
	c.st.Carry += took
	return c.noAnswer(ctx, a, err, begun)
}

// request sends a request within what is left of the session's time at work, and
// says how long it worked. Where no answer came, what is owed for it is paid; the
// error is errTime where time was up, errOrdered where the overseer ended it, and
// errPaused where it would have been sent again.
func (c asker) request(ctx context.Context, req llm.Request, pay payer) (a asked, took time.Duration, err error) {
	bounded, work := c.atWork(ctx)
	work.stale = c.lineup.Stale
	c.r.watch.enter(c.conversation, work)
	defer c.r.watch.leave(work)
	req.Waited, req.Left = c.st.Limited.passed(c.r.o.Now()), c.st.Limited.left(c.r.o.Now())
	a, err = c.stream(bounded, work, req, pay)
	cause := context.Cause(bounded)
	took = work.end()
	if err == nil {
		return a, took, nil
	}
	paid := c.forgo(ctx, pay, a, err)
	switch {
	case ctx.Err() != nil: // what could not be booked is charged by whoever goes on
		err = context.Cause(ctx)
	case paid != nil:
		err = paid
	case errors.Is(cause, errTime), errors.Is(cause, errOrdered), errors.Is(cause, errPaused), errors.Is(cause, errChosen):
		err = cause
	}
	return a, took, err
}

// errOrdered is the cause of a context when the overseer has told the session to end.
var errOrdered = errors.New("the overseer has told the session to end")

// errPaused ends a request that failed while a person wants the run to pause: it is
// not sent again before the run is resumed.
var errPaused = errors.New("the run is paused")

// errChosen ends a request that failed and waits to be sent again, because a person has
// chosen another model meanwhile.
var errChosen = errors.New("another model is chosen")

// again is asked before a request is sent once more, be it to another model: not while
// a pause is wanted. The fault is that of the try before.
func (c asker) again(ctx context.Context, a *asked, f *llm.Fault) error {
	ctl, err := store.Get(ctx, c.DB, registry.ReadControl, c.Spec.Run)
	if err != nil || !ctl.Pause {
		return err
	}
	a.open = a.open && !a.free(f)
	return errPaused
}

// paused ends the part until the run is resumed; the turn is asked for again then.
func (c asker) paused(ctx context.Context) (*session.Outcome, error) {
	out, err := c.end(ctx, *session.Paused(c.st.Tree))
	return &out, err
}

// stream streams one request, for which the first model of the list is
// reserved. An error of the payer ends it.
func (c asker) stream(ctx context.Context, work *stint, req llm.Request, pay payer) (asked, error) {
	a, sent := asked{held: c.lineup.Names[0]}, false
	for ev, err := range c.lineup.Model.Ask(ctx, req) {
		if err != nil {
			var f *llm.Fault
			if errors.As(err, &f) && a.free(f) {
				a.open = false
			}
			return a, err
		}
		switch ev := ev.(type) {
		case llm.Asking:
			if f := ev.After; f != nil && f.Kind == llm.ContextOverflow && c.st.Compactions < maxCompactions {
				// A shorter request may do for the model before; this one may have a
				// smaller window still.
				a.open = a.open && !a.free(f)
				return a, f
			}
			if sent {
				if err := c.again(ctx, &a, ev.After); err != nil {
					return a, err
				}
			}
			if err := c.asking(ctx, pay, &a, ev); err != nil {
				return a, err
			}
			sent = true
			c.Stream.Begin(c.turn.N, a.held)
			work.work()
		case llm.Retrying:
			if err := c.again(ctx, &a, ev.Cause); err != nil {
				return a, err
			}
			if err := c.broken(ctx, pay, &a, ev.Cause); err != nil {
				return a, err
			}
			if err := c.tellRetry(ctx, pay.key(), a.held, ev); err != nil {
				return a, err
			}
			a.idle = true
			work.rest()
		case llm.Done:
			a.Answer = ev.Answer
			if a.By == "" {
				return a, bug.Errorf("session %s: the answer does not say who gave it", c.id)
			}
			return a, nil
		case llm.Said:
			c.Stream.Say(ev)
		case llm.Counted:
			a.begun, a.counted = true, ev
			if pay.begun != nil {
				pay.begun()
			}
		}
	}
	return a, agency.Errorf(agency.KindTransient, "the model's answer ended without an end")
}

// noAnswer decides what a request without an answer means that was begun then.
func (c asker) noAnswer(ctx context.Context, a asked, err error, begun time.Time) (*session.Outcome, error) {
	var f *llm.Fault
	var spent *budget.Exhausted
	switch {
	case errors.Is(err, errTime):
		return c.incomplete(ctx, session.CauseTime, "")
	case errors.Is(err, errOrdered):
		out, err := c.endBy(ctx, func(tx *store.Tx) (*session.Outcome, error) { return c.Ordered(tx, c.st.Tree) })
		return &out, err
	case errors.Is(err, errPaused):
		return c.paused(ctx)
	case errors.Is(err, errChosen):
		return nil, nil // the next commit reserves for it
	case errors.As(err, &spent) && spent.Outstanding:
		return nil, nil // the next commit has it wait
	case errors.As(err, &spent):
		return c.spent(ctx, spent)
	case !errors.As(err, &f):
		return nil, err
	}
	if c.itsOwn(f, begun) {
		return c.incomplete(ctx, session.CauseProvider, f.Error())
	}
	if p := c.Spec.Post; p != nil {
		err = fmt.Errorf("agent %s: %w", p.Agent, err)
	}
	switch f.Kind {
	case llm.ContextOverflow:
		return nil, compactor(c).overflow(ctx, a.held, f.Detail)
	case llm.InvalidRequest:
		// Asked again, it would be refused again: a person looks at what the
		// provider said.
		return nil, agency.Errorf(agency.KindTransient, "%w", err).
			WithMend("mend the provider's settings or its server, then agency resume %s", c.Spec.Run)
	case llm.Auth, llm.ModelNotFound, llm.Quota:
		// A person mends it outside; the run goes on where it stands.
		return nil, agency.Errorf(agency.KindTransient, "%w", err).WithMend("%s", orMend(f.Mend, c.Spec.Run))
	}
	return nil, err
}

// itsOwn tells whether a fault is the failure of this agent, which others go on without. Where
// nobody is answered, the run rests until somebody mends it, and goes on with all of them.
func (c asker) itsOwn(f *llm.Fault, begun time.Time) bool {
	if c.Spec.Post == nil || !c.Spec.Post.Optional {
		return false
	}
	switch f.Kind {
	case llm.InvalidRequest, llm.ModelNotFound:
		return true
	case llm.Server, llm.Overloaded, llm.Timeout, llm.StreamCut, llm.BadAnswer:
		return c.r.watch.answered(f.Provider, begun)
	}
	return false
}

// orMend is a step that mends a provider's fault, with the command that goes on behind it.
func orMend(mend string, run agency.RunID) string {
	mend = cmp.Or(mend, "mend the provider's key or the model's name")
	return strings.ReplaceAll(mend, " RUN", " "+string(run)) + ", then agency resume " + string(run)
}

// asked is what came of a request.
type asked struct {
	llm.Answer
	held    string // the model that the reservation is for: provider/model, as configured
	counted llm.Counted
	begun   bool // of the try under way, something of an answer came
	// open is true while the provider may count for what the reservation holds.
	open bool
	idle bool // the store knows that it does not
}

// free tells whether the try that ended in a fault cost nothing.
func (a *asked) free(f *llm.Fault) bool { return f != nil && f.AtDoor() && !a.begun }

// payer reserves for one kind of request.
type payer struct {
	key     func() string
	in, out int64 // tokens, at worst
	// begun, where set, is told when an answer begins.
	begun func()
	// reserve pays for a try that the provider may have counted and reserves the
	// next; an error ends the request.
	reserve func(ctx context.Context, interrupted budget.Bill, model string) error
}

// interruptedBill is what a try costs that broke off.
func (c asker) interruptedBill(p payer, a *asked) budget.Bill {
	return c.Account.InterruptedBill(a.held, a.counted.Model, a.counted.Usage, p.in, p.out)
}

// asking makes sure that the reservation is the model's that is about to be
// asked, and that a broken try before is paid for.
func (c asker) asking(ctx context.Context, p payer, a *asked, ev llm.Asking) error {
	if ev.After != nil && a.open && a.free(ev.After) {
		a.open = false
	}
	if a.idle {
		if err := c.Write(ctx, func(tx *store.Tx) error { return budget.Idle(tx, c.Spec.Run, p.key(), false) }); err != nil {
			return err
		}
	}
	switch {
	case a.open:
		if err := p.reserve(ctx, c.interruptedBill(p, a), ev.Model); err != nil {
			c.dear = ev.Model
			return err
		}
	case ev.Model != a.held:
		err := c.Write(ctx, func(tx *store.Tx) error {
			return c.Account.Rebook(tx, p.key(), ev.Model, p.in, p.out)
		})
		if err != nil {
			c.dear = ev.Model
			return err
		}
	}
	*a = asked{held: ev.Model}
	if err := c.Account.Hold(ctx, p.key(), ev.Model, p.in, p.out); err != nil {
		c.dear = ev.Model
		return err
	}
	a.open = true
	return nil
}

// broken takes a fault after which the same model is asked again.
func (c asker) broken(ctx context.Context, p payer, a *asked, f *llm.Fault) error {
	if a.free(f) {
		a.open = false
		return nil
	}
	if err := p.reserve(ctx, c.interruptedBill(p, a), a.held); err != nil {
		return err
	}
	*a = asked{held: a.held}
	return nil
}

// forTurn pays for the tries of the open turn.
func (c asker) forTurn() payer {
	return payer{
		key: func() string { return c.key(c.turn) }, in: c.st.most(), out: c.turn.out,
		reserve: func(ctx context.Context, interrupted budget.Bill, model string) error {
			t := c.turn
			t.Try++
			if err := c.Account.Look(ctx); err != nil {
				return err
			}
			err := c.Write(ctx, func(tx *store.Tx) error {
				if err := budget.Charge(tx, c.Spec.Run, c.key(c.turn), interrupted); err != nil {
					return err
				}
				return c.hold(tx, &t, c.st, model, t.out)
			})
			if err == nil {
				c.turn = t
			}
			return err
		},
	}
}

// errOnce ends a request that is not worth a second try.
var errOnce = errors.New("the answer was lost")

// forSummary lets no try follow one that the provider may have counted: a
// summary can be written without a model.
func (c asker) forSummary(req llm.Request) payer {
	return payer{
		key: func() string { return compactor(c).summaryKey(c.st.Due.Try) }, in: llm.EstimateTokens(llm.Bytes(req)), out: req.MaxOutput,
		reserve: func(context.Context, budget.Bill, string) error { return errOnce },
	}
}

// forgo ends a request without an answer: its reservation is charged where the
// provider may have counted, and given back otherwise. Where the provider is given up, what
// was waited for it is forgotten: who resumes the run has patience anew.
func (c asker) forgo(ctx context.Context, p payer, a asked, why error) error {
	st := c.st
	if f := (*llm.Fault)(nil); errors.As(why, &f) {
		st.Limited = nil
	}
	err := c.Write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		if st.Limited != c.st.Limited {
			if err := (&draft{c: c.conversation, tx: tx, st: st, turn: c.turn}).save(); err != nil {
				return err
			}
		}
		if a.open {
			return budget.Charge(tx, c.Spec.Run, p.key(), c.interruptedBill(p, &a))
		}
		return budget.Release(tx, c.Spec.Run, p.key())
	})
	if err == nil {
		c.st = st
	}
	return err
}

// errTime is the cause of a context when the session's time at work is up.
var errTime = errors.New("the session's time at work is up")

// stint is a stretch of time at work. Waiting for a provider that asked for
// patience, or for our own backoff, is not work: it counts towards no limit.
type stint struct {
	now    func() time.Time
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil: no limit
	left   time.Duration
	since  time.Time // zero while it rests
	took   time.Duration
	rests  atomic.Bool // what since says, for others
	stale  func() bool // whether other models are chosen; nil: never
}

// atWork begins a stint and bounds the context by what is left of the
// session's time at work. The stint must be ended.
func (c *conversation) atWork(ctx context.Context) (context.Context, *stint) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stint{now: c.r.o.Now, cancel: cancel, since: c.r.o.Now()}
	if limit := c.Setup.Limits.Timeout(); limit > 0 {
		s.left = max(limit-c.st.Work, time.Second)
		s.timer = time.AfterFunc(s.left, func() { cancel(errTime) })
	}
	return ctx, s
}

// rest stops the clock; resting again is nothing.
func (s *stint) rest() {
	if s.since.IsZero() {
		return
	}
	s.took += s.now().Sub(s.since)
	s.since = time.Time{}
	s.rests.Store(true)
	if s.timer != nil {
		s.timer.Stop()
	}
}

// work starts the clock again after a rest.
func (s *stint) work() {
	if !s.since.IsZero() {
		return
	}
	s.since = s.now()
	s.rests.Store(false)
	if s.timer != nil {
		s.timer.Reset(max(0, s.left-s.took))
	}
}

// end ends the stint and says how long it worked.
func (s *stint) end() time.Duration {
	s.rest()
	s.cancel(nil)
	return s.took
}

// spent ends the part because nothing is left of the budget.
func (c asker) spent(ctx context.Context, e *budget.Exhausted) (*session.Outcome, error) {
	out, err := c.endBy(ctx, func(tx *store.Tx) (*session.Outcome, error) { return c.Account.Spent(tx, e, c.st.Tree) })
	return &out, err
}

// tellRetry tells that the same model is asked again, when, and why, as the wait begins, and
// notes a wait that uses its provider's patience up, and that nothing is asked for what is
// reserved under the key.
func (c asker) tellRetry(ctx context.Context, key, model string, ev llm.Retrying) error {
	what := ev.Cause.What()
	if ev.Cause.Kind == llm.Server && ev.Cause.Status != 0 {
		what = fmt.Sprintf("the server answers %d", ev.Cause.Status)
	}
	said := fmt.Sprintf("waiting for %s: %s, next try in %s, %d of %d", ev.Cause.Provider, what, inWords(ev.Wait), ev.Attempt+1, ev.Of)
	if ev.Cause.Detail != "" {
		said += " (" + text.FirstLine(ev.Cause.Detail, 200) + ")"
	}
	st := c.st
	if ev.Cause.Kind == llm.RateLimited {
		st.Limited = st.Limited.begin(model, c.r.o.Now(), ev.Wait)
	}
	err := c.Write(ctx, func(tx *store.Tx) error {
		if st.Limited != c.st.Limited {
			if err := (&draft{c: c.conversation, tx: tx, st: st, turn: c.turn}).save(); err != nil {
				return err
			}
		}
		if err := budget.Idle(tx, c.Spec.Run, key, true); err != nil {
			return err
		}
		return c.Log(tx, agency.SeverityWarning, said, agency.Retried{
			Session: c.id, Attempt: ev.Attempt, Of: ev.Of, Cause: string(ev.Cause.Kind), Provider: ev.Cause.Provider, WaitSeconds: ev.Wait.Seconds(), Until: ev.Until,
		})
	})
	if err == nil {
		c.st = st
	}
	return err
}

// inWords is a wait for people.
func inWords(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
