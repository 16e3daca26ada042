package agentfile

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/text"
)

// fieldNames are the keys of an agent file.
func fieldNames() []string {
	return []string{
		"name", "description", "role", "model", "tools", "max_turns", "max_tool_calls_per_turn", "max_output_tokens", "timeout_seconds",
		"chat", "agents", "handoff", "router", "advisors", "team", "input", "output", "disallowedTools",
	}
}

// otherNames are other spellings of keys, as public formats have them.
func otherNames() map[string]string {
	return map[string]string{
		"maxTurns": "max_turns", "maxSteps": "max_turns", "steps": "max_turns",
		"maxToolCallsPerTurn": "max_tool_calls_per_turn", "maxOutputTokens": "max_output_tokens",
		"disallowed-tools": "disallowedTools", "disallowed_tools": "disallowedTools",
		"allowed-tools": "tools", "allowedTools": "tools", "allowed_tools": "tools",
	}
}

// roleNames are other names of roles, as configurations may have them.
func roleNames() map[string]agency.RoleID {
	return map[string]agency.RoleID{
		"pm": agency.RoleProjectManager, "producer": agency.RoleScaffolder,
		"critic": agency.RoleReviewer, "tester": agency.RoleTestEngineer,
	}
}

// enough is how many faults of a file get a suggestion: finding one costs more than
// all else, and nobody reads as many.
const enough = 100

// many is how many faults are looked for in a library: it is something else.
const many = 1000

func (r *reading) hint(word string, known []string) string {
	if len(r.doc.Faults()) > enough {
		return ""
	}
	return text.Suggestion(word, known)
}

// fields reads the keys of the head.
func (r *reading) fields() {
	known, others := fieldNames(), otherNames()
	var idle []string
	var tools, denied *config.Pair
	for _, p := range r.doc.Pairs() {
		name := p.Key
		if own, ok := others[name]; ok {
			name = own
		}
		if slices.Contains(publicKeys(), name) {
			idle = append(idle, name)
			continue
		}
		if !slices.Contains(known, name) {
			r.doc.Fault(p.Line, p.Col, "unknown key %s%s", config.KeyName(name), r.hint(name, append(known, publicKeys()...)))
			continue
		}
		if line, twice := r.seen[name]; twice {
			r.doc.Fault(p.Line, p.Col, "%s twice: it stands already on line %d", name, line)
			continue
		}
		r.seen[name] = p.Line
		r.at[name] = place{p.Line, p.Col}
		switch name {
		case "tools":
			tools = &p
		case "disallowedTools":
			denied = &p
		default:
			r.field(name, p)
		}
	}
	if len(idle) > 0 {
		r.note("%s: no meaning here", strings.Join(idle, ", "))
	}
	r.tools(tools, denied)
	r.nameless()
}

func (r *reading) note(format string, args ...any) {
	r.file.Notes = append(r.file.Notes, fmt.Sprintf(format, args...))
}

func (r *reading) field(name string, p config.Pair) {
	f, v := &r.file, p.Value
	switch name {
	case "name":
		r.name(v)
	case "description":
		r.description(v)
	case "role":
		if s, ok := r.doc.Text(v, name); ok {
			line, col := v.Place()
			f.Role, r.at[name] = agency.RoleID(s), place{line, col}
			if role, ok := roleNames()[s]; ok {
				f.Role = role
			}
		}
	case "model":
		r.model(v)
	case "max_turns":
		f.MaxTurns = int(r.whole(v, name, 10_000))
	case "max_tool_calls_per_turn":
		f.MaxToolCallsPerTurn = int(r.whole(v, name, 1000))
	case "max_output_tokens":
		f.MaxOutputTokens = r.whole(v, name, 1_000_000)
	case "timeout_seconds":
		f.TimeoutSeconds = int(r.whole(v, name, 604_800))
	case "chat":
		f.Chat, _ = r.doc.Bool(v, name)
	case "agents":
		f.Agents = r.agents(v, name)
	case "handoff":
		f.Handoff = r.agent(v, name)
	case "router":
		r.router(v)
	case "advisors":
		f.Advisors = r.agents(v, name)
	case "team":
		r.team(v)
	case "input":
		f.Input = r.format(v, name)
	case "output":
		f.Output = r.format(v, name)
	}
}

