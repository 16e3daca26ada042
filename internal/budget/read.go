package budget

import (
	"database/sql"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

type node struct {
	name, parent                       string
	limitMoney, limitTokens, limitWall int64
	spentMoney, spentTokens, spentWall int64
	reservedMoney, reservedTokens      int64
	warned                             int64
}

func readNode(q store.Querier, run agency.RunID, name string) (node, error) {
	n, err := scanNode(q.QueryRow(selectNode, string(run), name))
	if errors.Is(err, sql.ErrNoRows) {
		return n, agency.Errorf(agency.KindNotFound, "budget: run %s has no node %s", run, name)
	}
	return n, err
}

func scanNode(row store.Scanner) (n node, err error) {
	err = row.Scan(&n.name, &n.parent, &n.limitMoney, &n.limitTokens, &n.limitWall,
		&n.spentMoney, &n.spentTokens, &n.spentWall, &n.reservedMoney, &n.reservedTokens, &n.warned)
	return n, err
}

// readChain is the node and everything above it, the root last, in one query:
// every request of every session asks for it twice.
func readChain(q store.Querier, run agency.RunID, name string) (chain []node, err error) {
	chain, err = store.All(q, scanNode, selectChain, string(run), name)
	if err == nil && len(chain) == 0 {
		err = agency.Errorf(agency.KindNotFound, "budget: run %s has no node %s", run, name)
	}
	return chain, err
}

// chainWhere is inChain of a chain, and what is bound.
func chainWhere(run agency.RunID, chain []node, args ...any) (string, []any) {
	args = append(args, string(run))
	for _, n := range chain {
		args = append(args, n.name)
	}
	return inChain(len(chain)), args
}

// used is the largest share of any limit that is spent.
func (n node) used() float64 {
	share := func(spent, limit int64) float64 {
		if limit <= 0 {
			return 0
		}
		return float64(spent) / float64(limit)
	}
	return max(share(n.spentMoney, n.limitMoney), share(n.spentTokens, n.limitTokens), share(n.spentWall, n.limitWall))
}

type request struct {
	node, state   string
	money, tokens int64
}

func findRequest(tx *store.Tx, run agency.RunID, key string) (r request, found bool, err error) {
	err = tx.QueryRow(selectRequest, string(run), key).Scan(&r.node, &r.state, &r.money, &r.tokens)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

func readRequest(tx *store.Tx, run agency.RunID, key string) (request, error) {
	r, found, err := findRequest(tx, run, key)
	if err == nil && !found {
		err = agency.Errorf(agency.KindInternal, "budget: request %s was never reserved", key)
	}
	return r, err
}

// State is how a node stands.
type State struct {
	Limits   Limits
	Money    agency.Money
	Tokens   int64
	Wall     time.Duration
	Reserved agency.Money
	// ReservedTokens are what Reserved is of money.
	ReservedTokens int64
}

// Read tells how a node stands.
func Read(q store.Querier, run agency.RunID, name string) (State, error) {
	n, err := readNode(q, run, name)
	if err != nil {
		return State{}, err
	}
	return n.state(), nil
}

func (n node) state() State {
	return State{
		Limits: Limits{agency.Money(n.limitMoney), n.limitTokens, time.Duration(n.limitWall)},
		Money:  agency.Money(n.spentMoney), Tokens: n.spentTokens, Wall: time.Duration(n.spentWall),
		Reserved: agency.Money(n.reservedMoney), ReservedTokens: n.reservedTokens,
	}
}

// Line is what one agent spent with one model on one contract; in a Ledger, from one node.
// Lost counts requests that were charged at their reservation, or at what came where
// that was more; their tokens are known only as Billed.
type Line struct {
	Node     string
	Hour     time.Time // in which it was settled, where lines are told apart by it
	Agent    agency.AgentID
	Role     agency.RoleID
	Tier     string
	Model    string
	Contract agency.ContractID
	Requests int
	Lost     int
	Usage    agency.Usage
	Billed   int64
	Money    agency.Money
	Unpriced bool
}

// Lines is everything a run spent, by agent, model and contract.
func Lines(q store.Querier, run agency.RunID) ([]Line, error) { return linesBy(q, run, "0") }

// ByModel is what the requests of a node spent, by the model that answered or, where no answer
// came, was asked. Of Usage it knows nothing.
func ByModel(q store.Querier, run agency.RunID, node string) ([]Line, error) {
	return store.All(q, func(row store.Scanner) (l Line, err error) {
		err = row.Scan(&l.Model, &l.Requests, &l.Lost, &l.Billed, (*int64)(&l.Money), &l.Unpriced)
		return l, err
	}, selectByModel, string(run), node)
}

// Spent is everything a run spent, in one sum.
func Spent(q store.Querier, run agency.RunID) (t Total, err error) {
	var money int64
	err = q.QueryRow(selectSpent, string(run)).Scan(&t.Requests, &t.Lost, &t.Usage.In, &t.Usage.Cached, &t.Usage.CacheWrite, &t.Usage.Out,
		&t.Tokens, &money, &t.Unpriced, &t.Usage.Estimated)
	t.Money = agency.Money(money)
	return t, err
}

// linesBy is Lines, told apart by the hour where that is asked for.
func linesBy(q store.Querier, run agency.RunID, hour string) ([]Line, error) {
	return store.All(q, func(row store.Scanner) (l Line, err error) {
		var money, hour int64
		err = row.Scan(&l.Agent, &l.Role, &l.Tier, &l.Model, &l.Contract, &hour, &l.Requests, &l.Lost, &l.Usage.In, &l.Usage.Cached,
			&l.Usage.CacheWrite, &l.Usage.Out, &l.Billed, &money, &l.Unpriced, &l.Usage.Estimated)
		l.Money, l.Hour = agency.Money(money), store.Time(hour)
		return l, err
	}, selectLines(hour), string(run))
}

// Paid is a request that cost something, and when it was settled or charged.
type Paid struct {
	Run   agency.RunID
	Key   string
	At    time.Time
	Money agency.Money
}

// PaidSince is what requests of all runs of a store came to since a time.
func PaidSince(q store.Querier, since time.Time) ([]Paid, error) {
	return store.All(q, func(row store.Scanner) (p Paid, err error) {
		var at, money int64
		err = row.Scan(&p.Run, &p.Key, &at, &money)
		p.At, p.Money = store.Time(at), agency.Money(money)
		return p, err
	}, selectPaid, store.Micros(since))
}

// Forget removes what a run spent; the caller removes the run.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, statement := range []string{deleteRequests, deleteQueue, deleteNodes} {
		if _, err := tx.Exec(statement, string(run)); err != nil {
			return err
		}
	}
	return nil
}

// Tariff knows what models cost: model is provider/model as configured, and
// reported the provider's own name of what answered, which is another where
// the model is an alias or a router; empty before there is an answer. False
// where there is no price.
type Tariff func(model, reported string) (agency.Price, bool)

// Bill prices what a model counted.
func (t Tariff) Bill(model, reported string, u agency.Usage) Bill {
	price, ok := t(model, reported)
	return Bill{Model: model, Usage: u, Cost: price.Cost(u), Unpriced: !ok}
}

// Asked is a request that has no answer yet.
type Asked struct {
	Node  string // of whom it is
	Model string
	Since time.Time
}

// UnderWay are the requests of a run that have no answer yet, oldest first.
func UnderWay(q store.Querier, run agency.RunID) ([]Asked, error) {
	return store.All(q, func(row store.Scanner) (a Asked, err error) {
		var at int64
		err = row.Scan(&a.Node, &a.Model, &at)
		a.Since = store.Time(at)
		return a, err
	}, selectUnderWay, string(run))
}
