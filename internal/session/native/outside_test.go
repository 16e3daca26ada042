package native

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/tool"
)

// What a server outside did is not done again, wherever the process dies: the call is made
// once or not at all, and where its answer is lost the agent is told so.
func TestOutsideCallsAreMadeOnce(t *testing.T) {
	lost := 0
	for n := 1; ; n += pace() {
		k := newKit(t, budget.Limits{},
			calls("mcp__bank__pay", `{"sum":1}`, "write_file", `{"path":"a.txt","content":"a"}`, "mcp__bank__pay", `{"sum":2}`),
			complete,
		)
		paid := map[string]int{}
		k.outside = []tool.Tool{tool.Outside("mcp__bank__pay", "Pays", json.RawMessage(`{"type":"object"}`), func(_ context.Context, raw json.RawMessage) (tool.Result, error) {
			paid[string(raw)]++
			if err := k.between; err != nil {
				if err := err("paid"); err != nil {
					return tool.Result{}, err
				}
			}
			return tool.OK("paid " + string(raw)), nil
		})}
		out, points := k.survive(spec(), n)
		if out.Kind != session.Claimed {
			t.Errorf("died at point %d: %+v", n, out)
		}
		for _, sum := range []string{`{"sum":1}`, `{"sum":2}`} {
			if paid[sum] > 1 || len(points) == 0 && paid[sum] != 1 {
				t.Errorf("died at %v: %s was paid %d times", points, sum, paid[sum])
			}
		}
		for _, b := range k.model.msgs[len(k.model.msgs)-1][2].Blocks {
			if r, ok := b.(llm.ToolResult); ok && strings.Contains(r.Text, "not run again") {
				lost++
			} else if ok && r.IsError {
				t.Error(fmt.Sprintf("died at %v: ", points) + r.Text)
			}
		}
		if len(points) == 0 {
			break
		}
	}
	if lost == 0 {
		t.Error("no answer was ever lost")
	}
}
