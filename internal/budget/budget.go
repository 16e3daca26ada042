// Package budget is the tree of limits over a run: its stages or tiers, their
// contracts, their sessions, and as leaves the requests of their turns. Every model
// request reserves its worst case on the whole chain up to the run before it is sent,
// and settles what it really cost afterwards, so that spending cannot run away
// (docs/design.md, Promises). Where that does not fit, less of an answer is asked for;
// where not even that fits, it waits in a queue for what others hold.
//
// It counts and refuses; who waits for a person then, and how a request's size
// is estimated, is decided elsewhere. All amounts of a run change in the
// transaction of the caller. What a user allows across runs is package
// budget/allowance, which learns from here what came of each request (Ended).
package budget

import (
	"embed"
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

// StageNode names the node of a stage of a run, TierNode that of a tier: what all
// contracts of either spend together.
func StageNode(name string) string { return "stage/" + name }

// TierNode names the node of a tier.
func TierNode(name string) string { return "tier/" + name }

// CallNode names the node of a call of an agent whose tokens are bounded: what all spend that
// work for it.
func CallNode(id agency.ContractID) string { return "call/" + string(id) }

// ContractNode and SessionNode name the nodes below it.
func ContractNode(id agency.ContractID) string { return "contract/" + string(id) }

// SessionNode names the node of a session.
func SessionNode(id agency.SessionID) string { return "session/" + string(id) }

// warnAt are the shares of a limit at which a warning is raised, each once.
var warnAt = [...]float64{0.8, 0.95}

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
		store.Micros(tx.Now), int64(b.Cost), u.Billed(), u.In, u.Cached, u.CacheWrite, u.Out, b.Unpriced, u.Estimated, b.Model, string(run), key); err != nil {
		return err
	}
	tellEnded(tx, run, key, b.Cost)
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
	tellEnded(tx, run, key, 0)
	return move(tx, run, r, 0, 0, 0)
}

// Charge turns a reservation into spending at its full worst case: the answer
// was lost, and nobody knows what the provider counted. counted is what it had
// told by then, which is booked where it is more than the reservation. The log tells it
// at once.
func Charge(tx *store.Tx, run agency.RunID, key string, counted Bill) error {
	r, err := readRequest(tx, run, key)
	if err != nil || r.state != "reserved" {
		return err
	}
	money, tokens := max(r.money, int64(counted.Cost)), max(r.tokens, counted.Usage.Billed())
	if _, err := tx.Exec(chargeRequest,
		store.Micros(tx.Now), money, tokens, string(run), key); err != nil {
		return err
	}
	tellEnded(tx, run, key, agency.Money(money))
	if err := move(tx, run, r, money, tokens, 0); err != nil {
		return err
	}
	root, err := readNode(tx, run, Root)
	if err != nil {
		return err
	}
	_, err = event.Append(tx, agency.NewEvent(run, agency.SeverityDebug, "what a lost answer may cost is charged: "+agency.Money(money).Amount(counted.Unpriced), agency.Charged{
		Node: r.node, USD: agency.Money(money).Float(), Tokens: tokens, Run: agency.Spent{USD: agency.Money(root.spentMoney).Float(), Tokens: root.spentTokens},
	}))
	return err
}

// Idle notes that a reservation waits, and that nothing is asked for it, or that something is
// again: whoever takes the run over gives one back that was idle, for nobody can have counted it.
func Idle(tx *store.Tx, run agency.RunID, key string, idle bool) error {
	_, err := tx.Exec(setIdle, idle, string(run), key)
	return err
}

// ChargeLost charges every reservation that a superseded host left behind while it was asked for,
// gives the others back, and says how many it charged. Who waited there waits no more. Its transaction carries
// the new host's epoch.
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
// there were. What was idle is given back.
func ChargeOpen(tx *store.Tx, run agency.RunID) (int, error) {
	return chargeAll(tx, run, math.MaxInt64)
}

// chargeAll charges the reservations of epochs below a bound, and gives back those that are idle.
func chargeAll(tx *store.Tx, run agency.RunID, below int64) (charged int, err error) {
	type left struct {
		key  string
		idle bool
	}
	all, err := store.All(tx, func(row store.Scanner) (l left, err error) {
		err = row.Scan(&l.key, &l.idle)
		return l, err
	}, selectLeftBehind, string(run), below)
	for _, l := range all {
		if l.idle {
			err = Release(tx, run, l.key)
		} else if err = Charge(tx, run, l.key, Bill{}); err == nil {
			charged++
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		_, err = tx.Exec(deleteLeftWaiting, string(run), below)
	}
	return charged, err
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
	store.Publish(tx, moved(), run)
	return nil
}

// warn tells once for each threshold that a node has passed it; of several that one
// request passed, the highest.
func (n node) warn(tx *store.Tx, run agency.RunID) error {
	used, passed := n.used(), n.warned
	for i, at := range warnAt {
		if used >= at {
			passed = max(passed, int64(i+1))
		}
	}
	if passed == n.warned {
		return nil
	}
	if _, err := tx.Exec(markWarned, passed, string(run), n.name); err != nil {
		return err
	}
	return tell(tx, run, fmt.Sprintf("%.0f %% of the budget of %s is used", used*100, n.name), agency.BudgetWarning{Node: n.name, Used: used})
}

func tell(tx *store.Tx, run agency.RunID, line string, d agency.Detail) error {
	_, err := event.Append(tx, agency.NewEvent(run, agency.SeverityWarning, line, d))
	return err
}
