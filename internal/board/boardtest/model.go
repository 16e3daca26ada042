package boardtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
)

// Heartbeat is the time that the model counts with.
const Heartbeat = 5 * time.Second

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
	mail   []*letter
	latest map[string]string
}

type member struct {
	ended bool
	beat  time.Duration
}

type cell struct {
	version int64
	value   string
	there   bool
	until   time.Duration // 0: for ever
}

type letter struct {
	id, from, to, role, status string // from is "" for a person and the harness
	priority                   int64
}

func newModel() *model {
	return &model{
		agents: map[string]*member{}, keys: map[string]*cell{}, latest: map[string]string{},
	}
}

// complete makes the operation of a step: with a message's id.
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
	return op
}

// do does an operation.
func (m *model) do(op Op) string {
	switch op.Do {
	case "join", "leave", "beat", "missed", "tidy":
		return m.presence(op)
	case "put", "swap", "delete", "get":
		return m.state(op)
	}
	return m.post(op)
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
	}
	return "ok"
}

func (m *model) leave(who string) {
	m.agents[who].ended = true
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
	switch {
	case op.Do == "get" && !there:
		return notFound
	case op.Do == "get":
		return fmt.Sprint(c.version, ":", c.value)
	case op.Do == "swap" && op.Version != c.version && !(op.Version == 0 && !there):
		return fmt.Sprint(conflict, " ", c.version)
	case op.Do == "delete" && !there:
		return notFound
	}
	*c = cell{version: c.version + 1, value: op.Text, there: op.Do != "delete"}
	if op.For > 0 && op.Do != "delete" {
		c.until = m.now + op.For
	}
	return fmt.Sprint(c.version)
}
