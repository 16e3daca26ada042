package board

import (
	"cmp"
	"database/sql"
	"sync"

	"agency/internal/agency"
	"agency/internal/store"
)

// An inbox is an agent's own or a role's.
func agentBox(id agency.AgentID) string { return "a/" + string(id) }
func roleBox(id agency.RoleID) string   { return "r/" + string(id) }

// boxOf is the one inbox of a message that is no broadcast.
func boxOf(m agency.Message) string {
	if m.ToRole != "" {
		return roleBox(m.ToRole)
	}
	return agentBox(agency.AgentID(m.To))
}

type boxKey struct {
	run agency.RunID
	box string
}

func keyOf(run agency.RunID, box string) boxKey { return boxKey{run, box} }

// change is what a transaction did to an inbox, told after its commit.
type change struct {
	key     boxKey
	pending int              // more, or fewer, messages wait in this box
	session agency.SessionID // with taken
	taken   int              // more, or fewer, are with this session and not read
	all     *counts          // what there is in all boxes as of this change
	gone    agency.RunID     // this run has been removed
	timed   bool             // something has a time to live or a deadline
}

func moved() store.Topic[change] { return store.Topic[change]{Name: "board.mail"} }

func publish(tx *store.Tx, c change) { store.Publish(tx, moved(), c) }

// counts are how much waits where.
type counts struct {
	pending map[boxKey]int
	taken   map[boxKey]map[agency.SessionID]int
}

func newCounts() *counts {
	return &counts{pending: map[boxKey]int{}, taken: map[boxKey]map[agency.SessionID]int{}}
}

func (c *counts) add(ch change) {
	if ch.pending != 0 {
		if c.pending[ch.key] += ch.pending; c.pending[ch.key] == 0 {
			delete(c.pending, ch.key)
		}
	}
	if ch.taken != 0 {
		by := c.taken[ch.key]
		if by == nil {
			by = map[agency.SessionID]int{}
			c.taken[ch.key] = by
		}
		if by[ch.session] += ch.taken; by[ch.session] == 0 {
			if delete(by, ch.session); len(by) == 0 {
				delete(c.taken, ch.key)
			}
		}
	}
}

func (c *counts) forget(run agency.RunID) {
	for k := range c.pending {
		if k.run == run {
			delete(c.pending, k)
		}
	}
	for k := range c.taken {
		if k.run == run {
			delete(c.taken, k)
		}
	}
}

// census counts everything anew. What other transactions of the same commit
// have changed before it is in the count and told before it; what they change
// after it is told after it.
func census(tx *store.Tx) error {
	all := newCounts()
	err := store.Each(tx, func(row store.Scanner) error {
		var run agency.RunID
		var agent agency.AgentID
		var session agency.SessionID
		var role sql.NullString // NULL: it is with a session
		var n int
		if err := row.Scan(&run, &agent, &role, &session, &n); err != nil {
			return err
		}
		switch {
		case !role.Valid:
			all.add(change{key: keyOf(run, agentBox(agent)), session: session, taken: n})
		case role.String != "":
			all.add(change{key: keyOf(run, roleBox(agency.RoleID(role.String))), pending: n})
		default:
			all.add(change{key: keyOf(run, agentBox(agent)), pending: n})
		}
		return nil
	}, countMail)
	publish(tx, change{all: all})
	return err
}

// boxes is what this process knows about the inboxes: how much waits in each.
type boxes struct {
	once   sync.Once // of Close
	mu     sync.Mutex
	n      *counts
	coming map[boxKey]int // sent in a transaction that is not durable yet
	limits map[agency.RunID]Limits
	timed  chan struct{} // something new is timed
}

func newBoxes() *boxes {
	return &boxes{n: newCounts(), coming: map[boxKey]int{}, limits: map[agency.RunID]Limits{}, timed: make(chan struct{}, 1)}
}

// wake has Maintain look again.
func (b *boxes) wake() {
	select {
	case b.timed <- struct{}{}:
	default:
	}
}

// feed runs after each commit that changed an inbox, in commit order.
func (b *boxes) feed(changes []change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.all != nil:
			b.n = c.all
		case c.gone != "":
			b.n.forget(c.gone)
			delete(b.limits, c.gone)
		default:
			b.n.add(c)
		}
		if c.timed {
			b.wake()
		}
	}
}

// comes counts a message of a transaction until that is durable, or undone.
func (b *boxes) comes(tx *store.Tx, key boxKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.coming[key]++
	came := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.coming[key]--; b.coming[key] == 0 {
			delete(b.coming, key)
		}
	}
	tx.AfterCommit(came)
	tx.OnAbort(came)
}

// waiting is how many messages wait in a box, or are about to.
func (b *boxes) waiting(key boxKey) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n.pending[key] + b.coming[key]
}

// idle tells whether nothing that is durable waits for a recipient.
func (b *boxes) idle(who Recipient) bool {
	own := keyOf(who.Run, agentBox(who.Agent))
	if b.n.pending[own] > 0 || who.Role != "" && b.n.pending[keyOf(who.Run, roleBox(who.Role))] > 0 {
		return false
	}
	for session := range b.n.taken[own] {
		if session != who.Session {
			return false
		}
	}
	return true
}

// Waiting tells, from memory, whether a Claim would find something: exact once
// the transactions that returned are counted, so that a session whose inbox is
// empty needs no query. A message whose time to live is over counts until
// somebody looks.
func (b *Board) Waiting(who Recipient) bool {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	return !b.boxes.idle(who)
}

// Pending is how many messages wait in an agent's own inbox, or in a role's
// where agent is "".
func (b *Board) Pending(run agency.RunID, agent agency.AgentID, role agency.RoleID) int {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	return b.boxes.n.pending[keyOf(run, cmp.Or(trim(agentBox(agent), "a/"), roleBox(role)))]
}

func trim(s, empty string) string {
	if s == empty {
		return ""
	}
	return s
}
