package session

import (
	"context"
	"errors"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/store"
)

// A request is paid for model by model and try by try. A reservation holds the
// worst case of the model that is about to be asked; it is made that of
// another before that one is asked, settled by the name that the answer
// carries, given back where the provider refused at the door, and charged
// where an answer had begun or may have. Each further try reserves anew.

// asked is what came of a request.
type asked struct {
	llm.Answer
	held    string // the model that the reservation is for: provider/model, as configured
	counted llm.Counted
	begun   bool // of the try under way, something of an answer came
	// open is true while the provider may count for what the reservation holds.
	open bool
}

// free tells whether the try that ended in a fault cost nothing.
func (a *asked) free(f *llm.Fault) bool { return f != nil && f.AtDoor() && !a.begun }

// owed is what a try costs that broke off, where that is above its
// reservation: what the provider counted, and the worst case of a model that
// answered in the place of the one that was asked.
func (c *conversation) owed(p payer, a *asked) budget.Bill {
	bill := c.setup.Prices.Bill(a.held, a.counted.Model, a.counted.Usage)
	if a.counted.Model != "" {
		most, _ := c.setup.Prices.Most(a.held, a.counted.Model, p.in, p.out)
		bill.Cost = max(bill.Cost, most)
	}
	return bill
}

// payer reserves for one kind of request.
type payer struct {
	key     func() string
	in, out int64 // tokens, at worst
	// again pays for a try that the provider may have counted and reserves the
	// next; an error ends the request.
	again func(ctx context.Context, owed budget.Bill, model string) error
}

// asking makes sure that the reservation is the model's that is about to be
// asked, and that a broken try before is paid for.
func (c *conversation) asking(ctx context.Context, p payer, a *asked, ev llm.Asking) error {
	if ev.After != nil && a.open && a.free(ev.After) {
		a.open = false
	}
	switch {
	case a.open:
		if err := p.again(ctx, c.owed(p, a), ev.Model); err != nil {
			return err
		}
	case ev.Model != a.held:
		err := c.write(ctx, func(tx *store.Tx) error {
			return budget.Rebook(tx, c.spec.Run, c.worst(p.key(), ev.Model, p.in, p.out))
		})
		if err != nil {
			return err
		}
	}
	*a = asked{held: ev.Model, open: true}
	return nil
}

// broken takes a fault after which the same model is asked again.
func (c *conversation) broken(ctx context.Context, p payer, a *asked, f *llm.Fault) error {
	if a.free(f) {
		a.open = false
		return nil
	}
	if err := p.again(ctx, c.owed(p, a), a.held); err != nil {
		return err
	}
	*a = asked{held: a.held}
	return nil
}

// forTurn pays for the tries of the open turn.
func (c *conversation) forTurn() payer {
	return payer{
		key: func() string { return c.key(c.turn) }, in: c.prompt(c.st), out: maxOutput(c.req),
		again: func(ctx context.Context, owed budget.Bill, model string) error {
			t := c.turn
			t.try++
			err := c.write(ctx, func(tx *store.Tx) error {
				if err := budget.Charge(tx, c.spec.Run, c.key(c.turn), owed); err != nil {
					return err
				}
				return c.hold(tx, t, c.st, model)
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
func (c *conversation) forSummary(req llm.Request) payer {
	return payer{
		key: func() string { return c.summaryKey(c.st.Due.Try) }, in: llm.EstimateTokens(llm.Bytes(req)), out: req.MaxOutput,
		again: func(context.Context, budget.Bill, string) error { return errOnce },
	}
}

// worst is the reservation for a request of so many tokens to a model.
func (c *conversation) worst(key, model string, in, out int64) budget.Request {
	money, priced := c.setup.Prices.Most(model, "", in, out)
	return budget.Request{
		Key: key, Node: budget.SessionNode(c.id), Tokens: in + out, Money: money, Unpriced: !priced,
		Agent: c.spec.Agent, Role: c.spec.Role, Tier: c.spec.Tier, Model: model, Contract: c.spec.Contract,
	}
}

// prompt is the most tokens that the prompt may have: by its bytes, or by what
// the provider counted of it before where that is more.
func (c *conversation) prompt(st state) int64 {
	return max(llm.EstimateTokens(st.Bytes), st.promptTokens())
}

// hold reserves the worst case of a try and records it.
func (c *conversation) hold(tx *store.Tx, t turn, st state, model string) error {
	if err := budget.Reserve(tx, c.spec.Run, c.worst(c.key(t), model, c.prompt(st), maxOutput(c.req))); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO session_turn (session_id, turn, try, phase) VALUES (?, ?, ?, 'asked')
		ON CONFLICT (session_id, turn) DO UPDATE SET try = excluded.try, phase = 'asked'`, string(c.id), t.n, t.try)
	return err
}

// forgo ends a request without an answer: its reservation is charged where the
// provider may have counted, and given back otherwise.
func (c *conversation) forgo(ctx context.Context, p payer, a asked) error {
	return c.write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		if a.open {
			return budget.Charge(tx, c.spec.Run, p.key(), c.owed(p, &a))
		}
		return budget.Release(tx, c.spec.Run, p.key())
	})
}
