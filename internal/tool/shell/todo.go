package shell

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/tool"
)

type todoArgs struct {
	Items []todoItem `json:"items" jsonschema_description:"The whole plan, in order; it takes the place of the one before."`
}

type todoItem struct {
	Text string `json:"text" jsonschema_description:"One step, on one line."`
	Done bool   `json:"done,omitempty"`
}

const (
	mostSteps = 50
	maxStep   = 300
)

func todo() tool.Tool {
	return tool.Define(texts, "todo", tool.Read, func(_ context.Context, _ *tool.Env, a todoArgs) (tool.Result, error) {
		if len(a.Items) > mostSteps {
			return tool.Refuse(fmt.Sprintf("a plan has at most %d steps", mostSteps)), nil
		}
		plan := tool.Todo{Items: make([]tool.Step, len(a.Items))}
		for i, item := range a.Items {
			text := strings.Join(strings.Fields(item.Text), " ")
			if text == "" || len(text) > maxStep {
				return tool.Refuse(fmt.Sprintf("step %d: the text is 1 to %d letters", i+1, maxStep)), nil
			}
			plan.Items[i] = tool.Step{Text: text, Done: item.Done}
		}
		res := tool.OK(plan.Line())
		res.Effect = plan
		return res, nil
	}).OnBoard()
}
