package team

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

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
