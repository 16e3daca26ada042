package shell

import (
	"context"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/tool"
)

type checkArgs struct {
	Target string `json:"target,omitempty"`
}

// checkTool is one of the repository's own commands as a tool. It may write:
// builds and tests leave files behind.
func checkTool(name string, kind agency.CheckKind) tool.Tool {
	return tool.Define(texts, name, tool.Write, func(ctx context.Context, env *tool.Env, a checkArgs) (tool.Result, error) {
		if strings.ContainsAny(a.Target, "\x00\n") || len(a.Target) > 1000 {
			return tool.Refuse("the target is one line of at most 1000 letters"), nil
		}
		r, err := env.Checks.Check(ctx, kind, strings.TrimSpace(a.Target))
		return checked(r, ""), err
	})
}

// checked shows a receipt, and what was measured beside it.
func checked(r agency.Receipt, measured string) tool.Result {
	return tool.Result{Text: check.Summary(r) + measured, Outcome: check.Outcome(r), Red: !r.OK()}
}

func runTests() tool.Tool     { return checkTool("run_tests", agency.CheckTest) }
func runLint() tool.Tool      { return checkTool("run_lint", agency.CheckLint) }
func runTypeCheck() tool.Tool { return checkTool("run_type_check", agency.CheckTypecheck) }
