package agentfile

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/config"
	"agency/internal/roster"
)

// ownTools are all tools that some role is offered, sorted.
func ownTools() []string {
	var out []string
	for _, r := range roster.Roles() {
		out = append(out, r.Tools()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// publicTools are the names that other programs give to tools, folded, and ours for
// the same. An empty one: there is none.
func publicTools() map[string]string {
	out := map[string]string{}
	for own, names := range map[string]string{
		"read_file":           "read view readmanyfiles notebookread",
		"write_file":          "write create createfile",
		"edit_file":           "edit editfiles multiedit notebookedit replace strreplace strreplacefile",
		"search_files":        "grep search grepsearch searchfilecontent codebase",
		"list_directory":      "ls list listdir glob",
		"run_command":         "bash shell execute runshellcommand runcommands terminal",
		"command_output":      "bashoutput",
		"stop_command":        "killbash killshell",
		"request_human_input": "askuserquestion",
		"todo":                "todoread todowrite",
		"":                    "agent task tasklist taskget taskupdate taskcreate taskoutput taskstop teamcreate teamdelete",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = own
		}
	}
	for name := range strings.FieldsSeq("skill slashcommand enterplanmode exitplanmode web webfetch websearch fetch fetchurl googlewebsearch browser think lsp " +
		"toolsearch monitor savememory listmcpresources readmcpresource new edits usages problems changes " +
		"handoffto teambroadcast askclarification") {
		out[name] = ""
	}
	return out
}

// partial are commands that a public file may allow alone, and our tools for them.
func partial() map[string]string {
	return map[string]string{"git diff": "get_git_diff", "git log": "get_git_log"}
}

// fold makes ReadFile and read_file one name.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// word is a name of a tool with where it stands.
type word struct {
	name string
	at   place
}

// any tells whether the word stands for all tools.
func (w word) any() bool { return w.name == "*" || strings.EqualFold(w.name, "all") }

// tools narrows what the role offers: to those that are named, less those that are not
// allowed.
func (r *reading) tools(allowed, denied *config.Pair) {
	if allowed == nil && denied == nil {
		return
	}
	t := newTranslator(r)
	if allowed != nil {
		words, off := r.toolWords(*allowed, "tools")
		if words != nil && !slices.ContainsFunc(words, word.any) {
			r.file.Tools = t.all(words, "tools", false)
			r.file.Servers = append([]string{}, t.taken()...)
		}
		r.deny(t.all(off, "tools", true))
	}
	if denied != nil {
		words, off := r.toolWords(*denied, "disallowedTools")
		if slices.ContainsFunc(words, word.any) {
			r.deny(t.own)
			r.file.Servers = []string{}
		}
		r.deny(t.all(append(words, off...), "disallowedTools", true))
	}
	r.file.NotServers = t.taken()
	if len(t.none) > 0 {
		r.note("tools: nothing here is like %s", strings.Join(t.none, ", "))
	}
}

// deny takes tools out of those that the agent would be offered.
func (r *reading) deny(tools []string) {
	if len(tools) == 0 {
		return
	}
	if r.file.Tools == nil {
		r.file.Tools = ownTools()
		if role, err := roster.Find(r.file.Role); err == nil {
			r.file.Tools = role.Tools()
		}
	}
	r.file.Tools = slices.DeleteFunc(r.file.Tools, func(t string) bool { return slices.Contains(tools, t) })
}

// toolWords are the names in a list, in a text with commas, or in a mapping of names
// to whether they are on; off are those that are not. Nil: the field says nothing.
func (r *reading) toolWords(p config.Pair, key string) (words, off []word) {
	v := p.Value
	line, col := v.Place()
	switch {
	case v.Empty():
		return nil, nil
	case v.IsMap():
		return r.toolSwitches(v, key)
	case v.IsList():
		words = []word{}
		items, _ := r.doc.List(v, key)
		if r.tooMany(len(items), line, col, key) {
			return words, nil
		}
		for i, item := range items {
			if s, ok := r.doc.Text(item, fmt.Sprintf("%s[%d]", key, i)); ok {
				line, col := item.Place()
				words = append(words, word{strings.TrimSpace(s), place{line, col}})
			}
		}
		return words, nil
	}
	s, ok := r.doc.Text(v, key)
	if !ok {
		return nil, nil
	}
	words = []word{}
	for _, name := range splitTools(s) {
		words = append(words, word{name, place{line, col}})
	}
	if r.tooMany(len(words), line, col, key) {
		return nil, nil
	}
	return words, nil
}

func (r *reading) tooMany(n, line, col int, key string) bool {
	if n > maxTools {
		r.doc.Fault(line, col, "%s names %d tools, more than %d", key, n, maxTools)
	}
	return n > maxTools
}

// toolSwitches are the tools of a mapping: those that are off, and where all others are
// off too, those that are on.
func (r *reading) toolSwitches(v config.Datum, key string) (words, off []word) {
	pairs, _ := r.doc.Map(v, key)
	if line, col := v.Place(); r.tooMany(len(pairs), line, col, key) {
		return nil, nil
	}
	on, none := []word{}, false
	for _, p := range pairs {
		is, ok := r.doc.Bool(p.Value, key+"."+config.KeyName(p.Key))
		w := word{p.Key, place{p.Line, p.Col}}
		switch {
		case !ok:
		case p.Key == "*":
			none = !is
		case is:
			on = append(on, w)
		default:
			off = append(off, w)
		}
	}
	if none {
		return on, off
	}
	return nil, off
}

// splitTools parts names at commas that stand in no brackets: Bash(git diff, git log)
// is one.
func splitTools(s string) []string {
	depth := 0
	parts := strings.FieldsFunc(s, func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
		return c == ',' && depth == 0
	})
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// translator finds our tools for the names of a file.
type translator struct {
	r      *reading
	own    []string
	folded map[string]string
	public map[string]string
	none   []string // what has no counterpart
	// servers are the names of tools of MCP servers among those translated last.
	servers []string
}

// taken are the names of tools of MCP servers that were met since it was asked last.
func (t *translator) taken() []string {
	out := t.servers
	t.servers = nil
	return out
}

func newTranslator(r *reading) *translator {
	t := &translator{r: r, own: ownTools(), folded: map[string]string{}, public: publicTools()}
	for _, o := range t.own {
		t.folded[fold(o)] = o
	}
	return t
}

// all translates names, each tool once; it is not nil.
func (t *translator) all(words []word, key string, denied bool) []string {
	out := []string{}
	for _, w := range words {
		if strings.HasPrefix(w.name, "mcp__") {
			t.server(w.name, denied)
			continue
		}
		own := t.tool(w, key, denied)
		if own == "" || slices.Contains(out, own) {
			continue
		}
		out = append(out, own)
		if !denied {
			t.r.at["tools."+own] = w.at
		}
	}
	return out
}

// server takes a name of tools of MCP servers, of which a part in brackets is treated as one
// of ours is.
func (t *translator) server(name string, denied bool) {
	whole, _, part := strings.Cut(name, "(")
	if !part || denied {
		t.servers = append(t.servers, strings.TrimSpace(whole))
	} else {
		t.none = append(t.none, config.Quoted(name))
	}
}

// tool is our tool for a name, or empty. A name with brackets allows a part of what
// a tool does, to which ours cannot be held: it allows nothing, and where it forbids,
// the whole is forbidden. Either way the agent gets no more than the file says.
func (t *translator) tool(w word, key string, denied bool) string {
	name, inner, part := strings.Cut(w.name, "(")
	name = strings.TrimSpace(name)
	inner = strings.TrimSuffix(strings.TrimSpace(inner), ")")
	if w.any() {
		return ""
	}
	own, known := t.folded[fold(name)]
	if !known {
		own, known = t.public[fold(name)]
		if !slices.Contains(t.own, own) {
			own = ""
		}
	}
	if part && own != "" && strings.Trim(inner, "*: ") != "" {
		return t.part(w.name, own, inner, denied)
	}
	if own != "" {
		return own
	}
	hint := ""
	if !known && !strings.ContainsAny(name, ":/.* ") && !strings.HasPrefix(name, "agent__") {
		hint = t.r.hint(name, t.own)
	}
	if hint != "" {
		t.r.doc.Fault(w.at.line, w.at.col, "%s: there is no tool %s%s", key, config.Quoted(name), hint)
	} else if shown := config.Quoted(w.name); !slices.Contains(t.none, shown) {
		t.none = append(t.none, shown)
	}
	return ""
}

func (t *translator) part(whole, own, inner string, denied bool) string {
	if denied {
		t.r.note("disallowedTools: %s cannot be told from the rest of %s, which is not offered at all", config.Quoted(whole), own)
		return own
	}
	command := strings.TrimRight(strings.TrimSpace(inner), ":* ")
	if tool := partial()[command]; tool != "" && own == "run_command" {
		return tool
	}
	t.r.note("tools: %s allows a part of %s, which cannot be held to it and is not offered", config.Quoted(whole), own)
	return ""
}
