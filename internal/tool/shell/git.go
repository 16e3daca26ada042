package shell

import (
	"context"

	"agency/internal/tool"
)

type gitPathArgs struct {
	Path string `json:"path,omitempty" jsonschema_description:"File or folder, relative to the repository's root; everything where absent."`
}

// logEntries is how many commits get_git_log shows.
const logEntries = 30

func gitDiff() tool.Tool {
	return tool.Define(texts, "get_git_diff", tool.Read, func(ctx context.Context, env *tool.Env, a gitPathArgs) (tool.Result, error) {
		p, err := historyPath(env, a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		text, err := env.History.Diff(ctx, p)
		if err != nil {
			return tool.Result{}, err
		}
		if text == "" {
			return tool.OK("no changes since the contract's base"), nil
		}
		return tool.OK(text), nil
	})
}

func gitLog() tool.Tool {
	return tool.Define(texts, "get_git_log", tool.Read, func(ctx context.Context, env *tool.Env, a gitPathArgs) (tool.Result, error) {
		p, err := historyPath(env, a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		text, err := env.History.Log(ctx, p, logEntries)
		if err != nil {
			return tool.Result{}, err
		}
		if text == "" {
			return tool.OK("no commits"), nil
		}
		return tool.OK(text), nil
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
