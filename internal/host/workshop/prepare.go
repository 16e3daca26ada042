package workshop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/sandbox"
	"agency/internal/workspace"
)

// mainContract is the one contract whose workspace is made before the run: the
// base is looked at in it.
const mainContract = "main"

// Prepare checks a request against the repository and makes the run's private
// git directory and first workspace. Nothing of the user's is touched.
func (s *Shop) Prepare(ctx context.Context, r api.RunRequest, c host.Copy) (host.Prepared, error) {
	p, err := s.prepare(ctx, r, c)
	if git.IsMissing(err) || errors.Is(err, fs.ErrNotExist) { // before the run begins it is the repository or its configuration that is to be mended
		err = agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", agency.MendOf(err))
	}
	if err != nil {
		if cerr := s.spaces.Forget(context.WithoutCancel(ctx), r.ID); cerr != nil {
			s.o.Log.Error("a run that was refused left files", "run", r.ID, "error", cerr)
		}
	}
	return p, err
}

func (s *Shop) prepare(ctx context.Context, r api.RunRequest, c host.Copy) (host.Prepared, error) {
	loc, err := git.Find(r.Repo)
	if err != nil {
		return host.Prepared{}, err
	}
	if loc.WorkTree != r.Repo {
		return host.Prepared{}, agency.Errorf(agency.KindInvalid, "%s is not the top folder of a working tree", r.Repo)
	}
	head, target, err := Start(ctx, s.o.Git, loc, r.Target)
	if err != nil {
		return host.Prepared{}, err
	}
	p := host.Prepared{Base: head, Target: target, Branch: c.Config.BranchPrefix + "/" + string(r.ID) + "/main"}
	if r.Plan != nil {
		if err := checkPlan(c.Config, *r.Plan); err != nil {
			return p, err
		}
	}
	if err := s.free(ctx, loc, p.Branch, c.Config.BranchPrefix); err != nil {
		return p, err
	}
	b, err := s.build(ctx, r.Repo, installDir(s.o.StateDir, r.ID), c)
	if err != nil {
		return p, err
	}
	defer func() { _ = b.runner.Close() }() // the run builds its own
	p.Tier = string(b.runner.Tier())
	info := workspace.RunInfo{Run: r.ID, Repo: loc, Base: head, StateDir: s.o.StateDir}
	if err := s.local(ctx, r, &info, &p); err != nil {
		return p, err
	}
	if err := s.base(ctx, info, b, &p); err != nil {
		return p, err
	}
	if err := s.kept(ctx, r.ID, &p); err != nil {
		return p, err
	}
	if c.Config.Commands.Test == "" && !c.Untested {
		p.Notes = append(p.Notes, "no test command is known: "+agency.CheckedBy(c.Commands().Kinds()...)+", and --yes does not merge it; set commands.test in agency.yaml, to \"\" where there are no tests")
	}
	if later := c.Config.NotYet(); len(later) > 0 {
		p.Notes = append(p.Notes, "mode full: not in this version, and the run does without: "+strings.Join(later, ", "))
	}
	p.Notes = append(p.Notes, tierNotes(b.runner)...)
	return p, nil
}

// tierNotes tell what a weaker tier leaves open.
func tierNotes(r *sandbox.Runner) []string {
	switch r.Tier() {
	case sandbox.TierNone:
		return []string{"the sandbox is off: commands of this run have the rights of your user"}
	case sandbox.TierLandlock:
		return []string{fmt.Sprintf("the sandbox is the landlock tier (%v); what it leaves open: %s; for the full tier: %s",
			r.Refused(), strings.Join(r.Gaps(), "; "), agency.MendOf(r.Refused()))}
	}
	return nil
}

// Start is the commit that a run starts from and the branch that it is for;
// an empty target is the branch that is checked out.
func Start(ctx context.Context, g *git.Host, loc git.Location, target string) (agency.OID, string, error) {
	user := g.At(loc)
	h, err := user.Head(ctx)
	switch {
	case err != nil:
		return "", "", err
	case h.Unborn():
		return "", "", agency.Errorf(agency.KindInvalid, "the repository %s has no commit yet", loc.WorkTree).
			WithMend("git add -A && git commit -m %q", "first commit")
	case target == "" && h.Detached():
		return "", "", agency.Errorf(agency.KindInvalid, "HEAD is detached: the run does not know which branch its work is for").
			WithMend("agency run --target BRANCH, or git switch BRANCH")
	case target == "":
		return h.Commit, strings.TrimPrefix(h.Ref, "refs/heads/"), nil
	}
	ref := "refs/heads/" + strings.TrimPrefix(target, "refs/heads/")
	if git.CheckRef(ref) != nil {
		return "", "", agency.Errorf(agency.KindInvalid, "--target %s: not the name of a branch", target).WithMend("git branch --list")
	}
	at, err := user.Ref(ctx, ref)
	if err == nil && at == "" {
		err = agency.Errorf(agency.KindInvalid, "--target %s: there is no such branch", target).WithMend("git branch --list")
	}
	return h.Commit, strings.TrimPrefix(ref, "refs/heads/"), err
}

