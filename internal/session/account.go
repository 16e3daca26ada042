package session

import (
	"context"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/store"
)

// Account is a session's part of the run's budget: each request reserves its
// worst case before it is sent, and is settled, charged or released after it
// (package budget). Several requests are told apart by their keys.
type Account struct {
	*Member
	Prices budget.Tariff // of the models that may answer
	Bell   *budget.Bell
	// Priority is the contract's: who waits for the budget is served by it.
	Priority int
	// Above is what the user allows across runs; nil: whatever the run's budget does.
	Above Allowance

	left budget.Allowance // of it, as it was last looked at
}

// Allowance is what a user allows across runs (package budget/allowance).
type Allowance interface {
	// Look says how much may still be spent.
	Look(ctx context.Context) (budget.Allowance, error)
	// Hold holds the worst case of a request before it is sent, and in the place of
	// what the same held before; what came of it is learnt from the run's budget. A
	// *budget.Exhausted refuses it.
	Hold(ctx context.Context, run agency.RunID, key string, most agency.Money) error
}

// Look looks what the user allows, before a reservation that holds to it.
func (a *Account) Look(ctx context.Context) (err error) {
	if a.Above != nil {
		a.left, err = a.Above.Look(ctx)
	}
	return err
}

// Hold holds what is reserved for a request of what the user allows, before it is sent
// to a model. A *budget.Exhausted refuses it: others were faster since Look.
func (a *Account) Hold(ctx context.Context, key, model string, in, out int64) error {
	if a.Above == nil {
		return nil
	}
	price, _ := a.Prices(model, "")
	return a.Above.Hold(ctx, a.Spec.Run, key, price.Most(in, out))
}

// node is the session's in the run's tree of budgets.
func (a *Account) node() string { return budget.SessionNode(a.Spec.ID()) }

// Open opens the session's node below a parent; empty: budget.Root.
func (a *Account) Open(tx *store.Tx, parent string) error {
	switch parent {
	case "":
		parent = budget.Root
	case budget.ContractNode(a.Spec.Contract):
		if err := budget.Open(tx, a.Spec.Run, parent, budget.Root, budget.Limits{}); err != nil {
			return err
		}
	}
	return budget.Open(tx, a.Spec.Run, a.node(), parent, budget.Limits{})
}

// worst is the reservation for a request of so many tokens to a model.
func (a *Account) worst(key, model string, in, out int64) budget.Request {
	price, priced := a.Prices(model, "")
	return budget.Request{
		Key: key, Node: a.node(), In: in, Out: out, Price: price, Unpriced: !priced, Priority: a.Priority,
		Agent: a.Spec.Agent, Role: a.Spec.Role, Tier: a.Spec.Tier, Model: model, Contract: a.Spec.Contract,
	}
}

// Reserve holds the worst case of a request: in and out are tokens, of which the answer
// may be made as short as least. It says how long it may be. Where that is not to be
// had the error is a *budget.Exhausted.
func (a *Account) Reserve(tx *store.Tx, key, model string, in, out, least int64) (int64, error) {
	r := a.worst(key, model, in, out)
	r.Least, r.Allowance = least, a.left
	return budget.Reserve(tx, a.Spec.Run, r)
}

// Queue has the session wait until what others hold is settled, and Wait does; next
// was taken from the bell before the budget was asked. It leaves the queue when it is
// served, or by Leave.
func (a *Account) Queue(tx *store.Tx, e *budget.Exhausted) error {
	return budget.Queue(tx, a.Spec.Run, a.node(), a.Priority, e)
}

// lookAgain is how long a session waits for what other hosts hold: no bell of theirs is
// heard here.
const lookAgain = time.Second

// Wait is over when it is worth asking again.
func (a *Account) Wait(ctx context.Context, next <-chan struct{}) error {
	var again <-chan time.Time
	if a.left.Held > 0 {
		t := time.NewTimer(lookAgain)
		defer t.Stop()
		again = t.C
	}
	select {
	case <-next:
		return nil
	case <-again:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave takes the session off the queue.
func (a *Account) Leave(tx *store.Tx) error { return budget.Leave(tx, a.Spec.Run, a.node()) }

// Spent says that nothing is left and nothing under way: the session parks.
// Where a call is bounded that the session works for, it ends: whoever called it goes on.
func (a *Account) Spent(tx *store.Tx, e *budget.Exhausted, tree agency.OID) (*Outcome, error) {
	if a.capped(e) {
		return Unfinished(CauseBudget, "", tree), nil
	}
	return &Outcome{Kind: Parked, For: ForBudget, Reason: e.Error(), Exhausted: e, Tree: tree}, budget.TellExhausted(tx, a.Spec.Run, e)
}

func (a *Account) capped(e *budget.Exhausted) bool {
	p := a.Spec.Post
	return p != nil && slices.ContainsFunc(p.Caps, func(c agency.Cap) bool { return budget.CallNode(c.Call) == e.Node })
}

// Rebook makes a reservation that of another model.
func (a *Account) Rebook(tx *store.Tx, key, model string, in, out int64) error {
	return budget.Rebook(tx, a.Spec.Run, a.worst(key, model, in, out))
}

// InterruptedBill is what a request costs that broke off, where that is above its
// reservation for a model: what the provider counted, and the worst case of a
// model that answered in the place of the one that was asked.
func (a *Account) InterruptedBill(held, answered string, u agency.Usage, in, out int64) budget.Bill {
	bill := a.Prices.Bill(held, answered, u)
	if answered != "" {
		price, _ := a.Prices(held, answered)
		bill.Cost = max(bill.Cost, price.Most(in, out))
	}
	return bill
}
