package budget

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"agency/internal/agency"
	"agency/internal/store"
)

// Request is what a model is to be asked, at worst, and by whom.
type Request struct {
	Key  string // unique in the run; a repeated request has a new key
	Node string
	In   int64 // tokens of the prompt
	Out  int64 // tokens of the answer
	// Least is how short the answer may be made so that the request fits; at least
	// Out: it is not made shorter.
	Least    int64
	Price    agency.Price // zero where the model has no price
	Unpriced bool         // the model has no price
	Agent    agency.AgentID
	Role     agency.RoleID
	Tier     string
	Model    string // that is asked: provider/model, as configured
	Contract agency.ContractID
	Priority int // of the contract: whose request is served first
	// Allowance is what the user allows beside the run's own limits.
	Allowance Allowance
}

// Allowance is how much may still be spent by a limit that is above the run. The
// zero one limits nothing.
type Allowance struct {
	Limited bool
	Name    string // of the limit, such as "day 2026-11-24"
	Text    string // the limit for people, and where it stands
	Limit   agency.Money
	Left    agency.Money
	Held    agency.Money // by requests that are under way
}

// most is the most that a request costs whose answer has so many tokens.
func (r Request) most(out int64) agency.Money { return r.Price.Most(r.In, out) }

// Exhausted says which limit refused a reservation.
type Exhausted struct {
	Node  string `json:"node"`
	Limit string `json:"limit"` // usd, tokens or wall
	Left  string `json:"left"`
	Need  string `json:"need"`
	// Outstanding says that requests are under way, or served before this one, which
	// may leave enough: it is worth waiting.
	Outstanding bool `json:"outstanding,omitempty"`
	// Above is the text of an Allowance, where that is the limit: no grant to the run
	// raises it.
	Above string `json:"above,omitempty"`
	// Money is Need where the limit is of dollars, Tokens where it is of tokens.
	Money  agency.Money `json:"need_money,omitempty"`
	Tokens int64        `json:"need_tokens,omitempty"`
	// Enough is the smallest Allowance that holds the request, in whole cents.
	Enough agency.Money `json:"enough,omitempty"`
}

// Enough are the smallest limits with which a node holds one more request of so much
// money and so many tokens: none is below what the node has.
func (s State) Enough(money agency.Money, tokens int64) Limits {
	return Limits{
		Money:  max(s.Limits.Money, s.Money+s.Reserved+money),
		Tokens: max(s.Limits.Tokens, s.Tokens+s.ReservedTokens+tokens),
		Wall:   s.Limits.Wall,
	}
}

// Period is what an allowance holds for, such as "day".
func (e *Exhausted) Period() string {
	period, _, _ := strings.Cut(e.Node, " ")
	return period
}

// Refuse says that an allowance does not hold a request.
func (a Allowance) Refuse(need agency.Money) *Exhausted {
	return a.names(&Exhausted{Node: a.Name, Limit: "usd", Left: max(0, a.Left).String(), Need: need.String(), Outstanding: a.Held > 0, Money: need})
}

// named is the error of a refusal. What mends it the gate says at which a person is asked: it
// knows the sum.
func (e *Exhausted) named() error { return agency.Errorf(agency.KindExhausted, "%w", e) }

func (e *Exhausted) Error() string {
	switch {
	case e.Above != "":
		return fmt.Sprintf("%s is left to %s, and the next request would reserve %s", e.Left, e.Above, e.Need)
	case e.Limit == "wall":
		return fmt.Sprintf("the time at work of %s is used up", e.Node)
	case e.Limit == "tokens":
		return fmt.Sprintf("%s tokens are left to %s, and the next request would reserve %s", e.Left, e.Node, e.Need)
	}
	return fmt.Sprintf("%s is left to %s, and the next request would reserve %s", e.Left, e.Node, e.Need)
}

