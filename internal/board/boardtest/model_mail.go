package boardtest

import (
	"strings"

	"agency/internal/agency"
)

func (m *model) post(op Op) string {
	switch op.Do {
	case "send":
		return m.send(op, "")
	case "write":
		return m.send(op, op.Who)
	case "claim":
		var next *letter
		for _, l := range m.mail {
			mine := l.to == op.Who || l.to == "" && l.role == string(RoleOf(op.Who))
			if mine && l.status == "pending" && (next == nil || l.priority > next.priority) {
				next = l
			}
		}
		if next == nil {
			return "none"
		}
		next.to, next.status = op.Who, "delivered"
		m.latest[op.Who] = next.id
		return next.id
	case "mail":
		var out []string
		for _, l := range m.mail {
			out = append(out, l.id+":"+l.to+":"+l.status)
		}
		return strings.Join(out, " ")
	}
	for _, l := range m.mail {
		if l.id == op.At && (l.to == op.Who || l.to == "" && l.role == string(RoleOf(op.Who))) {
			return l.step(op.Do)
		}
	}
	return notFound
}

func (l *letter) step(do string) string {
	switch {
	case l.status == "processed", do == "show" && l.status == "read":
	case do == "show" && l.status == "delivered":
		l.status = "read"
	case do == "settle" && l.status == "read":
		l.status = "processed"
	default:
		return conflict
	}
	return "ok"
}

// send sends as an agent, or as a person where from is "".
func (m *model) send(op Op, from string) string {
	role, toRole := strings.CutPrefix(op.At, "role:")
	if from != "" {
		if op.At == from {
			return invalid
		}
		if fault := m.live(from); fault != "" {
			return fault
		}
	}
	one := !toRole && op.At != agency.Everyone
	if !toRole {
		role = ""
	}
	if one {
		if fault := m.live(op.At); fault != "" {
			return fault
		}
		role = string(RoleOf(op.At))
	}
	if from != "" && role != "" && !MaySend(RoleOf(from), agency.RoleID(role)) {
		return denied
	}
	l := letter{id: op.Text, from: from, status: "pending", priority: op.Version}
	switch {
	case one:
		l.to = op.At
		m.mail = append(m.mail, &l)
	case toRole:
		l.role = role
		m.mail = append(m.mail, &l)
	default:
		for _, who := range []string{"a", "b", "c"} {
			if copied := l; m.live(who) == "" && who != from {
				copied.to = who
				m.mail = append(m.mail, &copied)
			}
		}
	}
	return "ok"
}
