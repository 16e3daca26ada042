package rehearsal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"agency/internal/llm"
	"agency/internal/regexp"
)

// facts are what rules look at, read off a request.
type facts struct {
	role     string
	agent    string // of a file, by its name
	contract string
	title    string
	goal     string
	attempt  int
	turn     int
	model    string
	offers   map[string]bool
	last     string   // the last user message: tool results and text
	recent   []result // tool results of the last message
	results  []result // of the whole conversation
	images   []string // of the whole conversation: media type, size in pixels, hash
}

type result struct {
	tool    string
	text    string
	isError bool
}

var (
	roleLine    = regexp.MustCompile(`\A#[ \t]*([^\n]*?)[ \t]*\(([A-Za-z0-9_]+)\)[ \t\r]*(?:\n|\z)`)
	contractTop = "```json contract\n"
)

// readFacts reads a request, or what it was a few turns ago: messages is a
// prefix of its messages that ends before an assistant's.
func readFacts(req llm.Request, messages []llm.Message) facts {
	f := facts{model: req.Model, attempt: 1, turn: 1, offers: map[string]bool{}}
	if m := roleLine.FindStringSubmatch(req.System); m != nil {
		if f.role = m[2]; f.role == agentRole {
			f.agent = m[1]
		}
	}
	for _, t := range req.Tools {
		f.offers[t.Name] = true
	}
	names := map[string]string{}
	for _, m := range messages {
		if m.Role == llm.Assistant {
			f.turn++
			for _, u := range m.Calls() {
				names[u.ID] = u.Name
			}
			continue
		}
		f.recent = f.recent[:0:0]
		f.last = f.readUser(m, names)
		if f.agent != "" && f.goal == "" {
			f.goal = m.Words() // its input, and no contract
		} else if f.agent == "" && f.readContract(m.Words()) {
			f.turn = 1 // also where a conversation goes on with another contract
		}
	}
	return f
}

// agentRole is that of agents of files, whose first message is their input.
const agentRole = "agent"

// readUser gathers a user message; it returns its whole text.
func (f *facts) readUser(m llm.Message, names map[string]string) string {
	var parts []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			r := result{tool: names[b.ID], text: b.Text, isError: b.IsError || strings.HasPrefix(b.Text, "error: ")}
			f.recent = append(f.recent, r)
			f.results = append(f.results, r)
			parts = append(parts, b.Text)
		case llm.Text:
			parts = append(parts, b.Text)
		case llm.Image:
			f.see(b)
		}
	}
	return strings.Join(parts, "\n")
}

// see reads a picture as it came, over whatever wire.
func (f *facts) see(i llm.Image) {
	if seen, err := llm.ReadImage("", i.Data); err == nil {
		f.images = append(f.images, fmt.Sprintf("%s %dx%d %s", seen.Media, seen.Width, seen.Height, seen.Hash))
	}
}

// attemptLine says which attempt at a contract begins.
var attemptLine = regexp.MustCompile(`(?m)^This is attempt (\d+)`)

// outside is a text without its blocks of what others wrote (package block).
func outside(text string) string {
	const open, mark = "<data-", 12
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, open)
		b.WriteString(before)
		if !ok || len(rest) < mark {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "</data-"+rest[:mark]+">")
	}
}

// readContract reads the contract block (docs/design.md, What a model is shown).
func (f *facts) readContract(text string) bool {
	text = outside(text)
	_, rest, ok := strings.Cut(text, contractTop)
	if !ok {
		return false
	}
	body, _, _ := strings.Cut(rest, "\n```")
	var c struct {
		ID          string `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		GoalAnchor  string `json:"goal_anchor"`
	}
	if json.Unmarshal([]byte(body), &c) != nil {
		return false
	}
	f.contract, f.title, f.goal = c.ID, c.Title, c.Description
	if f.goal == "" { // the contract is the goal itself
		f.goal = c.GoalAnchor
	}
	if f.title == "" {
		f.title = f.goal
	}
	f.attempt = 1
	if m := attemptLine.FindStringSubmatch(rest); m != nil {
		f.attempt, _ = strconv.Atoi(m[1]) // digits
	}
	return true
}
