package symbol

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/codebase"
	"agency/internal/tool"
)

type smartEditArgs struct {
	SymbolName string `json:"symbol_name" jsonschema_description:"Push, or Stack.Push."`
	FilePath   string `json:"file_path"`
	NewContent string `json:"new_content"`
}

func smartEdit() tool.Tool {
	return tool.Define(texts, "smart_edit", tool.Write, func(ctx context.Context, env *tool.Env, a smartEditArgs) (tool.Result, error) {
		return change(ctx, env, a.FilePath, func(rel string) (codebase.Change, string, error) {
			c, err := codeOf(env).Replace(ctx, a.SymbolName, rel, a.NewContent)
			return c, "replaced " + a.SymbolName + " in " + rel, err
		}, "what this breaks, mend it too")
	})
}

type renameSymbolArgs struct {
	SymbolName string `json:"symbol_name" jsonschema_description:"Push, or Stack.Push."`
	FilePath   string `json:"file_path"`
	NewName    string `json:"new_name"`
}

func renameSymbol() tool.Tool {
	return tool.Define(texts, "rename_symbol", tool.Write, func(ctx context.Context, env *tool.Env, a renameSymbolArgs) (tool.Result, error) {
		return change(ctx, env, a.FilePath, func(rel string) (codebase.Change, string, error) {
			c, err := codeOf(env).Rename(ctx, a.SymbolName, rel, a.NewName)
			return c, fmt.Sprintf("renamed %s to %s at %s", a.SymbolName, a.NewName, agency.Things(c.Places, "place", "places")), err
		}, "the old name still stands in text, edit it where it means this")
	})
}

type extractFunctionArgs struct {
	FilePath     string `json:"file_path"`
	StartLine    int    `json:"start_line" jsonschema:"minimum=1"`
	EndLine      int    `json:"end_line" jsonschema:"minimum=1"`
	FunctionName string `json:"function_name"`
}

func extractFunction() tool.Tool {
	return tool.Define(texts, "extract_function", tool.Write, func(ctx context.Context, env *tool.Env, a extractFunctionArgs) (tool.Result, error) {
		return change(ctx, env, a.FilePath, func(rel string) (codebase.Change, string, error) {
			c, err := codeOf(env).Extract(ctx, rel, a.StartLine, a.EndLine, a.FunctionName)
			return c, "extracted " + a.FunctionName + " in " + rel, err
		}, "")
	})
}

// change makes a change of the checkout's files, of all or of none: who guards what is
// written is asked of each before the first is, and where one cannot be written those before
// it become what they were.
func change(ctx context.Context, env *tool.Env, file string, make func(rel string) (codebase.Change, string, error), about string) (tool.Result, error) {
	t, err := env.Files.Load(file)
	if err != nil {
		return tool.Result{}, err
	}
	if err := env.Files.MayWrite(ctx, t.Rel); err != nil {
		return tool.Result{}, err
	}
	c, did, err := make(t.Rel)
	if err != nil {
		return tool.Result{}, err
	}
	olds, refused, err := guarded(ctx, env, c)
	if err != nil || refused.Refused {
		return refused, err
	}
	if err := save(env, c, olds); err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintln(&b, did)
	for _, f := range c.Files {
		fmt.Fprint(&b, differs(f))
	}
	if len(c.Notes) > 0 {
		fmt.Fprintf(&b, "%s:\n%s\n", about, strings.Join(c.Notes, "\n"))
	}
	b.WriteString(strings.TrimPrefix(tool.Brought(ctx, env.Files, c.Files...), "\n"))
	res := tool.Wrote(t.Rel, b.String()+sure(c.Certainty))
	for _, f := range c.Files {
		if f.Path != t.Rel {
			res.AlsoWrote = append(res.AlsoWrote, f.Path)
		}
	}
	return res, nil
}

// guarded asks whether each file may be written, and gives them as they are. A file that is
// not the one that was read any more stops the change: what it is based on has gone.
func guarded(ctx context.Context, env *tool.Env, c codebase.Change) (olds []tool.TextFile, refused tool.Result, err error) {
	for _, f := range c.Files {
		old, err := env.Files.Load(f.Path)
		if err != nil {
			return nil, refused, err
		}
		if err := env.Files.MayWrite(ctx, old.Rel); err != nil {
			return nil, refused, err
		}
		switch {
		case string(old.Data) != string(f.Before) || old.Rel != f.Path:
			return nil, refused, agency.Errorf(agency.KindConflict, "%s changed meanwhile; nothing has been written, try again", f.Path)
		case len(f.After) > tool.MaxFile:
			return nil, refused, agency.Errorf(agency.KindInvalid, "%s would have %s, the most is %s", f.Path, tool.Size(int64(len(f.After))), tool.Size(tool.MaxFile))
		case env.Overwrites(string(f.Before), string(f.Before), string(f.After)):
			return nil, tool.Refusal("%s: where the file has a secret you were shown a mark in its place, which would overwrite it; edit around it with edit_file", f.Path), nil
		}
		olds = append(olds, old)
	}
	return olds, refused, nil
}

func save(env *tool.Env, c codebase.Change, olds []tool.TextFile) error {
	for i, f := range c.Files {
		err := env.Files.Save(f.Path, f.After, olds[i].Mode)
		if err == nil {
			continue
		}
		for k := range i {
			_ = env.Files.Save(c.Files[k].Path, olds[k].Data, olds[k].Mode) // the first error counts
		}
		return err
	}
	return nil
}

// maxLines is how many changed lines of a file an answer shows.
const maxLines = 12

// differs shows the lines of a file that a change made, with their numbers.
func differs(f codebase.FileChange) string {
	old := map[string]int{}
	for line := range strings.Lines(string(f.Before)) {
		old[line]++
	}
	var b strings.Builder
	n, shown, more := 0, 0, 0
	fmt.Fprintln(&b, tool.Printable(f.Path))
	for line := range strings.Lines(string(f.After)) {
		n++
		if old[line] > 0 {
			old[line]--
			continue
		}
		if shown == maxLines {
			more++
			continue
		}
		shown++
		if line = strings.TrimRight(line, "\r\n"); len(line) > 200 {
			line = tool.CutHead(line, 200)
		}
		fmt.Fprintf(&b, "%6d\t%s\n", n, line)
	}
	if more > 0 {
		fmt.Fprintf(&b, "[%s left out]\n", agency.Things(more, "more line is", "more lines are"))
	}
	return b.String()
}
