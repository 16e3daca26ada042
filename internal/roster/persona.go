package roster

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"text/template"

	"agency/internal/agency"
)

// Persona is an agent of a file as its session has it: in whose words it speaks, what it
// may reach and whom it may ask. The zero Persona is nobody.
type Persona struct {
	Name string
	Text string // its own words
	// Tools are those of the checkout that it is offered.
	Tools []string
	// Calls are the agents that it may call, Routes those that it may end by handing over
	// to.
	Calls, Routes []Callee
	// Team is the team in which it speaks, Members are those of it; Charter is what the
	// team is told of itself. A Member ends by its last broadcast, the supervisor by its
	// report.
	Team    string
	Members []string
	Charter string
	Member  bool
	// JSON says that its report is JSON.
	JSON bool
}

// Callee is an agent as one that may ask it knows it. With Chat it can be asked again after
// its report.
type Callee struct {
	Name, Description string
	Chat              bool
}

// Tool is the name of the tool that calls it. Models take no other signs than letters, digits,
// _ and -, and 64 bytes at most: what does not fit has a hash, so that no two are the same.
func (c Callee) Tool() string {
	const most = 64
	name := callPrefix + c.Name
	fit := strings.Map(func(r rune) rune {
		if r == '.' {
			return '_'
		}
		return r
	}, name)
	if fit == name && len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(c.Name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return fit[:min(len(fit), most-len(mark))] + mark
}

// callPrefix begins the names of the tools that call agents.
const callPrefix = "agent__"

// OfCheckout tells whether a tool works on a checkout alone, and is none that asks, writes
// to or decides for others.
func OfCheckout(tool string) bool {
	return slices.Contains([]string{
		"read_file", "list_directory", "search_files", "use_skill", "todo", "write_file", "edit_file", "apply_patch", "delete_file", "run_command", "command_output", "stop_command", "run_tests",
		"run_tests_with_coverage", "get_coverage_report", "list_uncovered_lines", "run_lint", "run_type_check", "get_git_diff", "get_git_log",
		"check_file_sizes", "fetch_page", "create_checkpoint", "rollback_checkpoint",
		"outline", "symbol_search", "get_symbol_references", "query_codebase", "smart_edit", "rename_symbol", "extract_function",
	}, tool)
}

// Endings are the tools by which its session ends.
func (p Persona) Endings() (out []string) {
	if len(p.Routes) > 0 {
		out = append(out, "handoff_to")
	}
	if p.Team != "" {
		out = append(out, "team_broadcast")
	}
	if !p.Member {
		out = append(out, "final_report")
	}
	return out
}

// Asking are the tools by which it asks others.
func (p Persona) Asking() (out []string) {
	for _, c := range p.Calls {
		out = append(out, c.Tool())
	}
	if p.Chats() {
		out = append(out, "ask_clarification", "end_agent")
	}
	return out
}

// Chats tells whether one of those whom it may call can be asked again.
func (p Persona) Chats() bool {
	return slices.ContainsFunc(p.Calls, func(c Callee) bool { return c.Chat })
}

// personaView is what the prompt of an agent may name.
type personaView struct {
	Persona
	ID, Repo string
	Network  bool
	Present
}

// Has tells whether the session is offered a tool of the checkout.
func (v personaView) Has(tool string) bool { return slices.Contains(v.Tools, tool) && !v.Lacks(tool) }

// Those are the tools of these that the session is offered.
func (v personaView) Those(names ...string) string { return those(v.Has, names) }

// Prompt renders the system prompt, whose first line is "# NAME (agent)". Of the view it
// takes where the repository is and whether the network is open.
func (p Persona) Prompt(v View) (string, error) {
	t, err := template.New("agent").Option("missingkey=error").ParseFS(prompts, "prompts/parts/*.md", "prompts/agents/*.md")
	var b strings.Builder
	if err == nil {
		err = t.ExecuteTemplate(&b, "agent.md", personaView{p, string(agency.RoleAgent), v.Repo, v.Network, v.Present})
	}
	if err != nil {
		return "", agency.Errorf(agency.KindInternal, "prompt of agent %s: %w", p.Name, err)
	}
	return b.String(), nil
}
