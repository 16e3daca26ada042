package agentfile

import (
	"strings"

	"agency/internal/config"
)

// publicKeys are the keys of public formats that mean nothing here. The list is
// closed, so that a misspelt key is found.
func publicKeys() []string {
	return []string{
		// subagents
		"permissionMode", "mcpServers", "hooks", "memory", "skills", "background", "effort", "isolation", "initialPrompt", "disabled",
		// personalities
		"color", "emoji", "vibe", "author", "version", "license", "tags", "services", "category", "keywords", "homepage", "icon", "avatar",
		"created", "updated", "date", "language", "difficulty", "priority", "triggers", "examples", "capabilities", "specialization",
		// agents of editors and other command lines
		"mode", "temperature", "top_p", "permission", "permissions", "hidden", "disable", "prompt", "kind", "timeout_mins", "display_name", "displayName",
		"target", "infer", "mcp-servers", "mcp_servers", "handoffs", "argument-hint", "user-invocable", "disable-model-invocation", "metadata",
		"readonly", "is_background", "reasoningEffort", "github", "whenToUse", "when_to_use", "when-to-use", "compatibility", "type", "title",
	}
}

// level is the capability level that a public word for a model stands for: the words
// of subagents, alone or in the name of such a model.
func level(word string) string {
	w := strings.ToLower(word)
	stands := func(name string) bool {
		return w == name || strings.HasPrefix(w, name+"[") || strings.HasPrefix(w, "claude") && strings.Contains(w, name)
	}
	switch {
	case stands("sonnet"):
		return config.LevelCapable
	case stands("opus"), w == "opusplan":
		return config.LevelReasoningHeavy
	case stands("haiku"):
		return config.LevelFastCheap
	}
	return ""
}

func (r *reading) model(v config.Datum) {
	if v.Empty() {
		return
	}
	if v.IsList() {
		r.note("model: a list is not read; the role's model is used")
		return
	}
	s, ok := r.doc.Text(v, "model")
	if !ok || s == "" || strings.EqualFold(s, "inherit") || strings.EqualFold(s, "default") {
		return
	}
	_, err := config.ParseModel(s)
	levels := []string{config.LevelReasoningHeavy, config.LevelCapable, config.LevelFastCheap}
	switch line, col := v.Place(); {
	case config.IsLevel(s), err == nil:
		r.file.Model = s
	case level(s) != "":
		r.file.Model = level(s)
	case r.hint(s, append(levels, "sonnet", "opus", "haiku", "inherit")) != "":
		r.doc.Fault(line, col, "model: %s is neither a capability level (%s) nor provider/model%s", config.Quoted(s), strings.Join(levels, ", "),
			r.hint(s, append(levels, "sonnet", "opus", "haiku", "inherit")))
	case strings.Contains(s, "/"):
		r.doc.Fault(line, col, "model: %s is no provider/model, for instance anthropic/claude-sonnet-4-5", config.Quoted(s))
	default:
		r.note("model %s names no provider: the role's model is used", config.Quoted(s))
	}
}
