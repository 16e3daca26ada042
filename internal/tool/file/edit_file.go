package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/codebase"
	"agency/internal/tool"
)

type editFileArgs struct {
	Path       string `json:"path"`
	OldText    string `json:"old_text"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

func editFile() tool.Tool {
	return tool.Define(texts, "edit_file", tool.Write, func(ctx context.Context, env *tool.Env, a editFileArgs) (tool.Result, error) {
		t, err := env.Files.Load(a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		if err := env.Files.MayWrite(ctx, t.Rel); err != nil {
			return tool.Result{}, err
		}
		e, err := applyEdit(string(t.Data), a.OldText, a.NewText, a.ReplaceAll)
		switch marked := strings.Contains(a.OldText, agency.Redacted); {
		case err != nil && marked:
			return notShown(a.Path), nil
		case err != nil:
			return tool.Fail("%s: %v", a.Path, err), nil
		case env.Overwrites(string(t.Data), a.OldText, a.NewText):
			return notOver(a.Path), nil
		}
		if len(e.content) > tool.MaxFile {
			return tool.Fail("%s would have %s, the most is %s", a.Path, tool.Size(int64(len(e.content))), tool.Size(tool.MaxFile)), nil
		}
		if err := env.Files.Save(t.Rel, []byte(e.content), t.Mode); err != nil {
			return tool.Result{}, err
		}
		return tool.Wrote(t.Rel, "edited "+t.Rel+e.where(a.NewText)+
			tool.Brought(ctx, env.Files, codebase.FileChange{Path: t.Rel, Before: t.Data, After: []byte(e.content)})), nil
	})
}

// edited is a file after an edit.
type edited struct {
	content string
	count   int
	line    int // of the first place
}

// where says on which lines the new text is, which is not shown again: its author has it
// in front of it, and would pay for it in each request that follows.
func (e edited) where(text string) string {
	switch last := e.line + countLines(text) - 1; {
	case e.count > 1:
		return fmt.Sprintf(", %d places, the first at line %d\n", e.count, e.line)
	case last > e.line:
		return fmt.Sprintf(", lines %d to %d\n", e.line, last)
	}
	return fmt.Sprintf(", line %d\n", e.line)
}

// applyEdit replaces text that must be there once, or everywhere with all. A
// file whose lines end in CR LF keeps them although a model writes LF.
func applyEdit(content, before, after string, all bool) (edited, error) {
	if before == "" {
		return edited{}, errors.New("old_text is empty; use write_file for a new file")
	}
	if before == after {
		return edited{}, errors.New("old_text and new_text are the same")
	}
	n := strings.Count(content, before)
	if n == 0 && crlf(content) && !strings.Contains(before, "\r") {
		before, after = toCRLF(before), toCRLF(after)
		n = strings.Count(content, before)
	} else if n > 0 && crlf(content) && !strings.Contains(after, "\r") {
		after = toCRLF(after)
	}
	switch {
	case n == 0:
		return edited{}, notFound(content, before)
	case n > 1 && !all:
		return edited{}, fmt.Errorf("old_text occurs %d times, at lines %s; add surrounding lines to make it unique, or set replace_all",
			n, places(content, before))
	}
	if before == after {
		return edited{}, errors.New("old_text and new_text are the same")
	}
	first := strings.Index(content, before)
	return edited{
		content: strings.ReplaceAll(content, before, after), count: n,
		line: 1 + strings.Count(content[:first], "\n"),
	}, nil
}

// crlf tells whether every line of the content ends in CR LF.
func crlf(content string) bool {
	n := strings.Count(content, "\n")
	return n > 0 && n == strings.Count(content, "\r\n")
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// places are the lines at which a text occurs, the first ten.
func places(content, s string) string {
	var out []string
	line, at := 1, 0
	for len(out) < 10 {
		i := strings.Index(content[at:], s)
		if i < 0 {
			return strings.Join(out, ", ")
		}
		line += strings.Count(content[at:at+i], "\n")
		out = append(out, fmt.Sprint(line))
		line += strings.Count(s, "\n")
		at += i + len(s)
	}
	return strings.Join(out, ", ") + ", ..."
}
