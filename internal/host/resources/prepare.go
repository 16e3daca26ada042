package resources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/llm"
	"agency/internal/llm/catalog"
	"agency/internal/sandbox"
	"agency/internal/text"
	"agency/internal/workspace"
)

// fewPaths is how many paths a note names.
const fewPaths = 5

// Preparer checks requests and makes what runs begin with.
type Preparer struct {
	Runs  *Runs
	Known *catalog.Catalog // of models
}

var _ host.Preparer = (*Preparer)(nil)

// Prepare checks a request against the repository and makes the run's private
// git directory and first workspace. Nothing of the user's is touched.
func (pr *Preparer) Prepare(ctx context.Context, r api.RunRequest, c host.RunConfig) (host.Prepared, error) {
	p, err := pr.prepare(ctx, r, c)
	if git.IsMissing(err) || errors.Is(err, fs.ErrNotExist) { // before the run begins it is the repository or its configuration that is to be mended
		err = agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", agency.MendOf(err))
	}
	if err != nil {
		if cerr := pr.Runs.spaces.Forget(context.WithoutCancel(ctx), r.ID); cerr != nil {
			pr.Runs.o.Log.Error("a run that was refused left files", "run", r.ID, "error", cerr)
		}
	}
	return p, err
}

func (pr *Preparer) prepare(ctx context.Context, r api.RunRequest, c host.RunConfig) (host.Prepared, error) {
	loc, err := git.Find(r.Repo)
	if err != nil {
		return host.Prepared{}, err
	}
	if loc.WorkTree != r.Repo {
		return host.Prepared{}, agency.Errorf(agency.KindInvalid, "%s is not the top folder of a working tree", r.Repo)
	}
	head, target, err := Start(ctx, pr.Runs.o.Git, loc, r.Target)
	if err != nil {
		return host.Prepared{}, err
	}
	if r.Follows != nil {
		if head, err = pr.follows(ctx, loc, *r.Follows, target); err != nil {
			return host.Prepared{}, err
		}
	}
	images, err := pr.images(r, c)
	if err != nil {
		return host.Prepared{}, err
	}
	p := host.Prepared{Images: images, Base: head, Target: target, Branch: c.Config.BranchPrefix + "/" + string(r.ID) + "/main"}
	if r.Plan != nil {
		if err := checkPlan(c.Config, *r.Plan, nil); err != nil {
			return p, err
		}
	}
	if err := pr.free(ctx, loc, p.Branch, c.Config.BranchPrefix); err != nil {
		return p, err
	}
	b, err := pr.Runs.build(ctx, r.Repo, c)
	if err != nil {
		return p, err
	}
	defer func() { _ = b.runner.Close() }() // the run builds its own
	p.Tier = string(b.runner.Tier())
	info := workspace.RunInfo{Run: r.ID, Repo: loc, Base: head, StateDir: pr.Runs.o.StateDir}
	if f := r.Follows; f != nil && f.Base != "" {
		if f.Dirty {
			p.Dirty, info.Dirty = true, head
		}
	} else if err := pr.local(ctx, r, &info, &p); err != nil {
		return p, err
	}
	if err := pr.base(ctx, info, b, &p); err != nil {
		return p, err
	}
	if err := errors.Join(pr.Runs.checkTalents(c.Config), pr.planOnBase(ctx, r, c)); err != nil {
		return p, err
	}
	if err := pr.kept(ctx, r.ID, &p); err != nil {
		return p, err
	}
	if c.Config.Commands.Test == "" && !c.Untested && r.Agent == "" {
		p.Notes = append(p.Notes, "no test command is known: "+agency.CheckedBy(c.Commands().Kinds()...)+", and --yes does not merge it; set commands.test in agency.yaml, to \"\" where there are no tests")
	}
	if note := host.Unpriced(pr.Known, c.Config); note != "" {
		p.Notes = append(p.Notes, note)
	}
	if later := c.Config.NotYet(); len(later) > 0 {
		p.Notes = append(p.Notes, "mode full: not in this version, and the run does without: "+strings.Join(later, ", "))
	}
	p.Notes = append(append(p.Notes, b.tools.Refused...), tierNotes(b.runner)...)
	return p, nil
}

