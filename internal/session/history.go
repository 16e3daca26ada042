package session

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/tool"
)

// history compares with where the contract began.
type history struct{ o ToolsetOptions }

func (h history) Diff(ctx context.Context, p string) (string, error) {
	base, now, err := h.span(ctx)
	if err != nil {
		return "", err
	}
	opts := git.PatchOptions{Renames: true}
	if p != "" {
		opts.Paths = []string{p}
	}
	patch, cut, err := h.o.Workspace.Run().Dir().Diff().Patch(ctx, base, now, maxDiff, opts)
	text := string(patch)
	if cut {
		text += fmt.Sprintf("[cut: the diff has more than %d KB; narrow it by path, or use check_file_sizes and read_file]\n", maxDiff>>10)
	}
	return text, err
}

// maxDiff bounds the diff of a contract that is read, in bytes: a model is
// shown less of it.
const maxDiff = 1 << 20

// span is the tree that is compared, and what it is compared with.
func (h history) span(ctx context.Context) (base, now agency.OID, err error) {
	if base, err = h.o.Workspace.Start(); err != nil || h.o.Of != "" {
		return base, h.o.Of, err
	}
	now, err = h.o.Workspace.Snapshot(ctx)
	return base, now, err
}

func (h history) Changed(ctx context.Context) ([]git.Change, error) {
	base, now, err := h.span(ctx)
	if err != nil {
		return nil, err
	}
	return h.o.Workspace.Run().Changes(ctx, base, now)
}

func (h history) Log(ctx context.Context, p string, n int) (string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return "", err
	}
	commits, err := h.o.Workspace.Run().Dir().Commits().Log(ctx, base, git.LogOptions{Limit: n, Path: p})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range commits {
		subject, body, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
		fmt.Fprintf(&b, "%.12s %s %s: %s\n", c.ID, c.Time.UTC().Format(time.DateOnly), c.Author.Name, subject)
		for line := range strings.Lines(strings.TrimSpace(body)) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return b.String(), nil
}

func (h history) listed(ctx context.Context) ([]string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return nil, err
	}
	entries, err := h.o.Workspace.Run().Dir().Objects().Tree(ctx, base)
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Path
	}
	return out, err
}

// recentCommits is how far back is looked for what changes together.
const recentCommits = 30

func (h history) recent(ctx context.Context) ([][]string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return nil, err
	}
	dir := h.o.Workspace.Run().Dir()
	commits, err := dir.Commits().Log(ctx, base, git.LogOptions{Limit: recentCommits})
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, c := range commits {
		if len(c.Parents) != 1 {
			continue
		}
		changes, err := dir.Diff().Changes(ctx, c.Parents[0], c.ID)
		if err != nil {
			continue // of a shallow clone, the last parent is not here
		}
		files := make([]string, len(changes))
		for i, ch := range changes {
			files[i] = ch.Path
		}
		out = append(out, files)
	}
	return out, nil
}

// Sizes measures what differs from the contract's base.
func (h history) Sizes(ctx context.Context) ([]tool.FileSize, error) {
	base, now, err := h.span(ctx)
	if err != nil {
		return nil, err
	}
	dir := h.o.Workspace.Run().Dir()
	stats, err := dir.Diff().Stats(ctx, base, now)
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
	blobs := dir.Objects().Reader()
	defer blobs.Close()
	out := make([]tool.FileSize, len(stats))
	for i, s := range stats {
		out[i] = tool.FileSize{Path: s.Path, Added: s.Added, Deleted: s.Deleted, Binary: s.Binary, Gone: made[s.Path].Status == 'D'}
		c := made[s.Path]
		if out[i].Gone || c.New.Mode == git.ModeGitlink {
			continue
		}
		var size counter
		if err := blobs.ContentTo(ctx, c.New.ID, &size); err != nil {
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
