package shell

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agency/internal/tool"
)

type runCommandArgs struct {
	Command        string `json:"command"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=1800" jsonschema_description:"It is killed after that; mostly 120 where absent."`
	Background     bool   `json:"background,omitempty"`
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
		if a.Background {
			return inBackground(ctx, env, a)
		}
		out, err := env.Commands.Command(ctx, a.Command, timeout)
		return tool.Result{Text: show(out, timeout, env.Hide), Outcome: exitCode(out.ExitCode), Red: out.ExitCode != 0 || out.Cause != ""}, err
	})
}

func exitCode(n int) string { return fmt.Sprintf("exit code %d", n) }

// show is what a model reads of a command. Secrets are taken out before anything is cut,
// for half of one is none that is recognised.
func show(o tool.Output, timeout time.Duration, hide func(string) string) string {
	var b strings.Builder
	fmt.Fprintln(&b, exitCode(o.ExitCode))
	if o.Shell != "" {
		fmt.Fprintf(&b, "[run by %s: this machine has no bash]\n", o.Shell)
	}
	if o.Cause != "" {
		fmt.Fprintf(&b, "ended by: %s\n", sayCause(o.Cause, timeout))
	}
	if o.Long != nil {
		showLong(&b, hide(string(o.Text)), *o.Long, hide)
		return b.String()
	}
	if o.Dropped > 0 {
		fmt.Fprintf(&b, "[%s of output left out of the middle]\n", tool.Size(o.Dropped))
	}
	b.Write(o.Text)
	return b.String()
}

// What is shown of an output that is too long, in bytes: about 1,200 tokens in all.
const (
	shownHead   = 800
	shownErrors = 1400
	shownLine   = 160
	shownTail   = 1400
)

// showLong shows both ends of an output and the lines that look like errors, and says
// where all of it is.
func showLong(b *strings.Builder, text string, long tool.LongOutput, hide func(string) string) {
	where := "it could not be kept: write it to a file of your own where you need all of it"
	if long.File != "" {
		where = "all of it is in " + long.File
		if long.Cut {
			where = "its beginning and its end are in " + long.File
		}
		where += ", for read_file (offset, limit) and search_files (path)"
	}
	fmt.Fprintf(b, "[%d lines, %s, are too long to show; %s]\n", long.Lines, tool.Size(long.Bytes), where)
	fmt.Fprintf(b, "[it begins]\n%s\n", strings.TrimRight(tool.CutHead(text, shownHead), "\n"))
	if len(long.Errors) > 0 {
		var lines strings.Builder
		n := 0
		for _, l := range long.Errors {
			line := hide(l.Text)
			line = fmt.Sprintf("%d:%s\n", l.N, tool.CutHead(line, shownLine))
			if lines.Len()+len(line) > shownErrors {
				break
			}
			lines.WriteString(line)
			n++
		}
		fmt.Fprintf(b, "[%d of %d lines that look like errors, by their number]\n%s", n, long.ErrorLines, lines.String())
	}
	fmt.Fprintf(b, "[it ends]\n%s", tool.CutTail(text, shownTail))
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