// follows is the commit from which a run begins that begins where another one stands.
func (pr *Preparer) follows(ctx context.Context, loc git.Location, f agency.Follows, target string) (agency.OID, error) {
	user := pr.Runs.o.Git.At(loc)
	for _, id := range []agency.OID{f.Base, f.Commit} {
		if id == "" {
			continue
		}
		if _, err := user.Objects().Type(ctx, id); agency.KindOf(err) == agency.KindNotFound {
			return "", agency.Errorf(agency.KindConflict, "%.10s, which run %s left, is not in the repository any more: its branch was removed", id, f.Run).WithMend("git fsck --lost-found")
		} else if err != nil {
			return "", err
		}
	}
	if f.Base != "" {
		return f.Base, nil
	}
	at, err := user.Refs().Get(ctx, "refs/heads/"+target)
	if err == nil && at == "" {
		err = agency.Errorf(agency.KindConflict, "the branch %s, for which run %s was, does not exist any more", target, f.Run).WithMend("git branch %s COMMIT", target)
	}
	if err != nil || f.What != agency.FollowUndo {
		return at, err
	}
	if in, err := user.Commits().IsAncestor(ctx, f.Commit, at); err != nil || !in {
		return "", errors.Join(err, agency.Errorf(agency.KindConflict, "%.10s, by which run %s was merged, is not in %s any more", f.Commit, f.Run, target).WithMend("git log %s", target))
	}
	merge, err := user.Commits().Log(ctx, f.Commit, git.LogOptions{Limit: 1})
	if err == nil && (len(merge) == 0 || len(merge[0].Parents) != 2) {
		err = agency.Errorf(agency.KindConflict, "run %s was merged by hand: %.10s is no merge of it", f.Run, f.Commit).WithMend("git revert COMMIT, for each of its commits in %s", target)
	}
	return at, err
}

// tierNotes tell what a weaker tier leaves open.
func tierNotes(r *sandbox.Runner) []string {
	switch r.Tier() {
	case sandbox.TierNone:
		return []string{"the sandbox is off: commands of this run have the rights of your user"}
	case sandbox.TierFull:
		return r.Gaps()
	case sandbox.TierLandlock:
		return []string{fmt.Sprintf("the sandbox is the landlock tier (%v); what it leaves open: %s; for the full tier: %s",
			r.Refused(), strings.Join(r.Gaps(), "; "), agency.MendOf(r.Refused()))}
	}
	return nil
}

// Start is the commit that a run starts from and the branch that it is for;
// an empty target is the branch that is checked out.
func Start(ctx context.Context, g *git.Program, loc git.Location, target string) (agency.OID, string, error) {
	user := g.At(loc)
	h, err := user.Refs().Head(ctx)
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
	at, err := user.Refs().Get(ctx, ref)
	if err == nil && at == "" {
		err = agency.Errorf(agency.KindInvalid, "--target %s: there is no such branch", target).WithMend("git branch --list")
	}
	return h.Commit, strings.TrimPrefix(ref, "refs/heads/"), err
}

// free refuses a branch name that the repository has no room for: a branch
// named like the prefix takes the place of its folder.
func (pr *Preparer) free(ctx context.Context, loc git.Location, branch, prefix string) error {
	by, err := pr.Runs.o.Git.At(loc).Refs().Blocker(ctx, "refs/heads/"+branch)
	if err != nil || by == "" {
		return err
	}
	return agency.Errorf(agency.KindInvalid, "the branch %s is in the way: the run's branches are called %s/RUN/main", strings.TrimPrefix(by, "refs/heads/"), prefix).
		WithMend("set branch_prefix in agency.yaml to another word, or rename the branch")
}

// local looks at the user's uncommitted work: it is left out and said so, or
// becomes the base where the user asked for it.
func (pr *Preparer) local(ctx context.Context, r api.RunRequest, info *workspace.RunInfo, p *host.Prepared) error {
	in := workspace.Include{Tracked: r.IncludeDirty, Untracked: r.IncludeUntracked}
	var l workspace.Local
	var err error
	head := p.Base
	if in.Any() {
		var commit agency.OID
		if commit, l, err = pr.Runs.spaces.Dirty(ctx, *info, head, in); err != nil {
			return err
		}
		if commit != head {
			p.Base, p.Dirty = commit, true
			info.Base, info.Dirty = commit, commit
			p.Notes = append(p.Notes, fmt.Sprintf("%s uncommitted and part of the run, as a commit of their own (%.10s): %s", agency.Things(len(l.Paths), "file is", "files are"), commit, text.Few(l.Paths, fewPaths)))
		}
	} else if l, err = pr.Runs.spaces.Local(ctx, *info, head); err != nil {
		return err
	}
	// The settings hold from the working tree; that agents do not see the file is no news.
	left := slices.DeleteFunc(l.Left(), func(p string) bool { return p == config.RepoFile })
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
		agency.Things(len(left), "file is", "files are"), head, text.Few(left, fewPaths), how))
	return nil
}

