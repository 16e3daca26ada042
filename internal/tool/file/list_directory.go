package file

import (
	"cmp"
	"context"
	"fmt"

	"agency/internal/tool"
)

type listDirectoryArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth,omitempty" jsonschema:"minimum=1,maximum=8" jsonschema_description:"Levels to descend; 1 where absent."`
}

const (
	maxDepth   = 8
	maxEntries = 1000
)

func listDirectory() tool.Tool {
	return tool.Define(texts, "list_directory", tool.Read, func(ctx context.Context, env *tool.Env, a listDirectoryArgs) (tool.Result, error) {
		if a.Depth < 0 || a.Depth > maxDepth {
			return tool.Refuse(fmt.Sprintf("depth is 1 to %d", maxDepth)), nil
		}
		out, err := env.Files.List(ctx, a.Path, max(1, a.Depth), maxEntries)
		return tool.OK(cmp.Or(out, "(the folder is empty)")), err
	})
}
