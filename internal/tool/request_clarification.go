package tool

import (
	"context"
	"strings"
)

type requestClarificationArgs struct {
	Question string `json:"question" jsonschema_description:"One question, with what you found and the readings between which you cannot choose."`
}

// maxQuestion is the most bytes of a question: it is read beside other mail.
const maxQuestion = 8 << 10

// Clarification parks the session until its question is answered.
type Clarification struct{ Text string }

func (Clarification) effect() {}

// Questions are the record of what an agent has asked about its contract.
type Questions interface {
	// Asked looks a question up, and tells how many may still be asked.
	Asked(ctx context.Context, question string) (Asked, error)
}

// Asked is what the record says.
type Asked struct {
	Answer string // to the same question; empty: it was not asked, or not answered
	By     string
	Most   int // questions of one attempt
	Left   int
}

func requestClarification() Tool {
	return define("request_clarification", Write, func(ctx context.Context, env *Env, a requestClarificationArgs) (Result, error) {
		q := strings.TrimSpace(strings.ToValidUTF8(a.Question, "\uFFFD"))
		if q == "" || len(q) > maxQuestion {
			return refuse("the question is empty or longer than " + size(maxQuestion) + "; what is large stands in a file that you name"), nil
		}
		known, err := env.Questions.Asked(ctx, q)
		switch {
		case err != nil:
			return Result{}, err
		case known.Answer != "":
			return ok("You have asked this before. The answer of " + known.By + " was:\n\n" + known.Answer), nil
		case known.Left <= 0:
			return Refusal("too many questions: this attempt has asked all %d. Go on with your own judgement and say in your evidence what you assumed, or end by signal_blocked", known.Most), nil
		}
		return Result{Text: "asked", Effect: Clarification{Text: q}}, nil
	}).last()
}
