// Package budget is the tree of limits over a run, its contracts and its
// sessions. Every model request reserves its worst case on the whole chain up
// to the run before it is sent, and settles what it really cost afterwards, so
// that spending cannot run away (docs/design.md, Promises).
//
// It counts and refuses; who waits for a person then, and how a request's size
// is estimated, is decided elsewhere. All amounts of a run change in the
// transaction of the caller.
package budget

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"math"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema.
func Migrations() store.Set { return store.Set{Name: "budget", FS: migrations} }

// Root is the node of the whole run.
const Root = "run"

// ContractNode and SessionNode name the nodes below the root.
func ContractNode(id agency.ContractID) string { return "contract/" + string(id) }

// SessionNode names the node of a session.
func SessionNode(id agency.SessionID) string { return "session/" + string(id) }

// warnAt is the share of a limit at which a warning is raised, once a limit.
const warnAt = 0.8

// Limits bound a node; zero means none. Wall counts only time at work.
type Limits struct {
	Money  agency.Money
	Tokens int64
	Wall   time.Duration
}

// Open adds a node below parent (empty for the root). The same node again is
// nothing and keeps its limits.
func Open(tx *store.Tx, run agency.RunID, node, parent string, l Limits) error {
	_, err := tx.Exec(insertNode,
		string(run), node, parent, int64(l.Money), l.Tokens, int64(l.Wall))
	return err
}

// Raise replaces a node's limits by the higher of each: a person granted more.
// A limit of zero stays none.
func Raise(tx *store.Tx, run agency.RunID, node string, l Limits) error {
	_, err := tx.Exec(raiseLimits, int64(l.Money), l.Tokens, int64(l.Wall), string(run), node)
	return err
}

// Request says who asks which model, for the cost report.
type Request struct {
	Key      string // unique in the run; a repeated request has a new key
	Node     string
	Tokens   int64        // worst case
	Money    agency.Money // worst case; 0 where the model has no price
	Unpriced bool         // the model has no price
	Agent    agency.AgentID
	Role     agency.RoleID
	Tier     string
	Model    string // that is asked: provider/model, as configured
	Contract agency.ContractID
}

// Exhausted says which limit refused a reservation.
type Exhausted struct {
	Node  string `json:"node"`
	Limit string `json:"limit"` // usd, tokens or wall
	Left  string `json:"left"`
	Need  string `json:"need"`
}

func (e *Exhausted) named(run agency.RunID) error {
	return agency.Errorf(agency.KindExhausted, "%w", e).WithMend("agency approve %s --budget USD", run)
}

func (e *Exhausted) Error() string {
	switch e.Limit {
	case "wall":
		return fmt.Sprintf("the time at work of %s is used up", e.Node)
	case "tokens":
		return fmt.Sprintf("%s tokens are left to %s, and the next request would reserve %s", e.Left, e.Node, e.Need)
	}
	return fmt.Sprintf("%s is left to %s, and the next request would reserve %s", e.Left, e.Node, e.Need)
}

