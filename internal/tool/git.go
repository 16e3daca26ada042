package tool

import (
	"context"
)

type gitPathArgs struct {
	Path string `json:"path,omitempty" jsonschema_description:"File or folder, relative to the repository's root; everything where absent."`
}

// logEntries is how many commits get_git_log shows.
const logEntries = 30

func gitDiff() Tool {
	return define("get_git_diff", Read, func(ctx context.Context, env *Env, a gitPathArgs) (Result, error) {
		p, err := historyPath(env, a.Path)
		if err != nil {
			return Result{}, err
		}
		text, err := env.History.Diff(ctx, p)
		if err != nil {
			return Result{}, err
		}
		if text == "" {
			return ok("no changes since the contract's base"), nil
		}
		return ok(text), nil
	})
}

func gitLog() Tool {
	return define("get_git_log", Read, func(ctx context.Context, env *Env, a gitPathArgs) (Result, error) {
		p, err := historyPath(env, a.Path)
		if err != nil {
			return Result{}, err
		}
		text, err := env.History.Log(ctx, p, logEntries)
		if err != nil {
			return Result{}, err
		}
		if text == "" {
			return ok("no commits"), nil
		}
		return ok(text), nil
	})
}

// historyPath is a path for git: one that is gone from the disk is fine.
func historyPath(env *Env, p string) (string, error) {
	rel, err := env.Files.Rel(p)
	if rel == "." {
		rel = ""
	}
	return rel, err
}
