package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
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

// errTime is the cause of a context when the session's time at work is up.
var errTime = errors.New("the session's time at work is up")

// atWork bounds a context by what is left of the session's time at work.
func (c *conversation) atWork(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := c.setup.Limits.Timeout()
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, max(limit-c.st.Work, time.Second), errTime)
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
	began := c.r.o.Now()
	bounded, cancel := c.atWork(ctx)
	defer cancel()
	a, err := c.stream(bounded, c.req, c.again)
	took := c.r.o.Now().Sub(began)
	if err == nil {
		return nil, c.persist(ctx, a, took)
	}
	c.st.Work += took
	c.st.Carry += took
	return c.noAnswer(ctx, bounded, a, err)
}

// asked is what came of a request.
type asked struct {
	llm.Answer
	model string // provider/model, as configured
	// door is true while every fault of this try was one that costs nothing: the
	// provider refused the request before it began.
	door bool
}

// lost takes a fault after which the request is made once more. Where the
// provider may have counted tokens, again pays for the try and reserves the
// next, or refuses it.
func (a *asked) lost(ctx context.Context, f *llm.Fault, again func(context.Context) error) error {
	if f != nil && atDoor(f) {
		return nil
	}
	if err := again(ctx); err != nil {
		a.door = false
		return err
	}
	return nil
}

// stream streams one request. An error of again ends it.
func (c *conversation) stream(ctx context.Context, req llm.Request, again func(context.Context) error) (asked, error) {
	a := asked{model: c.setup.Models[0], door: true}
	for ev, err := range c.setup.Model.Ask(ctx, req) {
		if err != nil {
			var f *llm.Fault
			a.door = a.door && errors.As(err, &f) && atDoor(f)
			return a, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			c.emit(TextDelta{Text: ev.Text})
		case llm.Retrying:
			c.emit(Voided{Cause: faultText(ev.Cause)})
			if err := a.lost(ctx, ev.Cause, again); err != nil {
				return a, err
			}
		case llm.Switched:
			if ev.Cause != nil && ev.Cause.Kind == llm.ContextOverflow && c.st.Folds < maxFolds {
				// A shorter request may do for this model; the next one may have a
				// smaller window still.
				return a, ev.Cause
			}
			a.model = ev.To
			c.emit(Voided{Cause: faultText(ev.Cause)})
			if err := a.lost(ctx, ev.Cause, again); err != nil {
				return a, err
			}
		case llm.Done:
			a.Answer = ev.Answer
			return a, nil
		}
	}
	return a, agency.Errorf(agency.KindTransient, "the model's answer ended without an end")
}

func faultText(f *llm.Fault) string {
	if f == nil {
		return ""
	}
	return f.Error()
}

// atDoor tells whether a fault came before the provider counted a token.
func atDoor(f *llm.Fault) bool {
	switch f.Kind {
	case llm.RateLimited, llm.Quota, llm.Overloaded, llm.RefusedConnection, llm.Auth, llm.ModelNotFound,
		llm.InvalidRequest, llm.ContextOverflow:
		return true
	}
	return false
}

// noAnswer decides what a request without an answer means.
func (c *conversation) noAnswer(ctx, bounded context.Context, a asked, err error) (*Outcome, error) {
	var f *llm.Fault
	var spent *budget.Exhausted
	switch {
	case errors.Is(context.Cause(bounded), errTime) && ctx.Err() == nil:
		return c.incomplete(ctx, CauseTime, "")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &spent):
		out, err := c.end(ctx, Outcome{Kind: Parked, For: ForBudget, Reason: spent.Error(), Exhausted: spent, Tree: c.st.Tree})
		return &out, err
	case !errors.As(err, &f):
		return nil, err
	}
	if err := c.forgo(ctx, a.door); err != nil {
		return nil, err
	}
	switch f.Kind {
	case llm.ContextOverflow:
		return nil, c.overflow(ctx, a.model, f.Detail)
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
