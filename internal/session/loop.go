package session

import (
	"context"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/bug"
	"agency/internal/llm"
)

// loop is the session: ask, persist, act, settle, until a commit says that the
// part has ended.
func (c *conversation) loop(ctx context.Context) (Outcome, error) {
	for {
		var d *done
		if c.turn.phase == phaseAnswered {
			var err error
			if d, err = c.act(ctx); err != nil {
				return Outcome{}, err
			}
		}
		out, err := c.commit(ctx, d)
		if err != nil || out != nil {
			return orZero(out), err
		}
		if c.st.Due != nil {
			if out, err := c.compact(ctx); err != nil || out != nil {
				return orZero(out), err
			}
			continue
		}
		if out, err = c.ask(ctx); err != nil || out != nil {
			return orZero(out), err
		}
	}
}

// interrupted turns the end of a context into what it means. Everything else
// stays an error: the same part goes on later.
func (c *conversation) interrupted(ctx context.Context, err error) (Outcome, error) {
	if errors.Is(context.Cause(ctx), errCancelled) && c.stored {
		out := Outcome{Kind: Stopped, Reason: "the run was cancelled"}
		return c.end(ctx, out)
	}
	if errors.Is(context.Cause(ctx), errCancelled) {
		return Outcome{Kind: Stopped, Reason: "the run was cancelled"}, nil
	}
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	return Outcome{}, err
}

// ask sends the request of the open turn and persists the answer. An outcome
// means that the part has ended without one.
func (c *conversation) ask(ctx context.Context) (*Outcome, error) {
	if err := c.r.o.between("asking"); err != nil {
		return nil, err
	}
	c.emit(TurnStarted{Turn: c.turn.n})
	bounded, work := c.atWork(ctx)
	a, err := c.stream(bounded, work, c.req, c.forTurn())
	outOfTime := errors.Is(context.Cause(bounded), errTime)
	took := work.end()
	if err == nil {
		return nil, c.persist(ctx, a, took)
	}
	c.st.Work += took
	c.st.Carry += took
	return c.noAnswer(ctx, outOfTime, a, err)
}

// stream streams one request, for which the first model of the list is
// reserved. An error of the payer ends it.
func (c *conversation) stream(ctx context.Context, work *stint, req llm.Request, pay payer) (asked, error) {
	a := asked{held: c.setup.Models[0]}
	for ev, err := range c.setup.Model.Ask(ctx, req) {
		if err != nil {
			var f *llm.Fault
			if errors.As(err, &f) && a.free(f) {
				a.open = false
			}
			return a, err
		}
		switch ev := ev.(type) {
		case llm.Asking:
			if f := ev.After; f != nil {
				if f.Kind == llm.ContextOverflow && c.st.Folds < maxFolds {
					// A shorter request may do for the model before; this one may have a
					// smaller window still.
					a.open = a.open && !a.free(f)
					return a, f
				}
				c.emit(Voided{Cause: faultText(f)})
			}
			if err := c.asking(ctx, pay, &a, ev); err != nil {
				return a, err
			}
			work.work()
		case llm.Retrying:
			c.emit(Voided{Cause: faultText(ev.Cause)})
			if err := c.broken(ctx, pay, &a, ev.Cause); err != nil {
				return a, err
			}
			work.rest()
		case llm.Done:
			a.Answer = ev.Answer
			if a.By == "" {
				return a, bug.Errorf("session %s: the answer does not say who gave it", c.id)
			}
			return a, nil
		default:
			c.begun(&a, ev)
		}
	}
	return a, agency.Errorf(agency.KindTransient, "the model's answer ended without an end")
}

// begun takes a piece of an answer.
func (c *conversation) begun(a *asked, ev llm.Event) {
	a.begun = true
	switch ev := ev.(type) {
	case llm.TextDelta:
		c.emit(TextDelta{Text: ev.Text})
	case llm.Counted:
		a.counted = ev
	}
}

func faultText(f *llm.Fault) string {
	if f == nil {
		return ""
	}
	return f.Error()
}

// noAnswer decides what a request without an answer means.
func (c *conversation) noAnswer(ctx context.Context, outOfTime bool, a asked, err error) (*Outcome, error) {
	var f *llm.Fault
	var spent *budget.Exhausted
	paid := c.forgo(ctx, c.forTurn(), a)
	switch {
	case ctx.Err() != nil: // what could not be booked is charged by whoever goes on
		return nil, context.Cause(ctx)
	case paid != nil:
		return nil, paid
	case outOfTime:
		return c.incomplete(ctx, CauseTime, "")
	case errors.As(err, &spent):
		out, err := c.end(ctx, Outcome{Kind: Parked, For: ForBudget, Reason: spent.Error(), Exhausted: spent, Tree: c.st.Tree})
		return &out, err
	case !errors.As(err, &f):
		return nil, err
	}
	switch f.Kind {
	case llm.ContextOverflow:
		return nil, c.overflow(ctx, a.held, f.Detail)
	case llm.InvalidRequest:
		// Asked again, it would be refused again: a person looks at what the
		// provider said.
		return nil, agency.Errorf(agency.KindTransient, "%w", err).
			WithMend("mend the provider's settings or its server, then agency resume %s", c.spec.Run)
	case llm.Auth, llm.ModelNotFound:
		// A person mends it outside; the run goes on where it stands.
		return nil, agency.Errorf(agency.KindTransient, "%w", err).WithMend("%s", orMend(f.Mend, c.spec.Run))
	}
	return nil, err
}

func orMend(mend string, run agency.RunID) string {
	if mend != "" {
		return mend + ", then agency resume " + string(run)
	}
	return "mend the provider's key or the model's name, then agency resume " + string(run)
}

// incomplete ends the part with a named cause.
func (c *conversation) incomplete(ctx context.Context, cause Cause, detail string) (*Outcome, error) {
	out, err := c.end(ctx, Outcome{Kind: Incomplete, Cause: cause, Reason: because(cause, detail), Tree: c.st.Tree})
	return &out, err
}

func because(cause Cause, detail string) string {
	if detail == "" {
		return cause.reason()
	}
	return fmt.Sprintf("%s: %s", cause.reason(), detail)
}
