package agentfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/config"
)

// Files as other programs and libraries have them, and what of them is left here.
func TestPublicFormats(t *testing.T) {
	body := "---\n\nYou look.\n"
	for _, tt := range []struct {
		name, head string
		want       File
	}{
		{"subagent", "name: code-reviewer\ndescription: Reviews a change. Use it after edits: at once.\ntools: Read, Grep, Glob, Bash, WebFetch, mcp__docs__find\nmodel: sonnet\npermissionMode: plan\n", File{
			Name: "code-reviewer", Description: "Reviews a change. Use it after edits: at once.", Model: config.LevelCapable,
			Tools: []string{"read_file", "search_files", "list_directory", "run_command"}, Servers: []string{"mcp__docs__find"},
			Notes: []string{"permissionMode: no meaning here", `tools: nothing here is like "WebFetch"`},
		}},
		{"subagent whose examples stand in one line", `description: Use it so.\n\n<example>\nuser: "it's red"\n</example>` + "\nmodel: inherit\nmaxTurns: 7\ncolor: red\n", File{
			Name: "x", Description: "Use it so.\n\n<example>\nuser: \"it's red\"\n</example>", MaxTurns: 7, Notes: []string{"color: no meaning here"},
		}},
		{"subagent with all that there may be", "name: a\ntools: [Read, Edit, MultiEdit, 'Agent(worker, helper)', TodoWrite]\ndisallowedTools: Edit, Write\nmcpServers: [x, {y: {command: z}}]\nhooks: {PreToolUse: [{matcher: Bash}]}\nmemory: user\nskills: [s]\nbackground: true\neffort: high\nisolation: worktree\ninitialPrompt: go\n", File{
			Name: "a", Tools: []string{"read_file", "todo"},
			Notes: []string{
				"mcpServers, hooks, memory, skills, background, effort, isolation, initialPrompt: no meaning here",
				`tools: nothing here is like "Agent(worker, helper)"`,
			},
		}},
		{"personality", "name: Backend Architect\ndescription: Plans systems\ncolor: blue\nemoji: 🏗\nvibe: Calm: and slow.\nauthor: A\nversion: 1.2\nlicense: MIT\ntags: [a, b]\nservices:\n  - name: n\n    url: https://example.com\n", File{
			Name: "backend-architect", Description: "Plans systems",
			Notes: []string{"color, emoji, vibe, author, version, license, tags, services: no meaning here"},
		}},
		{"a name in other letters", "name: 架构师\n", File{Name: "x", Notes: []string{`name "架构师" cannot stand in a command: the file's name is used`}}},
		{"agent of an editor", "name: 'API / Planner'\ntools: ['codebase', 'edit/editFiles', 'search', 'runCommands', 'ReadFile']\nmodel: ['Claude Sonnet 4.5', 'GPT-5']\nhandoffs: [{label: Go, agent: b}]\ntarget: vscode\nargument-hint: what\n", File{
			Name: "api-planner", Tools: []string{"search_files", "run_command", "read_file"},
			Notes: []string{"model: a list is not read; the role's model is used", "handoffs, target, argument-hint: no meaning here", `tools: nothing here is like "edit/editFiles"`},
		}},
		{"switches", "mode: subagent\ntemperature: 0.1\ntools:\n  '*': false\n  read: true\n  bash: false\n", File{
			Name: "x", Tools: []string{"read_file"}, Notes: []string{"mode, temperature: no meaning here"},
		}},
		{"fields left open", "name:\ndescription:\nmodel:\ntools:\n", File{Name: "x"}},
		{"all tools", "tools: '*'\n", File{Name: "x"}},
		{"no tools", "tools: []\n", File{Name: "x", Tools: []string{}}},
		{"parts of tools", "tools: Bash(git diff:*), Bash(npm test), Read(src/**), Bash(*)\n", File{
			Name: "x", Tools: []string{"get_git_diff", "run_command"},
			Notes: []string{
				`tools: "Bash(npm test)" allows a part of run_command, which cannot be held to it and is not offered`,
				`tools: "Read(src/**)" allows a part of read_file, which cannot be held to it and is not offered`,
			},
		}},
		{"a part of what is no command", "tools: Read(git diff)\ndescription: Reads these:\n", File{
			Name: "x", Description: "Reads these:", Tools: []string{},
			Notes: []string{`tools: "Read(git diff)" allows a part of read_file, which cannot be held to it and is not offered`},
		}},
		{"a part is not allowed", "tools: Read, Bash\ndisallowedTools: Bash(rm *)\n", File{
			Name: "x", Tools: []string{"read_file"},
			Notes: []string{`disallowedTools: "Bash(rm *)" cannot be told from the rest of run_command, which is not offered at all`},
		}},
		{"none allowed", "disallowedTools: '*'\n", File{Name: "x", Tools: []string{}, Servers: []string{}}},
		{"a role less some", "role: critic\ndisallowedTools: Read, Grep, Glob, read_decisions, send_message, run_tests, run_lint, run_type_check, get_git_log, get_git_diff\n", File{
			Name: "x", Role: agency.RoleReviewer,
			Tools: []string{
				"check_file_sizes", "fetch_page", "get_coverage_report", "get_symbol_references", "list_uncovered_lines", "outline", "query_codebase", "request_handoff",
				"signal_blocked", "submit_review", "symbol_search", "todo", "use_skill",
			},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse("x.md", []byte("---\n"+tt.head+body))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Body, tt.want.Path, tt.want.Input, tt.want.Output = "You look.", "x.md", Markdown, Markdown
			if strings.Contains(tt.head, "tools:") && tt.want.Tools != nil && tt.want.Servers == nil && tt.want.NotServers == nil {
				tt.want.Servers = []string{} // none but those that it names
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestModels(t *testing.T) {
	for word, want := range map[string]string{
		"sonnet": config.LevelCapable, "Opus": config.LevelReasoningHeavy, "haiku": config.LevelFastCheap, "inherit": "", "Inherit": "", "default": "", `""`: "",
		"sonnet[1m]": config.LevelCapable, "opusplan": config.LevelReasoningHeavy, "claude-haiku-4-5": config.LevelFastCheap, "Claude Sonnet 4.5": config.LevelCapable,
		"reasoning-heavy": "reasoning-heavy", "local/qwen:7b": "local/qwen:7b", "gpt-5": "",
	} {
		f, err := Parse("x.md", []byte("---\nmodel: "+word+"\n---\nWork."))
		if noted := len(f.Notes) > 0; err != nil || f.Model != want || noted != (word == "gpt-5") {
			t.Errorf("%s: %q, %v, %v", word, f.Model, f.Notes, err)
		}
	}
}

// Every tool that a public name stands for exists.
func TestPublicToolsExist(t *testing.T) {
	own := ownTools()
	for name, tool := range publicTools() {
		if name != fold(name) || tool != "" && !strings.Contains(" "+strings.Join(own, " ")+" ", " "+tool+" ") {
			t.Errorf("%s stands for %s", name, tool)
		}
	}
}
