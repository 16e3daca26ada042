// Package agentfile reads agent files: Markdown whose YAML head says who an agent is,
// what it may call and whom it hands over to, and whose body is its system prompt
// (docs/design.md, Patterns). Files of public formats load unchanged; what of them
// means nothing here is noted.
//
// It does not run an agent, and does not know what a pattern does: it says whether the
// files of a library fit together.
package agentfile

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/bug"
	"agency/internal/roster"
)

// ErrNoFrontmatter is the cause for a file without a head between lines of ---: other
// Markdown, and no agent.
var ErrNoFrontmatter = errors.New("no frontmatter: the file does not begin with a line of ---")

// Bounds of what is read. A field that is too long for a menu is cut, one that
// names something is refused.
const (
	maxFile        = 256 << 10 // bytes
	maxName        = 64        // bytes
	maxDescription = 1024      // bytes
	maxNamed       = 128       // agents in one list: they may all run at once
	maxTools       = 256       // names in one list
)

// Layer is where an agent file is from.
type Layer string

// The layers, nearest first.
const (
	Repository Layer = "repository"
	User       Layer = "user"
	BuiltIn    Layer = "built-in"
)

// What an agent expects and gives.
const (
	Markdown = "markdown"
	JSON     = "json"
)

// File is one agent. A zero limit is the role's.
type File struct {
	Name, Description string
	// Role is who the agent is allowed to be; empty: whoever it is used as.
	Role agency.RoleID
	// Model is a capability level or provider/model; empty: the role's.
	Model string
	// Tools narrow the role's; nil: all of them. What is not allowed is already
	// out of them.
	Tools []string
	// Servers are the tools of MCP servers that `tools` names, where it names any tools: a
	// server's name or a beginning with * stands for several. Nil: all that its role has.
	// NotServers are those that it is not allowed.
	Servers, NotServers []string
	MaxTurns            int
	MaxToolCallsPerTurn int
	MaxOutputTokens     int64
	TimeoutSeconds      int
	// Chat tells whether the agent can be asked again after its report.
	Chat bool
	// Agents are those that it may call as tools.
	Agents []string
	// Handoff is the agent that its report goes on to; empty: none.
	Handoff  string
	Router   *Router
	Advisors []string
	Team     *Team
	// Input and Output are Markdown or JSON.
	Input, Output string
	Body          string
	Path          string
	Layer         Layer
	// Notes say what of a public format means nothing here, a line each.
	Notes []string
}

// Outside tells whether the file is a repository's.
func (f File) Outside() bool { return f.Layer != User && f.Layer != BuiltIn }

// Limits are those of its session: what the file says, else those of any agent of a file,
// which a repository's may only lower.
func (f File) Limits() roster.Limits {
	role, err := roster.Find(agency.RoleAgent)
	if err != nil {
		panic(bug.Errorf("role %s: %v", agency.RoleAgent, err))
	}
	own := role.Limits
	own.Turns = limited(f, f.MaxTurns, own.Turns)
	own.CallsPerTurn = limited(f, f.MaxToolCallsPerTurn, own.CallsPerTurn)
	own.MaxOutput = limited(f, f.MaxOutputTokens, own.MaxOutput)
	own.Seconds = limited(f, f.TimeoutSeconds, own.Seconds)
	return own
}

// Asks says in a line what the file asks for: the most that its agent may do, and to whom it
// comes.
func (f File) Asks() string {
	l := f.Limits()
	said := []string{"role " + cmp.Or(string(f.Role), "none"), "model " + cmp.Or(f.Model, "as configured")}
	switch {
	case f.Tools != nil:
		said = append(said, "tools "+cmp.Or(strings.Join(slices.Concat(f.Tools, f.Servers), " "), "none"))
	case f.Role != "":
		said = append(said, "all tools of its role")
	default:
		said = append(said, "tools that read")
	}
	said = append(said, fmt.Sprintf("%d turns, %d seconds of work", l.Turns, l.Seconds))
	var to []string
	for _, k := range f.links() {
		to = append(to, string(k.how)+" "+k.to)
	}
	if len(to) > 0 {
		said = append(said, "comes to "+strings.Join(to, " "))
	}
	return strings.Join(append(said, fmt.Sprintf("a prompt of %d bytes", len(f.Body))), "; ")
}

func limited[N int | int64](f File, says, has N) N {
	if says > 0 && (has == 0 || says < has || !f.Outside()) {
		return says
	}
	return has
}

// MayUse tells whether the file leaves the agent a tool of an MCP server.
func (f File) MayUse(tool string) bool {
	named := func(word string) bool {
		if before, ok := strings.CutSuffix(word, "*"); ok {
			return strings.HasPrefix(tool, before)
		}
		return tool == word || strings.HasPrefix(tool, word+"__")
	}
	return (f.Servers == nil || slices.ContainsFunc(f.Servers, named)) && !slices.ContainsFunc(f.NotServers, named)
}

// AsksServer tells whether the file may leave the agent any tool of an MCP server.
func (f File) AsksServer(name string) bool {
	of := "mcp__" + name
	return f.Servers == nil || slices.ContainsFunc(f.Servers, func(word string) bool {
		before, several := strings.CutSuffix(word, "*")
		return word == of || strings.HasPrefix(word, of+"__") || several && strings.HasPrefix(of+"__", before)
	})
}

// Router is an agent that ends by handing over to one of its destinations.
type Router struct{ Destinations []string }

// Team are agents that work side by side on what their supervisor decides at the end.
// A zero number of turns is the agent's own.
type Team struct {
	Members                            []string
	Supervisor                         string
	MemberMaxTurns, SupervisorMaxTurns int
}

// Parse reads an agent file. The path is for faults, and gives a name to a file that
// says none. The error is config.Faults, KindInvalid, with all that is wrong, or
// ErrNoFrontmatter. The Layer is the caller's to set.
func Parse(path string, raw []byte) (File, error) {
	r, err := read(path, raw)
	if err != nil {
		return File{}, err
	}
	if err := r.doc.Faults().Err(); err != nil {
		return File{}, err
	}
	return r.file, nil
}

// fileName is the name that the path gives; "x.agent.md" is a public way to write x.md.
func fileName(p string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(p), ".md"), ".agent")
}

// isName tells whether s is the name of an agent as it is written.
func isName(s string) bool {
	for i, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return s != ""
}

// slug makes a name of what a personality is called: Backend Architect is
// backend-architect. It is empty where nothing of it can stand in a name.
func slug(s string) string {
	if isName(s) {
		return s
	}
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}