// base makes the first workspace and looks whether everything is there that
// its builds need.
func (pr *Preparer) base(ctx context.Context, info workspace.RunInfo, b *resources, p *host.Prepared) error {
	run, err := pr.Runs.spaces.OpenRun(ctx, info)
	if err == nil {
		err = pr.Runs.equip(ctx, run, installDir(pr.Runs.o.StateDir, info.Run), b)
	}
	if err != nil {
		return err
	}
	// The one workspace that is made before the run: the base is looked at in it.
	w, err := run.Prepare(ctx, string(agency.MainContract), info.Base, workspace.Work)
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
	spec := sandbox.Spec{Place: place, Tools: b.tools.Tools, LayerDir: agentLayer(pr.Runs.o.StateDir), Reads: b.reads}
	if err := detect.MissingModules(ctx, b.runner, spec, bounded.FS(root), b.kept().Commands()); err != nil {
		return err
	}
	base := detect.Base{
		Checker: b.checks, Root: root, Repo: b.repo, Commands: b.kept().Commands(), Env: b.kept().Getenv,
		// As a verification sees it: what an agent fetched for itself is not there.
		Subject: check.Subject{Place: shared, Run: info.Run, Stage: check.StageBase, Layer: check.LayerVerify},
		Online:  b.runner.Tier() == sandbox.TierNone || len(b.kept().Config.Sandbox.AllowHosts) > 0,
	}
	if err = detect.AbsentPackages(ctx, base); err == nil {
		var notes []string
		notes, err = detect.AbsentPrograms(ctx, base)
		p.Notes = append(append(p.Notes, notes...), detect.OtherVersions(bounded.FS(root), b.tools.Version)...)
	}
	if err != nil || !detect.LeavesLock(bounded.FS(root)) {
		return err
	}
	return w.Restore(ctx, run.BaseTree())
}

// kept says what of the repository no agent may change, because a filter of
// git keeps it.
func (pr *Preparer) kept(ctx context.Context, id agency.RunID, p *host.Prepared) error {
	run, err := pr.Runs.spaces.Run(ctx, id)
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

// The most of a person's pictures: every conversation begins with them, and agents look at
// others, too.
const (
	maxGiven      = 8
	maxGivenBytes = llm.MaxImagesBytes / 2
)

// images are the pictures of a request as a run keeps them. They are refused where nobody
// would see them.
func (pr *Preparer) images(r api.RunRequest, c host.RunConfig) (out []llm.Image, err error) {
	if len(r.Images) == 0 {
		return nil, nil
	}
	if len(r.Images) > maxGiven {
		return nil, agency.Errorf(agency.KindInvalid, "--image: %d pictures, the most is %d", len(r.Images), maxGiven)
	}
	size := 0
	for n, given := range r.Images {
		i, err := llm.ReadImage(fmt.Sprintf("%d-%s", n+1, plainName(given.Name)), given.Data)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "--image %s: %w", given.Name, err)
		}
		if size += len(given.Data); size > maxGivenBytes {
			return nil, agency.Errorf(agency.KindInvalid, "--image %s: the pictures have more than %d bytes together", given.Name, maxGivenBytes)
		}
		out = append(out, i)
	}
	c.Config.Overseer.Model = "" // it is shown what agents do
	refs, err := c.Models()
	if err != nil || slices.ContainsFunc(refs, func(ref config.ModelRef) bool { return Sees(pr.Known, c.Config, ref) }) {
		return out, err
	}
	names := make([]string, len(refs))
	for n, ref := range refs {
		names[n] = ref.String()
	}
	return nil, agency.Errorf(agency.KindInvalid, "--image: no model of this run sees pictures: %s", strings.Join(names, ", ")).
		WithMend("name one that does under models: of agency.yaml, or, where one of these does, under sees:")
}

// plainName is the last part of a file's name, as a name in the checkouts of agents.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, filepath.Base(name))
	return name[max(0, len(name)-60):]
}
