package session

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/store"
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

func (h history) landed(ctx context.Context, commit agency.OID, most int64) (string, error) {
	dir := h.o.Workspace.Run().Dir()
	commits, err := dir.Commits().Log(ctx, commit, git.LogOptions{Limit: 1})
	if err != nil || len(commits) == 0 || len(commits[0].Parents) == 0 {
		return "", err
	}
	patch, _, err := dir.Diff().Patch(ctx, commits[0].Parents[0], commit, most, git.PatchOptions{Renames: true})
	return string(patch), err
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

// Edits are the files that a session changes beside others of its run.
type Edits struct {
	*Member
	// Shared are the globs of files whose change by several contracts is no
	// matter.
	Shared []string
	known  map[string]bool // to the board
}

// Find finds the files that a turn which left another tree has changed. A tool
// that writes files names them; what a command did is seen against where the
// contract began.
func (e *Edits) Find(ctx context.Context, tools *Toolset, calls []Call) (edited []string, err error) {
	if !e.concurrent() {
		return nil, nil
	}
	named := true
	for _, k := range calls {
		switch {
		case k.Result.Wrote != "":
			edited = append(append(edited, k.Result.Wrote), k.Result.AlsoWrote...)
		case k.Writes():
			named = false
		}
	}
	if named {
		return edited, nil
	}
	changed, err := tools.changed(ctx)
	if agency.KindOf(err) == agency.KindInvalid { // the model is told what is wrong with the files
		return edited, nil
	}
	return append(edited, changed...), err
}

// Note tells the board which files a settled turn has changed for the first
// time: others may have changed the same, or have declared it. What it returns
// is for Noted, after the commit.
func (e *Edits) Note(tx *store.Tx, turn int, edited []string) (files []string, err error) {
	if len(edited) == 0 {
		return nil, nil
	}
	files = slices.DeleteFunc(agency.Unshared(edited, e.Shared), func(f string) bool { return e.known[f] })
	if len(files) == 0 {
		return nil, nil
	}
	slices.Sort(files)
	files = slices.Compact(files)
	contract, err := registry.Contract(tx, e.Spec.Run, e.Spec.Contract)
	if err != nil {
		return nil, err
	}
	run, err := registry.Run(tx, e.Spec.Run)
	if err != nil {
		return nil, err
	}
	stray, err := e.stray(tx, contract, files)
	if err != nil {
		return nil, err
	}
	return files, board.NoteEdits(tx, board.Edits{
		Run: e.Spec.Run, Agent: e.Spec.Agent, Contract: e.Spec.Contract, Turn: fmt.Sprintf("%s/turn-%d", e.Spec.ID(), turn),
		Base: e.Spec.Onto, First: e.Spec.Onto == run.Base, Files: files, Parts: agency.Parts(contract, files), Stray: stray,
	})
}

// stray are the files that the contract does not declare, each with an agent at
// work whose contract does.
func (e *Edits) stray(tx *store.Tx, contract agency.Contract, files []string) (out []board.Stray, err error) {
	undeclared := agency.Undeclared(contract, files, e.Shared)
	if len(undeclared) == 0 {
		return nil, nil
	}
	live, err := board.Live(tx, contract.RunID)
	if err != nil {
		return nil, err
	}
	owner := map[string]agency.AgentID{}
	for _, a := range live {
		if a.Contract == contract.ID || a.Contract == "" {
			continue
		}
		other, err := registry.Contract(tx, contract.RunID, a.Contract)
		if agency.KindOf(err) == agency.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range undeclared {
			if _, _, meets := agency.Overlap(other.WriteSet(), []string{f}, nil); meets && owner[f] == "" && a.Role == other.AssignedRole {
				owner[f] = a.ID
			}
		}
	}
	for _, f := range undeclared {
		out = append(out, board.Stray{File: f, Owner: owner[f]})
	}
	return out, nil
}

// Noted remembers what a commit has made known, so that a file is told of once.
func (e *Edits) Noted(files []string) {
	if len(files) > 0 && e.known == nil {
		e.known = map[string]bool{}
	}
	for _, f := range files {
		e.known[f] = true
	}
}
