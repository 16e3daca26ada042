package agency

import (
	"strings"
	"testing"
	"time"
)

// A block must not change while a session runs: the harness's own counters
// would break the prompt's stable prefix.
func TestBlockLeavesCountersOut(t *testing.T) {
	c := Contract{ID: "main", Title: "t", AcceptanceCriteria: []Criterion{{ID: "goal", Text: "g"}}, RetryBudget: 3, Attempts: 1}
	before, err := c.Block()
	if err != nil {
		t.Fatal(err)
	}
	c.Status, c.Stage, c.TokensUsed, c.CostUSD = StatusInProgress, StageWorking, 12, 0.5
	c.Error, c.StartedAt, c.Attempts = "x", time.Unix(1, 0), 2
	after, err := c.Block()
	if err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("block changed:\n%s\n%s", before, after)
	}
	if !strings.HasPrefix(before, "```json contract\n{") {
		t.Errorf("block has another form:\n%s", before)
	}
	for _, word := range []string{"status", "tokens_used", "cost_usd", `"attempts"`} {
		if strings.Contains(before, word) {
			t.Errorf("block shows %s:\n%s", word, before)
		}
	}
}
