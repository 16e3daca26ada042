package tool

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
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
		return ok(showReceipt(r)), nil
	})
}

func runTests() Tool     { return checkTool("run_tests", agency.CheckTest) }
func runLint() Tool      { return checkTool("run_lint", agency.CheckLint) }
func runTypeCheck() Tool { return checkTool("run_type_check", agency.CheckTypecheck) }

// maxFailures is how many failed tests are shown with their output.
const maxFailures = 20

// showReceipt is a receipt as a model reads it (INTERFACES 7): the exit code,
// the counts where the tests are known by name, failures first, then output.
func showReceipt(r agency.Receipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d\n", r.ExitCode)
	if r.Parsed {
		fmt.Fprintf(&b, "passed %d, failed %d, skipped %d\n", r.Passed, r.Failed, r.Skipped)
	}
	if r.Cause != "" && r.Cause != "exited" {
		fmt.Fprintf(&b, "ended by: %s\n", sayCause(r.Cause, 0))
	}
	fmt.Fprintf(&b, "command: %s\n", r.Command)
	shown := 0
	for _, t := range r.Tests {
		if t.Status != agency.TestFailed {
			continue
		}
		if shown++; shown > maxFailures {
			fmt.Fprintf(&b, "[%d more failed tests]\n", r.Failed-maxFailures)
			break
		}
		fmt.Fprintf(&b, "--- failed: %s\n%s\n", t.Name, strings.TrimRight(Cap(t.Output, 4<<10), "\n"))
	}
	if r.Output != "" && !(r.Parsed && r.OK()) {
		b.WriteString("--- output\n" + r.Output)
	}
	return b.String()
}
