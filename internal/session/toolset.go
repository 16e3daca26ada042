package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/roster"
	"agency/internal/sandbox"
	"agency/internal/sandbox/proxy"
	"agency/internal/tool"
	"agency/internal/tool/team"
	"agency/internal/tool/toolset"
	"agency/internal/workspace"
)

// Offered are the tools of a role in a phase of it, by what the checkout has.
func Offered(role roster.Role, phase roster.Phase, have roster.Present) []tool.Tool {
	return slices.DeleteFunc(toolset.For(role.ID), func(t tool.Tool) bool { return !role.OffersWith(phase, have, t.Name) })
}

// OfferedTo are the tools of an agent of a file.
func OfferedTo(p roster.Persona, have roster.Present) []tool.Tool {
	own := team.ForAgent(p)
	for _, t := range toolset.All() {
		if slices.Contains(p.Tools, t.Name) && !have.Lacks(t.Name) {
			own = append(own, t)
		}
	}
	return own
}

// Toolset is a workspace with what the tools of a session reach.
type Toolset struct {
	Files    *tool.Files
	Commands tool.Shell
	Checks   tool.Checks
	History  tool.History
	Tree     Tree
	// Recent are the files of recent commits before the contract, newest first.
	Recent func(context.Context) ([][]string, error)
	// Landed is what a commit of a landing changed, in at most so many bytes.
	Landed func(ctx context.Context, commit agency.OID, most int64) (string, error)
	// Listed are the files that the contract began with, the same for all of its attempts.
	Listed func(context.Context) ([]string, error)
	// Count is how many files the last snapshot has; less than none: unknown.
	Count func() int
	// Pages are those of the hosts that the run may reach; nil: there are none.
	Pages tool.Pages
	// Lacking is what there is no command for.
	Lacking roster.Lacking
	// Outside are the tools of servers that the session is offered beside its own, the same
	// for all of it; Ends lets them go, where it is set.
	Outside []tool.Tool
	Ends    func()
	// Background are the commands of the agent that go on; nil: it has none.
	Background *Background
	// Process runs a program that works for the session, such as a coding agent, as a
	// command of the agent is run. The folder at its HOME is the session's own in all
	// of its parts: what the program keeps there to go on by.
	Process func(context.Context, Process) (sandbox.Result, error)
}

// NoCheckout is the toolset of a session without any tool that works on a checkout: there
// is none.
func NoCheckout() *Toolset {
	return &Toolset{Tree: noTree{}, Listed: func(context.Context) ([]string, error) { return nil, nil }}
}

// Present is what a session has for which there are tools.
func (t *Toolset) Present(s Spec) roster.Present {
	have := roster.Present{Others: s.BesideOthers(), Lacking: t.Lacking, Pages: t.Pages != nil}
	if t.Files != nil {
		have.Backlog, have.Skills = t.Files.HasBacklog(), len(t.Files.Skills()) > 0
	}
	return have
}

// Close ends what goes on and lets the folder go.
func (t *Toolset) Close() {
	t.Background.close()
	if t.Ends != nil {
		t.Ends()
	}
	if t.Files != nil {
		t.Files.Servers.Close()
		_ = t.Files.Close() // only a folder's handle
	}
}

// noTree is the content of no workspace.
type noTree struct{}

func (noTree) Snapshot(context.Context) (agency.OID, error) { return "", nil }

func (noTree) Restore(context.Context, agency.OID) error { return nil }

func (noTree) Checkpoint(context.Context, string, string) (tool.Checkpoint, error) {
	return tool.Checkpoint{}, agency.Errorf(agency.KindNotFound, "there is no checkout")
}

func (noTree) Rollback(context.Context, string) (tool.Checkpoint, error) {
	return tool.Checkpoint{}, agency.Errorf(agency.KindNotFound, "there is no checkout")
}

// Process is a program in the sandbox of a checkout, from start to end.
type Process struct {
	Argv    []string
	Env     []string
	Stdin   []byte
	Stdout  io.Writer     // gets standard output as it comes (sandbox.Spec)
	Hosts   []string      // that it may reach beside those that the user has granted
	Timeout time.Duration // 0: that of a command

	both   io.Writer        // sandbox.Spec.Both
	beside *sandbox.Company // sandbox.Spec.Beside
	begun  func()           // sandbox.Spec.Begun
}

