package session

import (
	"bytes"
	"context"

	"agency/internal/git"
	"agency/internal/tool"
)

// Sizes measures what differs from the contract's base.
func (h history) Sizes(ctx context.Context) ([]tool.FileSize, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return nil, err
	}
	now, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	dir := h.o.Workspace.Run().Dir()
	stats, err := dir.Stats(ctx, base, now)
	if err != nil {
		return nil, err
	}
	changes, err := h.o.Workspace.Run().Changes(ctx, base, now)
	if err != nil {
		return nil, err
	}
	made := map[string]git.Change{}
	for _, c := range changes {
		made[c.Path] = c
	}
	out := make([]tool.FileSize, len(stats))
	for i, s := range stats {
		out[i] = tool.FileSize{Path: s.Path, Added: s.Added, Deleted: s.Deleted, Binary: s.Binary, Gone: made[s.Path].Status == 'D'}
		c := made[s.Path]
		if out[i].Gone || c.New.Mode == git.ModeGitlink {
			continue
		}
		var size counter
		if err := dir.ContentTo(ctx, c.New.ID, &size); err != nil {
			return nil, err
		}
		out[i].Bytes, out[i].Lines = size.bytes, size.lines
		if size.open { // nothing ends the last line, which counts too
			out[i].Lines++
		}
	}
	return out, nil
}

// counter counts a text of any size.
type counter struct {
	bytes int64
	lines int
	open  bool
}

func (c *counter) Write(p []byte) (int, error) {
	c.bytes, c.lines = c.bytes+int64(len(p)), c.lines+bytes.Count(p, []byte("\n"))
	if len(p) > 0 {
		c.open = p[len(p)-1] != '\n'
	}
	return len(p), nil
}
