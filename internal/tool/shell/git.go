package shell

import (
	"cmp"
	"context"

	"agency/internal/tool"
)

type gitPathArgs struct {
	Path string `json:"path,omitempty" jsonschema_description:"File or folder; all where absent."`
}

// logEntries is how many commits get_git_log shows.
const logEntries = 30

func gitDiff() tool.Tool {
	return ofHistory("get_git_diff", "no changes since the contract's base", tool.History.Diff)
}

func gitLog() tool.Tool {
	return ofHistory("get_git_log", "no commits", func(h tool.History, ctx context.Context, p string) (string, error) {
		return h.Log(ctx, p, logEntries)
	})
}

// ofHistory shows what git tells of a path; none is said where that is nothing.
func ofHistory(name, none string, read func(h tool.History, ctx context.Context, p string) (string, error)) tool.Tool {
	return tool.Define(texts, name, tool.Read, func(ctx context.Context, env *tool.Env, a gitPathArgs) (tool.Result, error) {
		p, err := historyPath(env, a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		text, err := read(env.History, ctx, p)
		return tool.OK(cmp.Or(text, none)), err
	})
}

// historyPath is a path for git: one that is gone from the disk is fine.
func historyPath(env *tool.Env, p string) (string, error) {
	rel, err := env.Files.Rel(p)
	if rel == "." {
		rel = ""
	}
	return rel, err
}