// changed are the paths of the files that differ from the contract's base.
func (t *Toolset) changed(ctx context.Context) ([]string, error) {
	changes, err := t.History.Changed(ctx)
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Path
	}
	return out, err
}

// Tree is a workspace's content as git trees.
type Tree interface {
	// Snapshot names the files as they are; ignored files do not count.
	// KindInvalid: the workspace holds what would make a claim worthless, such as
	// a nested .git, and the text says how to mend it.
	Snapshot(ctx context.Context) (agency.OID, error)
	// Restore makes the files those of a tree.
	Restore(ctx context.Context, tree agency.OID) error
	// Checkpoint names a snapshot; the same id again is the first one's.
	Checkpoint(ctx context.Context, id, label string) (tool.Checkpoint, error)
	// Rollback restores a checkpoint; KindNotFound names those that there are.
	Rollback(ctx context.Context, id string) (tool.Checkpoint, error)
}

// ToolsetOptions are what a toolset is made of. Everything but the workspace is the
// run's own configuration.
type ToolsetOptions struct {
	Workspace *workspace.Workspace
	Checker   *check.Checker
	// LayerDir, Limits and Reads are those of an agent's command; the layers are
	// never those of a verification.
	LayerDir string
	Limits   sandbox.Limits
	Reads    []sandbox.Mount
	Skills   string   // the user's skills, in a folder that the host has made; "": none
	Hosts    []string // that commands may reach
	Commands check.Commands
	// Repo is the path at which the agent sees the workspace.
	Repo  string
	Spec  Spec // of the session that has it
	Fence agency.Fence
	// Of, where set, is the tree that history compares with the base, whatever a
	// command leaves in the workspace: that of a claim under review.
	Of agency.OID
}

// NewToolset makes the toolset of a workspace: commands and checks in the sandbox,
// history and trees by the host's git.
func NewToolset(o ToolsetOptions) (*Toolset, error) {
	files, err := tool.OpenFiles(o.Workspace.Path(), o.Repo)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", o.Workspace.Name(), err)
	}
	files.SetGuard(o.Workspace.MayWrite)
	if o.Skills != "" {
		if err := files.SetSkills(o.Skills); err != nil {
			return nil, errors.Join(fmt.Errorf("skills: %w", err), files.Close())
		}
	}
	on := &Background{sh: shell{o, files, nil}}
	sh := shell{o, files, &on.company}
	return &Toolset{
		Files: files, Commands: sh, Background: on, Checks: checks{o}, History: history{o}, Tree: tree{o.Workspace},
		Recent: history{o}.recent, Landed: history{o}.landed, Listed: history{o}.listed, Count: o.Workspace.Files, Process: sh.process,
		Lacking: lacking(o.Commands, files.FS()), Pages: pagesOf(o.Hosts),
	}, nil
}

// maxPage is how much of a page is read, in bytes.
const maxPage = 4 << 20

// pages are asked for by the host, by the rules of the sandbox's way out.
type pages struct{ hosts []string }

func pagesOf(hosts []string) tool.Pages {
	if len(hosts) == 0 {
		return nil
	}
	return pages{hosts}
}

func (p pages) Page(ctx context.Context, url string) (tool.Page, error) {
	return proxy.New(p.hosts).Get(ctx, url, maxPage)
}

// lacking is what a run has no command for.
func lacking(c check.Commands, repo fs.FS) roster.Lacking {
	none := func(kind agency.CheckKind) bool { return c.Command(kind).Line == "" }
	return roster.Lacking{
		Tests: none(agency.CheckTest), Lint: none(agency.CheckLint), Types: none(agency.CheckTypecheck) && none(agency.CheckBuild),
		Coverage: !check.Covers(c.Command(agency.CheckTest).Line, repo),
	}
}

// shell runs what the agent types, and programs that work for it.
type shell struct {
	o      ToolsetOptions
	files  *tool.Files
	beside *sandbox.Company // that commands of the agent run beside
}

// subject is whose a command of the agent is.
func (s shell) subject() check.Subject {
	return check.Subject{Run: s.o.Spec.Run, Contract: s.o.Spec.Contract, Agent: s.o.Spec.Agent, Stage: check.StageWork, Fence: s.o.Fence}
}

