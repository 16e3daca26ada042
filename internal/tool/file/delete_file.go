package file

import (
	"context"

	"agency/internal/tool"
)

type deleteFileArgs struct {
	Path string `json:"path"`
}

func deleteFile() tool.Tool {
	return tool.Define(texts, "delete_file", tool.Write, func(ctx context.Context, env *tool.Env, a deleteFileArgs) (tool.Result, error) {
		rel, err := env.Files.Rel(a.Path)
		if err == nil {
			err = env.Files.Remove(ctx, rel, a.Path)
		}
		return tool.Wrote(rel, "deleted "+rel), err
	})
}
