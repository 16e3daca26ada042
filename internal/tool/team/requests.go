package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
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

type requestHandoffArgs struct {
	Role   string `json:"role" jsonschema_description:"The role that should go on with the contract."`
	Reason string `json:"reason" jsonschema_description:"Why it is theirs; what is done, and what is to be done."`
}

func requestHandoff() tool.Tool {
	return tool.Define(texts, "request_handoff", tool.Write, func(ctx context.Context, env *tool.Env, a requestHandoffArgs) (tool.Result, error) {
		reason := strings.TrimSpace(strings.ToValidUTF8(a.Reason, "\uFFFD"))
		role := agency.RoleID(strings.TrimSpace(a.Role))
		switch {
		case !slices.Contains(holders(), string(role)):
			return tool.Refuse("no work can be handed to a role " + tool.QuoteName(a.Role) + "; roles: " + strings.Join(holders(), ", ")), nil
		case reason == "" || len(reason) > maxQuestion:
			return tool.Refuse("the reason is empty or longer than " + tool.Size(maxQuestion)), nil
		}
		if err := env.Records.MayHandOver(ctx, role); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: "asked", Effect: tool.Handoff{Role: role, Reason: reason}}, nil
	}).Ends()
}

// holders are the roles that can go on with somebody's files: who holds
// contracts and changes files.
func holders() []string {
	var out []string
	for _, r := range roster.Roles() {
		if r.Holds && r.Offers("write_file") {
			out = append(out, string(r.ID))
		}
	}
	return out
}

type requestHumanInputArgs struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
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

type requestImplementationChangeArgs struct {
	Bug  string `json:"bug_description" jsonschema_description:"What is wrong, with the input, what was expected, what came, and where you think the cause is."`
	Test string `json:"failing_test" jsonschema_description:"The name of a test in your files that fails now because of it, and of no other cause."`
}

func requestImplementationChange() tool.Tool {
	return tool.Define(texts, "request_implementation_change", tool.Write, func(ctx context.Context, env *tool.Env, a requestImplementationChangeArgs) (tool.Result, error) {
		bug, test := strings.TrimSpace(strings.ToValidUTF8(a.Bug, "\uFFFD")), strings.TrimSpace(a.Test)
		switch {
		case bug == "" || len(bug) > maxQuestion:
			return tool.Refuse("the description is empty or longer than " + tool.Size(maxQuestion)), nil
		case test == "" || len(test) > 500 || strings.ContainsAny(test, "\x00\n"):
			return tool.Refuse("failing_test is the name of one test, of at most 500 letters"), nil
		}
		if err := env.Records.MayAsk(ctx); err != nil {
			return tool.Result{}, err
		}
		r, err := env.Checks.Check(ctx, agency.CheckTest, "")
		if err != nil {
			return tool.Result{}, err
		}
		if why := notRed(r, test); why != "" {
			return tool.Refusal("no red receipt: %s. Write a test that fails because of the bug, and run it", why), nil
		}
		return tool.Result{Text: "asked", Effect: tool.ImplementationChange{Bug: bug, Test: test, Receipt: r.ID}}, nil
	}).Ends()
}

// notRed says why a receipt does not show a test failing; empty where it does.
func notRed(r agency.Receipt, test string) string {
	results := make(map[string]agency.TestStatus, len(r.Tests))
	for _, t := range r.Tests {
		results[t.Name] = t.Status
	}
	found, ok := agency.LookUp(results, test)
	switch {
	case !r.Parsed:
		return "the run of the tests names no tests, so none can be seen to fail"
	case !ok:
		return fmt.Sprintf("the tests were run now and %s is not among them", tool.QuoteName(test))
	case found.Status != agency.TestFailed:
		return fmt.Sprintf("the tests were run now and %s has %s", tool.QuoteName(test), found.Status)
	}
	return ""
}