// run runs a program in the sandbox; home, where set, is the host's folder that it
// has as its home. A line takes what it needs of what is scarce.
func (s shell) run(ctx context.Context, place sandbox.Place, home, line string, p Process) (sandbox.Result, error) {
	tools, err := s.o.Checker.Tools(ctx, place, s.o.Spec.Contract)
	if err != nil {
		return sandbox.Result{}, err
	}
	if s.o.Skills != "" {
		tools.ReadOnly = append(slices.Clone(tools.ReadOnly), sandbox.Mount{Host: s.o.Skills, At: s.o.Skills, Own: true})
	}
	spec := sandbox.Spec{
		Place: place, Tools: tools, LayerDir: s.o.LayerDir, Reads: s.o.Reads, Hosts: slices.Concat(s.o.Hosts, p.Hosts),
		Argv: p.Argv, Env: p.Env, Stdin: p.Stdin, Stdout: p.Stdout, Both: p.both, Limits: s.o.Limits,
		Beside: p.beside, Begun: p.begun,
	}
	if p.Timeout > 0 {
		spec.Limits.Wall = p.Timeout
	}
	if home != "" {
		spec.Out, spec.Env = home, append([]string{"HOME=" + home}, p.Env...)
	}
	var of check.Subject // a program that works for the session thinks, too, and holds nothing
	if line != "" {
		of = s.subject()
	}
	return s.o.Checker.Exec(ctx, of, commandOf(line), spec)
}

func (s shell) process(ctx context.Context, p Process) (sandbox.Result, error) {
	place, err := s.o.Workspace.Place()
	if err != nil {
		return sandbox.Result{}, err
	}
	// One beside the other: no session's lies in a folder that another may change.
	home := filepath.Join(s.o.Workspace.Run().Folder(), "home", strings.ReplaceAll(string(s.o.Spec.ID()), "/", "+"))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return sandbox.Result{}, err
	}
	return s.run(ctx, place, home, "", p)
}

func (s shell) Command(ctx context.Context, line string, timeout time.Duration) (tool.Output, error) {
	place, err := s.o.Workspace.Place()
	if err != nil {
		return tool.Output{}, err
	}
	shell, other := bash()
	spill := tool.NewSpill(s.files)
	res, err := s.run(ctx, place, "", line, Process{Argv: []string{shell, "-c", line}, Timeout: timeout, both: spill, beside: s.beside})
	long := spill.End(res.Output)
	if err != nil {
		return tool.Output{}, err
	}
	out := tool.Output{ExitCode: res.ExitCode, Text: res.Output, Dropped: res.Dropped, Shell: other, Long: long}
	if res.ExitCode != 0 {
		note, err := s.o.Checker.Withheld(ctx, place, s.o.Spec.Contract)
		if err != nil {
			return tool.Output{}, err
		}
		out.Text = []byte(withNote(string(out.Text), note))
	}
	out.Cause = causeOf(res)
	return out, nil
}

// causeOf is why a command ended where not by itself; else empty.
func causeOf(res sandbox.Result) string {
	switch res.Cause {
	case sandbox.CauseExited, sandbox.CauseSignalled, sandbox.CauseNotStarted:
		return ""
	}
	return string(res.Cause)
}

// bash is the shell that runs what an agent types: models write bash, whatever they are
// told. Where the machine has none it is sh, and other says so.
func bash() (shell, other string) {
	for _, p := range []string{"/bin/bash", "/usr/bin/bash"} { // commands see both where they are
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, ""
		}
	}
	return "/bin/sh", "sh"
}

// checks runs the repository's own commands on the workspace as it is.
type checks struct{ o ToolsetOptions }

func (c checks) Check(ctx context.Context, kind agency.CheckKind, target string) (agency.Receipt, error) {
	return c.check(ctx, kind, target, false)
}

func (c checks) Cover(ctx context.Context, target string) (agency.Receipt, error) {
	return c.check(ctx, agency.CheckTest, target, true)
}

func (c checks) Coverage(ctx context.Context) ([]check.FileCoverage, error) {
	files, _, err := c.o.Checker.LastCoverage(ctx, c.o.Spec.Run, c.o.Spec.Contract)
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
		line, err := check.Target(cmd.Line, target, bounded.FS(root))
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
		Place: place, Tree: tree, Run: c.o.Spec.Run, Contract: c.o.Spec.Contract, Agent: c.o.Spec.Agent,
		Stage: check.StageWork, Layer: check.LayerAgents, Fresh: true, Fence: c.o.Fence,
		Coverage: cover,
	}, cmd)
	if err != nil || r.ExitCode == 0 {
		return r, err
	}
	note, err := c.o.Checker.Withheld(ctx, place, c.o.Spec.Contract)
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
