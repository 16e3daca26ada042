package boardtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
)

// Heartbeat, LockTTL and Hold are the times that the model counts with.
const (
	Heartbeat = 5 * time.Second
	LockTTL   = 600 * time.Second
	Hold      = 1800 * time.Second
)

// RoleOf is the role of an agent of the suite.
func RoleOf(agent string) agency.RoleID {
	if agent == "c" {
		return "y"
	}
	return "x"
}

// MaySend tells whether one role of the suite may write to another.
func MaySend(from, to agency.RoleID) bool { return from == "y" || to == "x" }

// The words of errors.
var (
	invalid  = agency.KindInvalid.String()
	notFound = agency.KindNotFound.String()
	conflict = agency.KindConflict.String()
	denied   = agency.KindDenied.String()
)

// model is the board as simple as it can be said.
type model struct {
	now    time.Duration
	agents map[string]*member
	keys   map[string]*cell
	locks  map[string][]*grant // by folded path
	tokens map[string]*queue
	mail   []*letter
	fences []given // all that were seen
	latest map[string]string
}

// given is a fence of a lock or a token.
type given struct {
	thing  string
	shared bool
	fence  agency.Fence
}

type member struct {
	ended bool
	beat  time.Duration
}

type cell struct {
	version int64
	value   string
	there   bool
	owner   string
	until   time.Duration // 0: for ever
}

// grant is a lock or a token that an agent has. Its fence is not known before
// the agent has asked for it, and after a restart.
type grant struct {
	who    string
	shown  string
	shared bool
	ttl    time.Duration
	until  time.Duration
	fence  agency.Fence
}

type queue struct {
	held *grant
	wait []*grant
}

type letter struct {
	id, from, to, role, status string // from is "" for a person and the harness
	priority                   int64
}

func newModel() *model {
	return &model{
		agents: map[string]*member{}, keys: map[string]*cell{}, locks: map[string][]*grant{},
		tokens: map[string]*queue{"m": {}, "n": {}}, latest: map[string]string{},
	}
}

// complete makes the operation of a step: with a message's id, and with a
// fence that was given before.
func (m *model) complete(s Step, i int) Op {
	op := s.Op
	switch op.Do {
	case "send", "write":
		op.Text = fmt.Sprint("m", i)
	case "show", "settle":
		op.At = m.latest[op.Who]
		if op.At == "" {
			op.At = "nothing"
		}
	}
	if n := len(m.fences) - 1 - s.Nth; n >= 0 {
		op.Fence = m.fences[n].fence
	}
	return op
}

// do does an operation; the grant, if there is one, is what was granted.
func (m *model) do(op Op) (string, *grant) {
	switch op.Do {
	case "lock":
		return m.lock(op)
	case "ask":
		return m.ask(op)
	case "join", "leave", "beat", "missed", "tidy":
		return m.presence(op), nil
	case "put", "swap", "delete", "own", "disown", "get":
		return m.state(op), nil
	case "unlock", "checklock", "locks":
		return m.unlock(op), nil
	case "release", "cancel", "checktoken", "token":
		return m.token(op), nil
	}
	return m.post(op), nil
}

// live is what a live agent passes.
func (m *model) live(who string) string {
	switch a := m.agents[who]; {
	case a == nil:
		return notFound
	case a.ended:
		return conflict
	}
	return ""
}

