package shell

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/tool"
)

type commandID struct {
	CommandID string `json:"command_id"`
}

// inBackground starts a line that goes on.
func inBackground(ctx context.Context, env *tool.Env, a runCommandArgs) (tool.Result, error) {
	if a.TimeoutSeconds != 0 {
		return tool.Refuse("a background command has no timeout_seconds: it goes on until stop_command, or until you end your work or wait"), nil
	}
	id, err := env.Commands.Start(ctx, a.Command)
	return tool.OK("it goes on as command_id " + id), err
}

func commandOutput() tool.Tool {
	return tool.Define(texts, "command_output", tool.Read, func(ctx context.Context, env *tool.Env, a commandID) (tool.Result, error) {
		out, err := env.Commands.Output(ctx, strings.TrimSpace(a.CommandID))
		return stands(out, env.Hide), err
	})
}

func stopCommand() tool.Tool {
	return tool.Define(texts, "stop_command", tool.Write, func(ctx context.Context, env *tool.Env, a commandID) (tool.Result, error) {
		out, err := env.Commands.Stop(ctx, strings.TrimSpace(a.CommandID))
		return stands(out, env.Hide), err
	})
}

// stands shows how a command stands, and what it wrote last.
func stands(g tool.Going, hide func(string) string) tool.Result {
	if g.Ended {
		return tool.Result{Text: show(g.Output, 0, hide), Outcome: exitCode(g.ExitCode)}
	}
	var b strings.Builder
	b.WriteString("it goes on\n")
	if g.Dropped > 0 {
		fmt.Fprintf(&b, "[%s of output before this are gone]\n", tool.Size(g.Dropped))
	}
	b.Write(g.Text)
	if g.Held > 0 {
		fmt.Fprintf(&b, "[%s of a line that has not ended]\n", tool.Size(int64(g.Held)))
	}
	return tool.OK(b.String())
}
