package tool

import (
	"context"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
)

type checkArgs struct {
	Target string `json:"target,omitempty" jsonschema_description:"What to narrow the run to; everything where absent."`
}

// checkTool is one of the repository's own commands as a tool. It may write:
// builds and tests leave files behind.
func checkTool(name string, kind agency.CheckKind) Tool {
	return define(name, Write, func(ctx context.Context, env *Env, a checkArgs) (Result, error) {
		if strings.ContainsAny(a.Target, "\x00\n") || len(a.Target) > 1000 {
			return refuse("the target is one line of at most 1000 letters"), nil
		}
		r, err := env.Checks.Check(ctx, kind, strings.TrimSpace(a.Target))
		if err != nil {
			return Result{}, err
		}
		return ok(check.Summary(r)), nil
	})
}

func runTests() Tool     { return checkTool("run_tests", agency.CheckTest) }
func runLint() Tool      { return checkTool("run_lint", agency.CheckLint) }
func runTypeCheck() Tool { return checkTool("run_type_check", agency.CheckTypecheck) }
