package team

import (
	"context"
	"strings"

	"agency/internal/tool"
)

type requestClarificationArgs struct {
	Question string `json:"question" jsonschema_description:"One question, with what you found and the readings between which you cannot choose."`
}

// maxQuestion is the most bytes of a question: it is read beside other mail.
const maxQuestion = 8 << 10

func requestClarification() tool.Tool {
	return tool.Define(texts, "request_clarification", tool.Write, func(ctx context.Context, env *tool.Env, a requestClarificationArgs) (tool.Result, error) {
		q := strings.TrimSpace(strings.ToValidUTF8(a.Question, "\uFFFD"))
		if q == "" || len(q) > maxQuestion {
			return tool.Refuse("the question is empty or longer than " + tool.Size(maxQuestion) + "; what is large stands in a file that you name"), nil
		}
		known, err := env.Records.Asked(ctx, q)
		switch {
		case err != nil:
			return tool.Result{}, err
		case known.Answer != "":
			return tool.OK("You have asked this before. The answer of " + known.By + " was:\n\n" + known.Answer), nil
		case known.Left <= 0:
			return tool.Refusal("too many questions: this attempt has asked all %d. Go on with your own judgement and say in your evidence what you assumed, or end by signal_blocked", known.Most), nil
		}
		return tool.Result{Text: "asked", Effect: tool.Clarification{Text: q}}, nil
	}).Ends()
}
