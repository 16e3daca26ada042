package tool

import (
	"context"
	"strings"
)

type requestHumanInputArgs struct {
	Question string   `json:"question" jsonschema_description:"One question with what the person needs to know to answer it."`
	Options  []string `json:"options,omitempty" jsonschema_description:"Answers to choose from, where there are few."`
}

const maxOptions = 10

func requestHumanInput() Tool {
	return define("request_human_input", Write, func(_ context.Context, _ *Env, a requestHumanInputArgs) (Result, error) {
		q := strings.TrimSpace(a.Question)
		if q == "" || len(q) > 8<<10 {
			return refuse("the question is empty or longer than 8 KB"), nil
		}
		if len(a.Options) > maxOptions {
			return refuse("at most 10 options"), nil
		}
		for _, o := range a.Options {
			if strings.TrimSpace(o) == "" || len(o) > 500 {
				return refuse("an option is empty or longer than 500 letters"), nil
			}
		}
		return Result{Text: "asked", Effect: Question{Text: q, Options: a.Options}}, nil
	}).last()
}
