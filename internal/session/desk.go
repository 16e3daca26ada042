package session

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/sandbox"
	"agency/internal/tool"
	"agency/internal/workspace"
)

// DeskOptions are what a desk is made of. Everything but the workspace is the
// run's own configuration.
type DeskOptions struct {
	Workspace *workspace.Workspace
	Checker   *check.Checker
	// LayerDir, Limits and Reads are those of an agent's command; the layers are
	// never those of a verification.
	LayerDir string
	Limits   sandbox.Limits
	Reads    []sandbox.Mount
	Hosts    []string // that commands may reach
	Commands check.Commands
	// Repo is the path at which the agent sees the workspace.
	Repo     string
	Run      agency.RunID
	Contract agency.ContractID
	Agent    agency.AgentID
	Fence    agency.Fence
	// Of, where set, is the tree that history compares with the base, whatever a
	// command leaves in the workspace: that of a claim under review.
	Of agency.OID
}

// NewDesk makes the desk of a workspace: commands and checks in the sandbox,
// history and trees by the host's git.
func NewDesk(o DeskOptions) (*Desk, error) {
	files, err := tool.OpenFiles(o.Workspace.Path(), o.Repo)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", o.Workspace.Name(), err)
	}
	files.SetGuard(o.Workspace.MayWrite)
	return &Desk{
		Files: files, Commands: shell{o}, Checks: checks{o}, History: history{o}, Tree: tree{o.Workspace},
		Recent: history{o}.recent,
	}, nil
}

// shell runs what the agent types.
type shell struct{ o DeskOptions }

func (s shell) Command(ctx context.Context, line string, timeout time.Duration) (tool.Output, error) {
	place, err := s.o.Workspace.Place()
	if err != nil {
		return tool.Output{}, err
	}
	limits := s.o.Limits
	if timeout > 0 {
		limits.Wall = timeout
	}
	tools, err := s.o.Checker.Tools(ctx, place)
	if err != nil {
		return tool.Output{}, err
	}
	res, err := s.o.Checker.Exec(ctx, sandbox.Spec{
		Place: place, Tools: tools, LayerDir: s.o.LayerDir, Reads: s.o.Reads, Hosts: s.o.Hosts,
		Argv: []string{"/bin/sh", "-c", line}, Limits: limits,
	})
	if err != nil {
		return tool.Output{}, err
	}
	out := tool.Output{ExitCode: res.ExitCode, Text: res.Output, Dropped: res.Dropped}
	if res.ExitCode != 0 {
		note, err := s.o.Checker.Withheld(place)
		if err != nil {
			return tool.Output{}, err
		}
		out.Text = []byte(withNote(string(out.Text), note))
	}
	switch res.Cause {
	case sandbox.CauseExited, sandbox.CauseSignalled, sandbox.CauseNotStarted:
	default:
		out.Cause = string(res.Cause)
	}
	return out, nil
}

// checks runs the repository's own commands on the workspace as it is.
type checks struct{ o DeskOptions }

func (c checks) Check(ctx context.Context, kind agency.CheckKind, target string) (agency.Receipt, error) {
	return c.check(ctx, kind, target, false)
}

func (c checks) Cover(ctx context.Context, target string) (agency.Receipt, error) {
	return c.check(ctx, agency.CheckTest, target, true)
}

func (c checks) Coverage(ctx context.Context) ([]check.FileCoverage, error) {
	files, _, err := c.o.Checker.LastCoverage(ctx, c.o.Run, c.o.Contract)
	return files, err
}