func (r *reading) name(v config.Datum) {
	if v.Empty() {
		return
	}
	s, ok := r.doc.Text(v, "name")
	if !ok {
		return
	}
	line, col := v.Place()
	if r.file.Name = slug(s); r.file.Name == "" {
		r.note("name %s cannot stand in a command: the file's name is used", config.Quoted(s))
	} else if len(r.file.Name) > maxName {
		r.doc.Fault(line, col, "name has %d bytes, more than %d", len(r.file.Name), maxName)
	}
}

// nameless gives a file that says no name the one of its path.
func (r *reading) nameless() {
	if r.file.Name != "" {
		return
	}
	if r.file.Name = slug(fileName(r.file.Path)); r.file.Name == "" || len(r.file.Name) > maxName {
		r.doc.Fault(1, 1, "the agent has no name: write one, up to %d of letters, digits, '.', '_' and '-'", maxName)
	}
}

func (r *reading) description(v config.Datum) {
	if v.Empty() {
		return
	}
	s, ok := r.doc.Text(v, "description")
	if !ok {
		return
	}
	if r.loose { // written on one line, with the line ends that are meant spelled out
		s = strings.ReplaceAll(s, `\n`, "\n")
	}
	s = strings.TrimSpace(s)
	if len(s) > maxDescription {
		r.note("description has %d bytes and was cut at %d", len(s), maxDescription)
		at := maxDescription - len(text.Ellipsis)
		for !utf8.RuneStart(s[at]) {
			at--
		}
		s = s[:at] + text.Ellipsis
	}
	r.file.Description = s
}

func (r *reading) whole(v config.Datum, key string, most int64) int64 {
	n, _ := r.doc.Whole(v, key, 1, most)
	return n
}

func (r *reading) format(v config.Datum, key string) string {
	s, ok := r.doc.Text(v, key)
	if ok && s != Markdown && s != JSON {
		line, col := v.Place()
		r.doc.Fault(line, col, "%s must be %s or %s, not %s%s", key, Markdown, JSON, config.Quoted(s), r.hint(s, []string{Markdown, JSON}))
	}
	return s
}

// agent is the name of another agent.
func (r *reading) agent(v config.Datum, key string) string {
	s, ok := r.doc.Text(v, key)
	if !ok {
		return ""
	}
	line, col := v.Place()
	r.at[key] = place{line, col}
	name := slug(s)
	if name == "" || len(name) > maxName {
		r.doc.Fault(line, col, "%s: %s is no agent's name", key, config.Quoted(s))
		return ""
	}
	return name
}

func (r *reading) agents(v config.Datum, key string) []string {
	items, ok := r.doc.List(v, key)
	if !ok {
		return nil
	}
	if len(items) > maxNamed {
		line, col := v.Place()
		r.doc.Fault(line, col, "%s names %d agents, more than %d", key, len(items), maxNamed)
		return nil
	}
	var out []string
	for i, item := range items {
		name := r.agent(item, fmt.Sprintf("%s[%d]", key, i))
		if slices.Contains(out, name) && name != "" {
			line, col := item.Place()
			r.doc.Fault(line, col, "%s: %s twice", key, name)
		}
		out = append(out, name) // a bad one too, so that the places stay
	}
	return out
}

func (r *reading) router(v config.Datum) {
	r.file.Router = &Router{}
	for _, p := range r.inner(v, "router") {
		if p.Key == "destinations" {
			r.file.Router.Destinations = r.agents(p.Value, "router.destinations")
			continue
		}
		r.doc.Fault(p.Line, p.Col, "unknown key %s%s", config.KeyName("router."+p.Key), r.hint(p.Key, []string{"destinations"}))
	}
}

func (r *reading) team(v config.Datum) {
	t := &Team{}
	r.file.Team = t
	for _, p := range r.inner(v, "team") {
		key := "team." + p.Key
		switch p.Key {
		case "members":
			t.Members = r.agents(p.Value, key)
		case "supervisor":
			t.Supervisor = r.agent(p.Value, key)
		case "memberMaxTurns":
			t.MemberMaxTurns = int(r.whole(p.Value, key, 10_000))
		case "supervisorMaxTurns":
			t.SupervisorMaxTurns = int(r.whole(p.Value, key, 10_000))
		default:
			known := []string{"members", "supervisor", "memberMaxTurns", "supervisorMaxTurns"}
			r.doc.Fault(p.Line, p.Col, "unknown key %s%s", config.KeyName(key), r.hint(p.Key, known))
		}
	}
}

// inner are the keys of a mapping; one without any counts as there, and is judged with
// the library.
func (r *reading) inner(v config.Datum, key string) []config.Pair {
	if v.Empty() {
		return nil
	}
	pairs, _ := r.doc.Map(v, key)
	return pairs
}