// Reserve holds the worst case of a request on every node from r.Node to the
// root, with an answer of out tokens: as many as fit of what is asked for. Or it
// refuses with KindExhausted wrapping *Exhausted and holds nothing. Who waits for the
// same limit is served first (Queue). The same key again, while it is reserved, is
// nothing.
func Reserve(tx *store.Tx, run agency.RunID, r Request) (out int64, err error) {
	have, found, err := findRequest(tx, run, r.Key)
	switch {
	case err != nil:
		return 0, err
	case found && have.state == "reserved":
		return min(r.Out, have.tokens-r.In), nil
	case found:
		return 0, agency.Errorf(agency.KindConflict, "budget: request %s is %s already", r.Key, have.state)
	}
	if out, err = hold(tx, run, r, request{node: r.Node}); err != nil {
		return 0, err
	}
	_, err = tx.Exec(insertRequest,
		string(run), r.Key, r.Node, tx.Fence.Epoch, store.Micros(tx.Now), int64(r.most(out)), r.In+out, r.Unpriced,
		string(r.Agent), string(r.Role), r.Tier, r.Model, string(r.Contract))
	if err != nil {
		return 0, err
	}
	return out, Leave(tx, run, r.Node)
}

// Rebook makes a reservation that of another model, before that is asked in
// the place of the one it was made for, with an answer as long. What it needs more is
// reserved as by Reserve; where it is refused the reservation stays as it was.
func Rebook(tx *store.Tx, run agency.RunID, r Request) error {
	have, err := readRequest(tx, run, r.Key)
	if err != nil {
		return err
	}
	if have.state != "reserved" {
		return agency.Errorf(agency.KindConflict, "budget: request %s is %s already", r.Key, have.state)
	}
	r.Least = r.Out
	if _, err := hold(tx, run, r, have); err != nil {
		return err
	}
	_, err = tx.Exec(rebookRequest,
		int64(r.most(r.Out)), r.In+r.Out, r.Unpriced, r.Model, string(run), r.Key)
	return err
}

// hold reserves what a request needs more than it holds already, on every node from
// its own to the root, or refuses and changes nothing.
func hold(tx *store.Tx, run agency.RunID, r Request, have request) (out int64, err error) {
	chain, err := readChain(tx, run, have.node)
	if err != nil {
		return 0, err
	}
	least, out := min(r.Least, r.Out), r.Out
	if least <= 0 {
		least = r.Out
	}
	for i := range chain {
		n := &chain[i]
		n.reservedMoney, n.reservedTokens = n.reservedMoney-have.money, n.reservedTokens-have.tokens
	}
	limits := append(chain[:len(chain):len(chain)], r.Allowance.node(have.money)...)
	for _, n := range limits {
		if refused := n.refuses(r, least); refused != nil {
			return 0, r.Allowance.names(refused).named()
		}
		out = n.fits(r, least, out)
	}
	if have.state == "" { // who holds something already makes nobody wait for it
		if err := first(tx, run, r, limits, least); err != nil {
			return 0, err
		}
	}
	where, args := chainWhere(run, chain, int64(r.most(out))-have.money, r.In+out-have.tokens)
	_, err = tx.Exec(reserveChain+where, args...)
	return out, err
}

// node is the allowance as the node above the root.
func (a Allowance) node(have int64) []node {
	if !a.Limited {
		return nil
	}
	const limit = 1 << 62 // any: what is left counts
	return []node{{name: a.Name, limitMoney: limit, spentMoney: limit - int64(a.Left+a.Held), reservedMoney: max(0, int64(a.Held)-have)}}
}

// names tells a refusal by the allowance from one by a node.
func (a Allowance) names(e *Exhausted) *Exhausted {
	if a.Limited && e.Node == a.Name {
		e.Above, e.Enough = a.Text, (a.Limit - a.Left + e.Money).Cents()
	}
	return e
}