func (c checks) check(ctx context.Context, kind agency.CheckKind, target string, cover bool) (agency.Receipt, error) {
	cmd := c.o.Commands.Command(kind)
	if cmd.Line == "" && kind == agency.CheckTypecheck {
		cmd = c.o.Commands.Command(agency.CheckBuild)
	}
	if cmd.Line == "" {
		return agency.Receipt{}, agency.Errorf(agency.KindNotFound, "this run has no %s command; find out how the repository does it and use run_command", kind)
	}
	if target != "" {
		root, err := os.OpenRoot(c.o.Workspace.Path())
		if err != nil {
			return agency.Receipt{}, err
		}
		line, err := check.Target(cmd.Line, target, root.FS())
		_ = root.Close() // only read
		if err != nil {
			return agency.Receipt{}, err
		}
		cmd.Line = line
	}
	place, err := c.o.Workspace.Place()
	if err != nil {
		return agency.Receipt{}, err
	}
	tree, err := c.o.Workspace.Snapshot(ctx)
	if err != nil && agency.KindOf(err) != agency.KindInvalid {
		return agency.Receipt{}, err
	}
	r, err := c.o.Checker.Run(ctx, check.Subject{
		Place: place, Tree: tree, Run: c.o.Run, Contract: c.o.Contract, Agent: c.o.Agent,
		Stage: check.StageWork, Layer: check.LayerAgents, Fresh: true, Fence: c.o.Fence,
		Coverage: cover,
	}, cmd)
	if err != nil || r.ExitCode == 0 {
		return r, err
	}
	note, err := c.o.Checker.Withheld(place)
	r.Output = withNote(r.Output, note)
	return r, err
}

// withNote adds what the agent should know about a failed command.
func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n" + note + "\n"
}

// history compares with where the contract began.
type history struct{ o DeskOptions }

func (h history) Diff(ctx context.Context, p string) (string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return "", err
	}
	now, err := h.now(ctx)
	if err != nil {
		return "", err
	}
	opts := git.PatchOptions{Renames: true}
	if p != "" {
		opts.Paths = []string{p}
	}
	patch, cut, err := h.o.Workspace.Run().Dir().Patch(ctx, base, now, maxDiff, opts)
	text := string(patch)
	if cut {
		text += fmt.Sprintf("[cut: the diff has more than %d KB; narrow it by path, or use check_file_sizes and read_file]\n", maxDiff>>10)
	}
	return text, err
}

// maxDiff bounds the diff of a contract that is read, in bytes: a model is
// shown less of it.
const maxDiff = 1 << 20

// now is the tree that is compared with the base.
func (h history) now(ctx context.Context) (agency.OID, error) {
	if h.o.Of != "" {
		return h.o.Of, nil
	}
	return h.o.Workspace.Snapshot(ctx)
}

func (h history) Changed(ctx context.Context) ([]string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return nil, err
	}
	now, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := h.o.Workspace.Run().Changes(ctx, base, now)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = string(c.Status) + " " + c.Path
	}
	return out, nil
}

func (h history) Log(ctx context.Context, p string, n int) (string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return "", err
	}
	commits, err := h.o.Workspace.Run().Dir().Log(ctx, base, git.LogOptions{Limit: n, Path: p})
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

// recentCommits is how far back is looked for what changes together.
const recentCommits = 30

func (h history) recent(ctx context.Context) ([][]string, error) {
	base, err := h.o.Workspace.Start()
	if err != nil {
		return nil, err
	}
	dir := h.o.Workspace.Run().Dir()
	commits, err := dir.Log(ctx, base, git.LogOptions{Limit: recentCommits})
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, c := range commits {
		if len(c.Parents) != 1 {
			continue
		}
		changes, err := dir.Changes(ctx, c.Parents[0], c.ID)
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

// tree is the workspace as git trees.
type tree struct{ w *workspace.Workspace }

func (t tree) Snapshot(ctx context.Context) (agency.OID, error) { return t.w.Snapshot(ctx) }

func (t tree) Restore(ctx context.Context, id agency.OID) error { return t.w.Restore(ctx, id) }

func (t tree) Checkpoint(ctx context.Context, id, label string) (tool.Checkpoint, error) {
	c, err := t.w.CreateCheckpoint(ctx, id, label)
	return tool.Checkpoint{ID: c.ID, Label: c.Label, Tree: c.Tree}, err
}

func (t tree) Rollback(ctx context.Context, id string) (tool.Checkpoint, error) {
	c, err := t.w.Rollback(ctx, id)
	if agency.KindOf(err) == agency.KindNotFound {
		all, listErr := t.w.Checkpoints(ctx)
		if listErr != nil {
			return tool.Checkpoint{}, listErr
		}
		names := make([]string, 0, len(all))
		for _, c := range all {
			names = append(names, c.ID+" ("+c.Label+")")
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		err = agency.Errorf(agency.KindNotFound, "there is no checkpoint %q; there are: %s", id, strings.Join(names, ", "))
	}
	return tool.Checkpoint{ID: c.ID, Label: c.Label, Tree: c.Tree}, err
}
