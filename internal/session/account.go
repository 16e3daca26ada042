package session

import (
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
	money, priced := a.Prices.Most(model, "", in, out)
	return budget.Request{
		Key: key, Node: a.node(), Tokens: in + out, Money: money, Unpriced: !priced,
		Agent: a.Spec.Agent, Role: a.Spec.Role, Tier: a.Spec.Tier, Model: model, Contract: a.Spec.Contract,
	}
}

// Reserve holds the worst case of a request: in and out are tokens. Where that
// is not to be had the error is a *budget.Exhausted.
func (a *Account) Reserve(tx *store.Tx, key, model string, in, out int64) error {
	return budget.Reserve(tx, a.Spec.Run, a.worst(key, model, in, out))
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
		most, _ := a.Prices.Most(held, answered, in, out)
		bill.Cost = max(bill.Cost, most)
	}
	return bill
}
