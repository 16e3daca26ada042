package file

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/codebase"
	"agency/internal/tool"
)

type writeFileArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func writeFile() tool.Tool {
	return tool.Define(texts, "write_file", tool.Write, func(ctx context.Context, env *tool.Env, a writeFileArgs) (tool.Result, error) {
		rel, mode, existed, err := env.Files.Target(a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		if len(a.Content) > tool.MaxFile {
			return tool.Refuse("the content has " + tool.Size(int64(len(a.Content))) + ", the most is " + tool.Size(tool.MaxFile)), nil
		}
		if err := env.Files.MayWrite(ctx, rel); err != nil {
			return tool.Result{}, err
		}
		var old []byte
		if existed {
			if old, err = env.Files.ReadAll(rel); err != nil && strings.Contains(a.Content, agency.Redacted) {
				return tool.Result{}, tool.Says(err, a.Path)
			}
			if strings.Contains(a.Content, agency.Redacted) && env.Overwrites(string(old), "", a.Content) {
				return notOver(a.Path), nil
			}
		}
		if err := env.Files.Save(rel, []byte(a.Content), mode); err != nil {
			return tool.Result{}, err
		}
		verb := "created"
		if existed {
			verb = "replaced"
		}
		return tool.Wrote(rel, fmt.Sprintf("%s %s (%s, %s)", verb, rel, agency.Things(countLines(a.Content), "line", "lines"), tool.Size(int64(len(a.Content))))+
			tool.Brought(ctx, env.Files, codebase.FileChange{Path: rel, Before: old, After: []byte(a.Content)})), nil
	})
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// notShown is the answer to an edit whose old_text is nowhere because it was
// copied from where a secret was hidden.
func notShown(p string) tool.Result {
	return tool.Fail("%s: old_text contains %s, which stands in what you are shown for a secret of the host and is not in the file; choose an old_text beside it", p, agency.Redacted)
}

func notOver(p string) tool.Result {
	return tool.Refuse(fmt.Sprintf("%s: the file holds a secret of the host, which you are shown as %s; the new text would put that mark in its place. Change the lines around it with edit_file, or leave the line out", p, agency.Redacted))
}
