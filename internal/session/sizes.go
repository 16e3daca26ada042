package session

import (
	"bytes"
	"context"

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
	gone := map[string]bool{}
	for _, c := range changes {
		gone[c.Path] = c.Status == 'D'
	}
	out := make([]tool.FileSize, len(stats))
	for i, s := range stats {
		out[i] = tool.FileSize{Path: s.Path, Added: s.Added, Deleted: s.Deleted, Binary: s.Binary, Gone: gone[s.Path]}
		if out[i].Gone {
			continue
		}
		text, err := dir.Blob(ctx, now, s.Path)
		if err != nil {
			return nil, err
		}
		out[i].Bytes, out[i].Lines = int64(len(text)), countLines(text)
	}
	return out, nil
}

// countLines counts the last line too where nothing ends it.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
