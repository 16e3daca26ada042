package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/tool"
)

type readFileArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"First line to show, from 1."`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1"`
}

const (
	maxLines = 2000
	// maxBytes is where a read breaks off: whatever its last line is, the answer is not cut
	// again in its middle.
	maxBytes = tool.MaxResult - 2*maxLine
	// maxLine is how much of a line is shown; longer ones are generated.
	maxLine = 2000
)

func readFile() tool.Tool {
	return tool.Define(texts, "read_file", tool.Read, func(_ context.Context, env *tool.Env, a readFileArgs) (tool.Result, error) {
		if a.Offset < 0 || a.Limit < 0 {
			return tool.Refuse("offset and limit count lines from 1"), nil
		}
		t, err := tool.ReadFile(env.Files, a.Path)
		if err == nil && tool.Binary(t.Data) {
			return showPicture(a.Path, t.Data)
		}
		if err != nil {
			return tool.Result{}, err
		}
		if len(t.Data) == 0 {
			return tool.OK("(the file is empty)"), nil
		}
		return showLines(t.Data, env.Hide, max(1, a.Offset), a.Limit), nil
	})
}

// showPicture shows a picture, by what it holds and not by its name.
func showPicture(p string, data []byte) (tool.Result, error) {
	i, err := llm.ReadImage(p, data)
	switch {
	case errors.Is(err, llm.ErrNoImage):
		return tool.Fail("%s is a binary file of %s, and no picture", p, tool.Size(int64(len(data)))), nil
	case err != nil:
		return tool.Fail("%s is not shown: %v", p, err), nil
	}
	return tool.Result{Text: i.String(), Shows: []llm.Image{i}}, nil
}

// showLines numbers lines as "12\ttext" until the limit or the cap is
// reached, and says how to go on.
func showLines(data []byte, hide func(string) string, from, limit int) tool.Result {
	if limit == 0 || limit > maxLines {
		limit = maxLines
	}
	total := bytes.Count(data, []byte("\n"))
	if data[len(data)-1] != '\n' {
		total++
	}
	if from > total {
		return tool.Fail("offset %d is behind the end: the file has %s", from, agency.Things(total, "line", "lines"))
	}
	var b strings.Builder
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if n < from {
			continue
		}
		if n >= from+limit || b.Len() > maxBytes {
			fmt.Fprintf(&b, "[lines %d to %d of %d shown; go on with offset %d]\n", from, n-1, total, n)
			return tool.OK(b.String())
		}
		text := strings.ToValidUTF8(hide(strings.TrimRight(string(line), "\r\n")), "�") // which may be longer
		fmt.Fprintf(&b, "%d\t%s\n", n, clip(text, maxLine))
	}
	if from > 1 {
		fmt.Fprintf(&b, "[lines %d to %d of %d shown]\n", from, n, total)
	}
	return tool.OK(b.String())
}

// clip shortens a line and says so.
func clip(line string, most int) string {
	if len(line) <= most {
		return line
	}
	return tool.CutHead(line, most) + fmt.Sprintf(" [... %s more]", tool.Size(int64(len(line)-most)))
}
