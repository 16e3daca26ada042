package effects

import (
	"fmt"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
)

// What becomes of a conflict over a file when one of its agents has ended.
func TestDecideFiles(t *testing.T) {
	const working, failed, complete = agency.StatusInProgress, agency.StatusFailed, agency.StatusComplete
	sides := func(b agency.Status, landed agency.OID) []side {
		return []side{{"a", "s-a", complete, "ca", 1}, {"b", "s-b", b, landed, 2}}
	}
	edits := board.Conflict{Kind: board.FileWrite, Status: board.ConflictOpen}
	queue := edits
	queue.LandingFailed = true
	given := queue
	given.Status = board.ConflictEscalated
	for name, tt := range map[string]struct {
		c     board.Conflict
		sides []side
		agent agency.AgentID
		want  string
	}{
		"the other is at work":             {edits, sides(working, ""), "s-a", "waits"},
		"both landed":                      {edits, sides(complete, "cb"), "s-b", "commit cb of b on [a]"},
		"the order of the branch counts":   {edits, []side{{"a", "s-a", complete, "ca", 2}, {"b", "s-b", complete, "cb", 1}}, "s-a", "commit ca of a on [b]"},
		"it failed":                        {edits, sides(failed, ""), "s-b", "b never landed"},
		"it did nothing in the end":        {edits, sides(complete, ""), "s-b", "b never landed"},
		"three, one of them fails":         {edits, append(sides(complete, "cb"), side{"c", "s-c", failed, "", 0}), "s-c", "commit cb of b on [a]"},
		"three, one of them is at work":    {edits, append(sides(complete, "cb"), side{"c", "s-c", working, "", 0}), "s-b", "waits"},
		"it failed in the queue":           {queue, sides(working, ""), "s-b", "escalated"},
		"it is escalated already":          {given, sides(working, ""), "s-b", "waits"},
		"it was escalated, and failed":     {given, sides(failed, ""), "s-b", "b never landed"},
		"it was escalated, and withdrawn":  {given, sides(agency.StatusCancelled, ""), "s-b", "b never landed"},
		"it went through after all":        {given, sides(complete, "cb"), "s-b", "commit cb of b on [a]"},
		"the queue's, and nothing changed": {queue, sides(complete, ""), "s-b", "b never landed"},
	} {
		got := "waits"
		switch end := decideFiles(tt.c, tt.sides, tt.agent); {
		case end.escalate:
			got = "escalated"
		case end.last != nil:
			got = fmt.Sprintf("commit %s of %s on %v", end.last.landed, end.last.contract, end.before)
		case end.dropped != nil:
			got = string(end.dropped.contract) + " never landed"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