// free refuses a branch name that the repository has no room for: a branch
// named like the prefix takes the place of its folder.
func (s *Shop) free(ctx context.Context, loc git.Location, branch, prefix string) error {
	by, err := s.o.Git.At(loc).Blocker(ctx, "refs/heads/"+branch)
	if err != nil || by == "" {
		return err
	}
	return agency.Errorf(agency.KindInvalid, "the branch %s is in the way: the run's branches are called %s/RUN/main", strings.TrimPrefix(by, "refs/heads/"), prefix).
		WithMend("set branch_prefix in agency.yaml to another word, or rename the branch")
}

// local looks at the user's uncommitted work: it is left out and said so, or
// becomes the base where the user asked for it.
func (s *Shop) local(ctx context.Context, r api.RunRequest, info *workspace.RunInfo, p *host.Prepared) error {
	in := workspace.Include{Tracked: r.IncludeDirty, Untracked: r.IncludeUntracked}
	var l workspace.Local
	var err error
	head := p.Base
	if in.Any() {
		var commit agency.OID
		if commit, l, err = s.spaces.Dirty(ctx, *info, head, in); err != nil {
			return err
		}
		if commit != head {
			p.Base, p.Dirty = commit, true
			info.Base, info.Dirty = commit, commit
			p.Notes = append(p.Notes, fmt.Sprintf("%s uncommitted and part of the run, as a commit of their own (%.10s): %s", agency.Things(len(l.Paths), "file is", "files are"), commit, some(l.Paths)))
		}
	} else if l, err = s.spaces.Local(ctx, *info, head); err != nil {
		return err
	}
	left := l.Left()
	if len(left) == 0 {
		return nil
	}
	how := "--include-dirty takes edits of tracked files along"
	switch {
	case r.IncludeDirty || len(l.Tracked) == 0:
		how = "--include-untracked PATH takes new files along"
	case len(l.Untracked) > 0:
		how += ", --include-untracked PATH new files"
	}
	p.Notes = append(p.Notes, fmt.Sprintf("%s uncommitted and not part of the run, which starts from %.10s: %s (%s)",
		agency.Things(len(left), "file is", "files are"), head, some(left), how))
	return nil
}

// base makes the first workspace and looks whether everything is there that
// its builds need.
func (s *Shop) base(ctx context.Context, info workspace.RunInfo, b *bench, p *host.Prepared) error {
	run, err := s.spaces.OpenRun(ctx, info)
	if err != nil {
		return err
	}
	w, err := run.Prepare(ctx, mainContract, info.Base, workspace.Work)
	if err != nil {
		return err
	}
	place, err := w.Place()
	if err != nil {
		return err
	}
	root, err := w.Root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	shared := place                     // with the folders of packages shown in it, whose mount points are made there
	place.ReadOnly = true
	spec := sandbox.Spec{Place: place, Tools: b.tools.Tools, LayerDir: s.agentLayer(), Reads: b.reads}
	if err := detect.MissingModules(ctx, b.runner, spec, root.FS(), b.copy.Commands()); err != nil {
		return err
	}
	base := detect.Base{
		Checker: b.checks, Root: root, Repo: b.repo, Commands: b.copy.Commands(), Env: b.copy.Getenv,
		// As a verification sees it: what an agent fetched for itself is not there.
		Subject: check.Subject{Place: shared, Run: info.Run, Stage: check.StageBase, Layer: check.LayerVerify},
		Online:  b.runner.Tier() == sandbox.TierNone || len(b.copy.Config.Sandbox.AllowHosts) > 0,
	}
	if err = detect.AbsentPackages(ctx, base); err == nil {
		var notes []string
		notes, err = detect.AbsentPrograms(ctx, base)
		p.Notes = append(append(p.Notes, notes...), detect.OtherVersions(root.FS(), b.tools.Version)...)
	}
	if _, absent := root.Stat("Cargo.toml"); err != nil || absent != nil {
		return err
	}
	return w.Restore(ctx, run.BaseTree()) // asking Cargo may have made a lockfile
}

// kept says what of the repository no agent may change, because a filter of
// git keeps it.
func (s *Shop) kept(ctx context.Context, id agency.RunID, p *host.Prepared) error {
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return err
	}
	k, err := run.Kept(ctx)
	if err == nil && k.Files > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s kept by a git filter (%s): agents see them as git stores them and cannot change them",
			agency.Things(k.Files, "file is", "files are"), strings.Join(k.Filters, ", ")))
	}
	return err
}

// some names a few of many paths.
func some(paths []string) string {
	const few = 5
	if len(paths) <= few {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:few], ", "), len(paths)-few)
}