// Reserve holds the worst case of a request on every node from r.Node to the
// root, or refuses with KindExhausted wrapping *Exhausted and holds nothing. The same
// key again, while it is reserved, is nothing.
func Reserve(tx *store.Tx, run agency.RunID, r Request) error {
	var state string
	err := tx.QueryRow(selectRequestState, string(run), r.Key).Scan(&state)
	switch {
	case err == nil && state == "reserved":
		return nil
	case err == nil:
		return agency.Errorf(agency.KindConflict, "budget: request %s is %s already", r.Key, state)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	if err := hold(tx, run, r, request{node: r.Node}); err != nil {
		return err
	}
	_, err = tx.Exec(insertRequest,
		string(run), r.Key, r.Node, tx.Fence.Epoch, int64(r.Money), r.Tokens, r.Unpriced,
		string(r.Agent), string(r.Role), r.Tier, r.Model, string(r.Contract))
	return err
}

// Rebook makes a reservation that of another model, before that is asked in
// the place of the one it was made for. What it needs more is reserved as by
// Reserve; where it is refused the reservation stays as it was.
func Rebook(tx *store.Tx, run agency.RunID, r Request) error {
	have, err := readRequest(tx, run, r.Key)
	if err != nil {
		return err
	}
	if have.state != "reserved" {
		return agency.Errorf(agency.KindConflict, "budget: request %s is %s already", r.Key, have.state)
	}
	if err := hold(tx, run, r, have); err != nil {
		return err
	}
	_, err = tx.Exec(rebookRequest,
		int64(r.Money), r.Tokens, r.Unpriced, r.Model, string(run), r.Key)
	return err
}

// hold reserves what a request needs more than it holds already, on every node from
// its own to the root, or refuses and changes nothing.
func hold(tx *store.Tx, run agency.RunID, r Request, have request) error {
	chain, err := readChain(tx, run, have.node)
	if err != nil {
		return err
	}
	for _, n := range chain {
		n.reservedMoney, n.reservedTokens = n.reservedMoney-have.money, n.reservedTokens-have.tokens
		if refused := n.refuses(r); refused != nil {
			return refused.named(run)
		}
	}
	where, args := chainWhere(run, chain, int64(r.Money)-have.money, r.Tokens-have.tokens)
	_, err = tx.Exec(reserveChain+where, args...)
	return err
}

// Bill is what one model counted for a request, and what that costs.
type Bill struct {
	Model    string // that answered: provider/model, as configured
	Usage    agency.Usage
	Cost     agency.Money
	Unpriced bool // the model has no price, so that Cost is 0
}

// Settle replaces a reservation by what the request cost, and puts wall on the
// time at work. What the provider counted is booked also where it is above the
// reservation: the ledger says what is owed, and the next request is refused.
// A settled request again is nothing.
func Settle(tx *store.Tx, run agency.RunID, key string, b Bill, wall time.Duration) error {
	r, err := readRequest(tx, run, key)
	if err != nil || r.state != "reserved" {
		return err
	}
	u := b.Usage
	if _, err := tx.Exec(settleRequest,
		int64(b.Cost), u.Billed(), u.In, u.Cached, u.CacheWrite, u.Out, b.Unpriced, u.Estimated, b.Model, string(run), key); err != nil {
		return err
	}
	return move(tx, run, r, int64(b.Cost), u.Billed(), int64(wall))
}

// Release gives a reservation back: the request certainly never reached the
// provider.
func Release(tx *store.Tx, run agency.RunID, key string) error {
	r, err := readRequest(tx, run, key)
	if err != nil || r.state != "reserved" {
		return err
	}
	if _, err := tx.Exec(releaseRequest,
		string(run), key); err != nil {
		return err
	}
	return move(tx, run, r, 0, 0, 0)
}

// Charge turns a reservation into spending at its full worst case: the answer
// was lost, and nobody knows what the provider counted. counted is what it had
// told by then, which is booked where it is more than the reservation.
func Charge(tx *store.Tx, run agency.RunID, key string, counted Bill) error {
	r, err := readRequest(tx, run, key)
	if err != nil || r.state != "reserved" {
		return err
	}
	money, tokens := max(r.money, int64(counted.Cost)), max(r.tokens, counted.Usage.Billed())
	if _, err := tx.Exec(chargeRequest,
		money, tokens, string(run), key); err != nil {
		return err
	}
	return move(tx, run, r, money, tokens, 0)
}

// ChargeLost charges every reservation that a superseded host left behind and
// says how many there were. Its transaction carries the new host's epoch.
func ChargeLost(tx *store.Tx, run agency.RunID) (int, error) {
	return chargeAll(tx, run, tx.Fence.Epoch)
}

// Work puts time at work on a contract that no request belongs to: its checks'.
// Without a node of its own, the run's has it.
func Work(tx *store.Tx, run agency.RunID, contract agency.ContractID, took time.Duration) error {
	name := ContractNode(contract)
	switch _, err := readNode(tx, run, name); {
	case agency.KindOf(err) == agency.KindNotFound:
		name = Root
	case err != nil:
		return err
	}
	return move(tx, run, request{node: name}, 0, 0, int64(took))
}

// ChargeOpen charges every request of a run whose answer nobody waits for any
// more, because the run was stopped in the middle of it, and says how many
// there were.
func ChargeOpen(tx *store.Tx, run agency.RunID) (int, error) {
	return chargeAll(tx, run, math.MaxInt64)
}

// chargeAll charges the reservations of epochs below a bound.
func chargeAll(tx *store.Tx, run agency.RunID, below int64) (int, error) {
	keys, err := store.Column[string](tx, selectLeftBehind, string(run), below)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if err := Charge(tx, run, k, Bill{}); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// move takes a request's reservation off every node of its chain, puts the
// spending on, and warns where a limit comes near.
func move(tx *store.Tx, run agency.RunID, r request, money, tokens, wall int64) error {
	chain, err := readChain(tx, run, r.node)
	if err != nil {
		return err
	}
	where, args := chainWhere(run, chain, r.money, r.tokens, money, tokens, wall)
	if _, err := tx.Exec(settleChain+where, args...); err != nil {
		return err
	}
	for _, n := range chain {
		n.spentMoney, n.spentTokens, n.spentWall = n.spentMoney+money, n.spentTokens+tokens, n.spentWall+wall
		if err := n.warn(tx, run); err != nil {
			return err
		}
	}
	return nil
}

func (n node) warn(tx *store.Tx, run agency.RunID) error {
	used := n.used()
	if n.warned != 0 || used < warnAt {
		return nil
	}
	if _, err := tx.Exec(markWarned, string(run), n.name); err != nil {
		return err
	}
	ev := agency.NewEvent(run, agency.SeverityWarning, fmt.Sprintf("%.0f %% of the budget of %s is used", used*100, n.name),
		agency.BudgetWarning{Node: n.name, Used: used})
	_, err := event.Append(tx, ev)
	return err
}