// refuses says which limit does not hold one more request with so long an answer.
func (n node) refuses(r Request, out int64) *Exhausted {
	money, tokens := n.left()
	need := r.most(out)
	switch {
	case n.limitMoney > 0 && money < int64(need):
		return &Exhausted{Node: n.name, Limit: "usd", Left: agency.Money(max(0, money)).String(), Need: need.String(), Outstanding: n.reservedMoney > 0, Money: need}
	case n.limitTokens > 0 && tokens < r.In+out:
		return &Exhausted{Node: n.name, Limit: "tokens", Left: fmt.Sprint(max(0, tokens)), Need: fmt.Sprint(r.In + out), Outstanding: n.reservedTokens > 0, Tokens: r.In + out}
	case n.limitWall > 0 && n.spentWall >= n.limitWall:
		return &Exhausted{Node: n.name, Limit: "wall", Left: "0s", Need: "more time"}
	}
	return nil
}

// left is what is neither spent nor reserved.
func (n node) left() (money, tokens int64) {
	return n.limitMoney - n.spentMoney - n.reservedMoney, n.limitTokens - n.spentTokens - n.reservedTokens
}

// fits is the longest answer, from least to most tokens, that a node holds; least fits.
func (n node) fits(r Request, least, most int64) int64 {
	more := sort.Search(int(most-least), func(i int) bool { return n.refuses(r, least+int64(i)+1) != nil })
	return least + int64(more)
}

// waiter is one of the queue: its own node, and that whose limit is held.
type waiter struct {
	node, at string
	priority int
}

// first refuses a request while another waits for a limit that is above both and is
// to be served before it.
func first(tx *store.Tx, run agency.RunID, r Request, limits []node, least int64) error {
	queue, err := store.All(tx, func(row store.Scanner) (w waiter, err error) {
		err = row.Scan(&w.node, &w.at, &w.priority)
		return w, err
	}, selectWaiting, string(run))
	if err != nil {
		return err
	}
	for _, w := range queue {
		if w.node == r.Node || w.priority < r.Priority && !slices.ContainsFunc(queue, func(o waiter) bool { return o.node == r.Node }) {
			return nil
		}
		at := slices.IndexFunc(limits, func(n node) bool { return n.name == w.at })
		if at < 0 {
			continue
		}
		money, tokens := limits[at].left()
		e := &Exhausted{Node: w.at, Limit: "usd", Left: agency.Money(money).String(), Need: r.most(least).String(), Outstanding: true, Money: r.most(least)}
		if limits[at].limitMoney == 0 {
			e.Limit, e.Left, e.Need = "tokens", fmt.Sprint(tokens), fmt.Sprint(r.In+least)
			e.Money, e.Tokens = 0, r.In+least
		}
		return r.Allowance.names(e).named()
	}
	return nil
}

// Queue puts a node that was refused into the queue for the limit that refused it: the
// highest priority is served first, then who came first. Who asks again keeps its
// place. It leaves the queue when it is served, or by Leave.
func Queue(tx *store.Tx, run agency.RunID, node string, priority int, e *Exhausted) error {
	_, err := tx.Exec(insertWaiting, string(run), node, e.Node, priority, tx.Fence.Epoch)
	return err
}

// Leave takes a node off the queue, so that the next is served.
func Leave(tx *store.Tx, run agency.RunID, node string) error {
	res, err := tx.Exec(deleteWaiting, string(run), node)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	store.Publish(tx, moved(), run)
	return nil
}

// TellExhausted appends that a limit stopped the spending, once until it is raised.
func TellExhausted(tx *store.Tx, run agency.RunID, e *Exhausted) error {
	at := e.Node
	if _, err := readNode(tx, run, at); agency.KindOf(err) == agency.KindNotFound {
		at = Root // the limit is above the run
	} else if err != nil {
		return err
	}
	res, err := tx.Exec(markTold, string(run), at)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return tell(tx, run, e.Error(), agency.BudgetExhausted{Node: e.Node, Limit: e.Limit})
}
