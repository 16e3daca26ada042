package team

import (
	"context"
	"strings"

	"agency/internal/tool"
)

type requestHumanInputArgs struct {
	Question string   `json:"question" jsonschema_description:"One question with what the person needs to know to answer it."`
	Options  []string `json:"options,omitempty" jsonschema_description:"Answers to choose from, where there are few."`
}

const maxOptions = 10

func requestHumanInput() tool.Tool {
	return tool.Define(texts, "request_human_input", tool.Write, func(_ context.Context, _ *tool.Env, a requestHumanInputArgs) (tool.Result, error) {
		q := strings.TrimSpace(a.Question)
		if q == "" || len(q) > 8<<10 {
			return tool.Refuse("the question is empty or longer than 8 KB"), nil
		}
		if len(a.Options) > maxOptions {
			return tool.Refuse("at most 10 options"), nil
		}
		for _, o := range a.Options {
			if strings.TrimSpace(o) == "" || len(o) > 500 {
				return tool.Refuse("an option is empty or longer than 500 letters"), nil
			}
		}
		return tool.Result{Text: "asked", Effect: tool.Question{Text: q, Options: a.Options}}, nil
	}).Ends()
}
