package native

import (
	"strings"
	"testing"

	"agency/internal/budget"
	"agency/internal/roster"
)

// A session's talent stands in its system prompt, below the role.
func TestTalentIsInThePrompt(t *testing.T) {
	for _, text := range []string{"", "THE WORDS OF A SPECIALIST"} {
		k := newKit(t, budget.Limits{}, says("done"), says("really"))
		if text != "" {
			k.setup.Talent = roster.Talent{Name: "own", Text: text}
		}
		k.must(spec())
		first := string(k.model.seen[0])
		if there := strings.Contains(first, "## Your expertise: own") && strings.Contains(first, "THE WORDS OF A SPECIALIST"); there != (text != "") {
			t.Errorf("talent %q: %t in\n%.3000s", text, there, first)
		}
	}
}
