package api

import "agency/internal/agency"

// AgentFileDoc is an agent that a file describes. A zero limit is the role's.
type AgentFileDoc struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	From        string        `json:"from"` // repository, a folder of another tool, user, or built-in
	Path        string        `json:"path"`
	Role        agency.RoleID `json:"role,omitempty"`
	Model       string        `json:"model,omitempty"`
	Tools       []string      `json:"tools"` // that a session of it is offered
	// ServerTools are those of MCP servers that its file names, where it names tools.
	ServerTools []string `json:"server_tools,omitempty"`

	// The limits of its session: what the file says, else those of any agent of a file.
	MaxTurns            int   `json:"max_turns,omitempty"`
	MaxToolCallsPerTurn int   `json:"max_tool_calls_per_turn,omitempty"`
	MaxOutputTokens     int64 `json:"max_output_tokens,omitempty"`
	MaxTokens           int64 `json:"max_tokens_per_session,omitempty"`
	TimeoutSeconds      int   `json:"timeout_seconds,omitempty"`

	Chat         bool     `json:"chat,omitempty"`
	Agents       []string `json:"agents,omitempty"`
	Handoff      string   `json:"handoff,omitempty"`
	Destinations []string `json:"destinations,omitempty"`
	Advisors     []string `json:"advisors,omitempty"`
	Members      []string `json:"members,omitempty"`
	Supervisor   string   `json:"supervisor,omitempty"`
	Input        string   `json:"input"`
	Output       string   `json:"output"`
	Notes        []string `json:"notes,omitempty"` // what of its format means nothing here

	Prompt  string `json:"prompt,omitempty"`
	Drawing string `json:"drawing,omitempty"`
}