func (m *model) presence(op Op) string {
	switch op.Do {
	case "join":
		m.agents[op.Who] = &member{beat: m.now}
	case "beat":
		if fault := m.live(op.Who); fault != "" {
			return fault
		}
		m.agents[op.Who].beat = m.now
		for _, held := range m.locks {
			for _, g := range held {
				if g.who == op.Who && g.until > m.now {
					g.until = m.now + g.ttl
				}
			}
		}
	case "leave":
		if m.agents[op.Who] == nil {
			return notFound
		}
		if !m.agents[op.Who].ended {
			m.leave(op.Who)
		}
	case "missed":
		var out []string
		for _, who := range []string{"a", "b", "c"} {
			if m.live(who) != "" {
				continue
			}
			if n := (m.now - m.agents[who].beat) / Heartbeat; n > 0 {
				out = append(out, fmt.Sprint(who, ":", int(n)))
			}
		}
		return strings.Join(out, " ")
	case "tidy":
		for _, c := range m.keys {
			if c.there && c.until > 0 && c.until <= m.now {
				c.there, c.version, c.until = false, c.version+1, 0
			}
		}
		for _, q := range m.tokens {
			m.settle(q)
		}
	}
	return "ok"
}

func (m *model) leave(who string) {
	m.agents[who].ended = true
	for _, c := range m.keys {
		if c.owner == who {
			c.owner = ""
		}
	}
	for path, held := range m.locks {
		m.locks[path] = slices.DeleteFunc(held, func(g *grant) bool { return g.who == who })
	}
	for _, q := range m.tokens {
		q.wait = slices.DeleteFunc(q.wait, func(g *grant) bool { return g.who == who })
		if q.held != nil && q.held.who == who {
			q.held = nil
			m.settle(q)
		}
	}
	for _, l := range slices.Clone(m.mail) {
		switch {
		case l.to != who || l.status != "pending" && l.status != "delivered":
		case l.role != "":
			l.to, l.status = "", "pending"
		default:
			l.status = "failed"
			if l.from != "" && m.live(l.from) == "" { // it is told
				m.mail = append(m.mail, &letter{id: l.id + "/" + who + "/failed", to: l.from, status: "pending"})
			}
		}
	}
}

// restart is what another host finds when it has recovered the run.
func (m *model) restart() {
	for _, a := range m.agents {
		a.beat = m.now
	}
	for _, held := range m.locks {
		for _, g := range held {
			g.fence = agency.Fence{}
		}
	}
	for _, q := range m.tokens {
		if q.held != nil {
			q.held.fence = agency.Fence{}
		}
		m.settle(q)
	}
	for _, l := range m.mail {
		if l.status == "delivered" {
			l.status = "pending"
			if l.role != "" {
				l.to = ""
			}
		}
	}
}

func (m *model) state(op Op) string {
	c := m.keys[op.At]
	if c == nil {
		c = &cell{}
		m.keys[op.At] = c
	}
	there := c.there && (c.until == 0 || c.until > m.now)
	switch op.Do {
	case "get":
		if !there {
			return notFound
		}
		return fmt.Sprint(c.version, ":", c.value)
	case "own":
		if fault := m.live(op.Who); fault != "" {
			return fault
		}
		if c.owner != "" && c.owner != op.Who {
			return conflict
		}
		c.owner = op.Who
		return "ok"
	}
	if c.owner != "" && c.owner != op.Who {
		return denied
	}
	switch {
	case op.Do == "disown":
		c.owner = ""
		return "ok"
	case op.Do == "swap" && op.Version != c.version && !(op.Version == 0 && !there):
		return fmt.Sprint(conflict, " ", c.version)
	case op.Do == "delete" && !there:
		return notFound
	}
	*c = cell{version: c.version + 1, value: op.Text, there: op.Do != "delete", owner: c.owner}
	if op.For > 0 && op.Do != "delete" {
		c.until = m.now + op.For
	}
	return fmt.Sprint(c.version)
}

// alive are the leases of a list that have not expired.
func (m *model) alive(list []*grant) []*grant {
	return slices.DeleteFunc(slices.Clone(list), func(g *grant) bool { return g.until <= m.now })
}

