package shell

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agency/internal/tool"
)

type runCommandArgs struct {
	Command        string `json:"command" jsonschema_description:"A line of POSIX shell, run by sh -c in the repository's root."`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=1800" jsonschema_description:"The command is killed after it; the run's default, mostly 120, where absent."`
}

const maxTimeout = 1800 * time.Second

func runCommand() tool.Tool {
	return tool.Define(texts, "run_command", tool.Write, func(ctx context.Context, env *tool.Env, a runCommandArgs) (tool.Result, error) {
		if strings.TrimSpace(a.Command) == "" {
			return tool.Refuse("the command is empty"), nil
		}
		if strings.ContainsRune(a.Command, 0) {
			return tool.Refuse("the command contains a NUL byte"), nil
		}
		timeout := time.Duration(a.TimeoutSeconds) * time.Second
		if timeout < 0 || timeout > maxTimeout {
			return tool.Refuse(fmt.Sprintf("timeout_seconds is 1 to %d", int(maxTimeout.Seconds()))), nil
		}
		out, err := env.Commands.Command(ctx, a.Command, timeout)
		return tool.Result{Text: show(out, timeout), Outcome: exitCode(out.ExitCode), Red: out.ExitCode != 0 || out.Cause != ""}, err
	})
}

func exitCode(n int) string { return fmt.Sprintf("exit code %d", n) }

func show(o tool.Output, timeout time.Duration) string {
	var b strings.Builder
	fmt.Fprintln(&b, exitCode(o.ExitCode))
	if o.Cause != "" {
		fmt.Fprintf(&b, "ended by: %s\n", sayCause(o.Cause, timeout))
	}
	if o.Dropped > 0 {
		fmt.Fprintf(&b, "[%s of output left out of the middle]\n", tool.Size(o.Dropped))
	}
	b.Write(o.Text)
	return b.String()
}

// sayCause adds to a cause what a model can do about it.
func sayCause(cause string, timeout time.Duration) string {
	switch cause {
	case "timeout":
		if timeout > 0 {
			cause += " after " + timeout.String()
		}
		return cause + "; it must end by itself, or needs a larger timeout_seconds"
	case "memory":
		return "memory; it used more than the sandbox allows"
	case "processes":
		return "processes; it started more than the sandbox allows"
	case "disk":
		return "disk; it would have filled the disk: write less, and remove what is no longer needed"
	case "file_size":
		return "file_size; it wrote a file larger than the sandbox allows"
	}
	return cause
}