func (m *model) lock(op Op) (string, *grant) {
	if fault := m.live(op.Who); fault != "" {
		return fault, nil
	}
	if op.For == 0 {
		op.For = LockTTL
	}
	name := fold(op.At)
	file, _, symbol := strings.Cut(name, "#")
	for other, held := range m.locks {
		near := other == name || other == file || !symbol && strings.HasPrefix(other, name+"#")
		for _, g := range m.alive(held) {
			if near && g.who != op.Who && !(g.shared && op.Shared) {
				return conflict, nil
			}
		}
	}
	for _, g := range m.alive(m.locks[name]) {
		if g.who == op.Who && (g.shared == op.Shared || !g.shared) {
			g.ttl, g.until = op.For, m.now+op.For
			return "granted", g
		}
	}
	g := &grant{who: op.Who, shown: op.At, shared: op.Shared, ttl: op.For, until: m.now + op.For}
	m.locks[name] = append(slices.DeleteFunc(m.locks[name], func(g *grant) bool { return g.who == op.Who }), g)
	return "granted", g
}

// fold makes one of the files whose names differ in case.
func fold(path string) string {
	file, symbol, ok := strings.Cut(path, "#")
	if file = strings.ToUpper(file); ok {
		return file + "#" + symbol
	}
	return file
}

func (m *model) unlock(op Op) string {
	if op.Do == "locks" {
		var out []string
		for _, held := range m.locks {
			for _, g := range m.alive(held) {
				out = append(out, fmt.Sprint(g.who, ":", g.shown, ":", g.shared))
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	name := fold(op.At)
	held := m.alive(m.locks[name])
	i := slices.IndexFunc(held, func(g *grant) bool {
		return g.fence == op.Fence && op.Fence != (agency.Fence{}) && (g.who == op.Who || op.Do == "checklock")
	})
	switch {
	case i < 0 && (len(held) > 0 || op.Do == "checklock"):
		return denied
	case i >= 0 && op.Do == "unlock":
		m.locks[name] = slices.Delete(held, i, i+1)
	}
	return "ok"
}

// settle gives a token that nobody holds to the first who waits.
func (m *model) settle(q *queue) {
	if q.held != nil && q.held.until <= m.now {
		q.held = nil
	}
	if q.held == nil && len(q.wait) > 0 {
		q.held, q.wait = q.wait[0], q.wait[1:]
		q.held.until = m.now + q.held.ttl
	}
}

func (m *model) ask(op Op) (string, *grant) {
	if fault := m.live(op.Who); fault != "" {
		return fault, nil
	}
	if op.For == 0 {
		op.For = Hold
	}
	q := m.tokens[op.At]
	m.settle(q)
	mine := func(g *grant) bool { return g.who == op.Who }
	if (q.held == nil || !mine(q.held)) && !slices.ContainsFunc(q.wait, mine) {
		q.wait = append(q.wait, &grant{who: op.Who, ttl: op.For})
		m.settle(q)
	}
	if mine(q.held) {
		return "held", q.held
	}
	return fmt.Sprint("waits ", slices.IndexFunc(q.wait, mine)), nil
}

func (m *model) token(op Op) string {
	q := m.tokens[op.At]
	has := func() bool { return q.held != nil && q.held.until > m.now }
	fits := func() bool { return has() && q.held.fence == op.Fence && op.Fence != (agency.Fence{}) }
	switch op.Do {
	case "checktoken":
		if !fits() {
			return denied
		}
	case "release": // what is denied changes nothing, so that a hold that is over stays to be passed on
		if has() && (q.held.who != op.Who || !fits()) || !has() && len(q.wait) > 0 {
			return denied
		}
		q.held = nil
		m.settle(q)
	case "cancel":
		q.wait = slices.DeleteFunc(q.wait, func(g *grant) bool { return g.who == op.Who })
		if has() && q.held.who == op.Who {
			q.held = nil
			m.settle(q)
		}
	case "token":
		out := []string{"available"}
		if has() {
			out = []string{"held", q.held.who}
			if len(q.wait) > 0 {
				out[0] = "contested"
			}
		}
		for _, g := range q.wait {
			out = append(out, g.who)
		}
		return strings.Join(out, " ")
	}
	return "ok"
}
