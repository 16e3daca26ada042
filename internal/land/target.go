package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

// Target merges runs into the user's branches at their end.
type Target struct {
	o     Options
	locks keyed
}

// NewTarget makes a Target. It does no I/O.
func NewTarget(o Options) *Target { return &Target{o: o} }

// Merge merges the run's branch into the target as one commit with two
// parents. It is idempotent: what an earlier process began is first finished
// or undone, and a merge that is in the target already is found there. Errors
// of the kind transient are of the world outside.
func (t *Target) Merge(ctx context.Context, key agency.StepKey, spec MergeSpec) (MergeOutcome, error) {
	if err := t.Recover(ctx, spec.Run); err != nil {
		return mergeOutcomeOf(err)
	}
	defer t.locks.lock(spec.Target)()
	run, record, err := t.o.open(ctx, spec.Run)
	if err != nil {
		return MergeOutcome{}, err
	}
	if err := checkOwner(run.Info().Repo.CommonDir); err != nil {
		return mergeOutcomeOf(err)
	}
	m := &merge{checkouts: checkouts{o: t.o, run: run}, record: record, spec: spec, key: key, ref: branchRef(spec.Target)}
	if err := git.CheckRef(m.ref); err != nil {
		return MergeOutcome{}, err
	}
	out, err := m.perform(ctx)
	if err != nil {
		return mergeOutcomeOf(err)
	}
	return out, nil
}

// maxLooks bounds how often a merge looks anew at a repository that a person
// changes meanwhile.
const maxLooks = 5

// changedMeanwhile says what a person changed between the look at a checkout and its
// lock. Nothing has been touched, or all of it has been put back.
type changedMeanwhile struct{ what string }

func (s *changedMeanwhile) Error() string { return s.what }

// perform looks and acts on what it saw, or looks anew.
func (m *merge) perform(ctx context.Context) (out MergeOutcome, err error) {
	for range maxLooks {
		out, err = m.once(ctx)
		if !errors.As(err, new(*changedMeanwhile)) && !errors.As(err, new(*git.Moved)) && !errors.As(err, new(*git.Vanished)) {
			return out, err
		}
	}
	return out, refuse(CauseBusy, []string{m.spec.Target},
		fmt.Sprintf("somebody works in the repository: %s at each of %d looks", err, maxLooks), fmt.Sprintf("approve again when nobody switches branches or moves %s", m.spec.Target))
}

// refusalError is a refusal on its way up: nothing has been touched, or all of it has
// been put back.
type refusalError struct {
	refusal      Refusal
	reason, mend string
}

func (s *refusalError) Error() string { return s.reason }

// refuse says what is in the way and, in the second text, how to mend it.
func refuse(cause Cause, paths []string, reason, mend string) error {
	return &refusalError{refusal: Refusal{Cause: cause, Paths: paths}, reason: reason, mend: mend}
}

// checkOwner refuses to write, as root, what belongs to another user.
func checkOwner(paths ...string) error {
	if at, owner := beneath.Foreign(paths...); at != "" {
		return refuse(CauseOwner, []string{at}, fmt.Sprintf("%s belongs to %s, and this is root", at, owner), "run agency as that user")
	}
	return nil
}

// mergeOutcomeOf makes an outcome of a refusal and of a lock in the way; all other
// errors stay errors.
func mergeOutcomeOf(err error) (MergeOutcome, error) {
	if s := (*refusalError)(nil); errors.As(err, &s) {
		return MergeOutcome{Refused: &s.refusal, Reason: s.reason, Mend: s.mend}, nil
	}
	if l := (*git.Locked)(nil); errors.As(err, &l) {
		return MergeOutcome{
			Refused: &Refusal{Cause: CauseLocked, Paths: []string{l.Path}},
			Reason:  l.Error(), Mend: agency.MendOf(l),
		}, nil
	}
	return MergeOutcome{}, err
}

// merge is one final merge under way.
type merge struct {
	checkouts
	record agency.Run
	spec   MergeSpec
	key    agency.StepKey
	ref    string
}

func (m *merge) once(ctx context.Context) (MergeOutcome, error) {
	user := m.run.User()
	target, err := user.Refs().Get(ctx, m.ref)
	if err != nil {
		return MergeOutcome{}, err
	}
	if target == "" {
		return MergeOutcome{}, refuse(CauseMissing, []string{m.spec.Target},
			fmt.Sprintf("branch %s does not exist (any more)", m.spec.Target), fmt.Sprintf("git branch %s %s", m.spec.Target, m.run.Base()))
	}
	s, err := standingOf(ctx, user, m.run.Dir(), branchRef(m.record.Branch))
	if err == nil {
		s, err = publish(ctx, m.run, branchRef(m.record.Branch), s)
	}
	if err != nil {
		return MergeOutcome{}, err
	}
	head := s.head
	last, err := lastOn(ctx, m.o.DB, m.run, m.spec.Run, branchRef(m.record.Branch))
	if err != nil {
		return MergeOutcome{}, err
	}
	if m.spec.Head = cmp.Or(m.spec.Head, last); head == "" {
		return MergeOutcome{}, refuse(CauseUnborn, []string{m.record.Branch},
			fmt.Sprintf("the run's branch %s does not exist (any more)", m.record.Branch), fmt.Sprintf("git branch %s %s", m.record.Branch, last))
	}
	if merged, err := m.already(ctx, target, head); err != nil || merged != nil {
		return MergeOutcome{Merged: merged}, err
	}
	tree, err := m.tree(ctx, target, head)
	if err != nil {
		return MergeOutcome{}, err
	}
	if ok, err := m.verified(ctx, target, head, tree); err != nil || !ok {
		return m.refuseMoved(ctx, Moved{Target: target, Head: head, Tree: tree}, err)
	}
	if had, err := m.run.Dir().Refs().ResolveTree(ctx, target); err != nil || had == tree {
		return MergeOutcome{}, cmp.Or(err, refuse(CauseNothing, []string{m.spec.Target},
			fmt.Sprintf("%s holds all that the run has verified already: a merge would bring nothing", m.spec.Target),
			"approve with the note \"branch\" to keep the work on its branch, or cancel the run"))
	}
	commit, err := m.commit(ctx, tree, target, head)
	if err != nil {
		return MergeOutcome{}, err
	}
	return m.move(ctx, target, commit, tree)
}

// commit makes the merge commit, signed where the user signs commits: the
// configuration is read again here, so that a signer can be mended while the
// gate waits. Nothing has been touched when it fails.
func (m *merge) commit(ctx context.Context, tree, target, head agency.OID) (agency.OID, error) {
	d, parents := m.run.Dir(), []agency.OID{target, head}
	signing, err := d.Program().Signing(ctx, m.run.Info().Repo)
	if err != nil {
		return "", err
	}
	message, err := m.message(ctx)
	if err != nil {
		return "", err
	}
	if signing == nil {
		return d.Commits().Write(ctx, tree, parents, message, identity(m.run))
	}
	commit, err := d.Commits().WriteSigned(ctx, tree, parents, message, identity(m.run), *signing)
	if unsigned := (*git.Unsigned)(nil); errors.As(err, &unsigned) {
		return "", refuse(CauseSigner, nil, unsigned.Error(),
			"see that `git commit -S` works here without a terminal (an agent that holds the key), or git config commit.gpgSign false, and approve again")
	}
	return commit, err
}

// already finds the run's work in the target.
func (m *merge) already(ctx context.Context, target, head agency.OID) (*Merged, error) {
	for _, c := range []agency.OID{head, m.spec.Head} { // what was shown, too: a branch that was set back holds less
		if in, err := m.run.Dir().Commits().IsAncestor(ctx, c, target); err != nil || !in {
			return nil, err
		}
	}
	commits, err := m.run.Dir().Commits().Log(ctx, target, git.LogOptions{Not: []agency.OID{head}})
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		if len(c.Parents) == 2 && c.Trailer(trailerRun) == string(m.spec.Run) && c.Trailer(trailerContract) == "" {
			return &Merged{Commit: c.ID, Already: true}, m.done(ctx, c.ID)
		}
	}
	return &Merged{Commit: target, Already: true}, nil // merged by hand, or nothing to merge
}

// tree is what the merge of both would be.
func (m *merge) tree(ctx context.Context, target, head agency.OID) (agency.OID, error) {
	base, err := m.run.Dir().Commits().MergeBase(ctx, target, head)
	if err != nil {
		return "", err
	}
	if base == "" {
		return "", refuse(CauseUnrelated, []string{m.spec.Target},
			fmt.Sprintf("%s was rewritten from its first commit on, and shares none with the run any more", m.spec.Target),
			fmt.Sprintf("git switch %s && git diff --binary %s %s | git apply --index, or approve with the note \"branch\" to keep the work on its branch", m.spec.Target, m.run.Base(), m.record.Branch))
	}
	r, err := m.run.Dir().Commits().Merge(ctx, target, head)
	if err != nil {
		return "", err
	}
	if len(r.Conflicts) > 0 {
		paths := strings.Join(r.Conflicts, ", ")
		return "", refuse(CauseConflict, r.Conflicts, fmt.Sprintf("%s has changed where the run has, too: %s", m.spec.Target, paths),
			fmt.Sprintf("agency resume %s --rebase (an agent brings both together, verified as before), or git switch %s && git merge %s, or approve with the note \"branch\" to keep the work on its branch", m.spec.Run, m.spec.Target, m.record.Branch))
	}
	return r.Tree, nil
}

// verified tells whether this very merge has been verified: the target is
// where the run started, so that the branch's own tree is the merge, or where
// the caller verified it; and the branch is where it was shown.
func (m *merge) verified(ctx context.Context, target, head, tree agency.OID) (bool, error) {
	if v := m.spec.Verified; v != nil {
		return v.Target == target && v.Tree == tree && v.Head == head, nil
	}
	if m.spec.Head != head {
		return false, nil
	}
	start, err := m.start(ctx)
	return target == start || target == m.run.Base(), err
}

// start is where the target was when the run began: the base, or what the
// commit of the user's local edits stands on.
func (m *merge) start(ctx context.Context) (agency.OID, error) {
	start := m.run.Base()
	if m.run.Info().Dirty != start {
		return start, nil
	}
	commits, err := m.run.Dir().Commits().Log(ctx, start, git.LogOptions{Limit: 1})
	if err != nil || len(commits) == 0 || len(commits[0].Parents) == 0 {
		return start, err
	}
	return commits[0].Parents[0], nil
}

// refuseMoved says what is different from what was shown.
func (m *merge) refuseMoved(ctx context.Context, now Moved, err error) (MergeOutcome, error) {
	if err != nil {
		return MergeOutcome{}, err
	}
	shown := m.spec.Head
	from, to := agency.OID(""), shown
	if v := m.spec.Verified; v != nil {
		from, to, shown = v.Target, v.Tree, cmp.Or(v.Head, shown)
	} else if from, err = m.start(ctx); err != nil {
		return MergeOutcome{}, err
	}
	if shown != now.Head {
		now.ByHand = true
		now.Why, err = m.byHand(ctx, shown, now.Head)
		return MergeOutcome{Moved: &now, Mend: fmt.Sprintf("git switch %s && git merge %s", m.spec.Target, m.record.Branch)}, err
	}
	paths, err := differing(ctx, m.run.Dir(), from, to, now.Target, now.Tree)
	if len(paths) > 0 {
		now.Why = fmt.Sprintf("%s has moved on, and its merge with the run changes other files, or to another content, than was shown: %s", m.spec.Target, text.Few(paths, maxNamed))
	}
	return MergeOutcome{Moved: &now}, err
}

// byHand says how somebody moved the run's branch.
func (m *merge) byHand(ctx context.Context, from, to agency.OID) (string, error) {
	d := m.run.Dir()
	more, err := d.Commits().Log(ctx, to, git.LogOptions{Not: []agency.OID{from}})
	if err != nil {
		return "", err
	}
	fewer, err := d.Commits().Log(ctx, from, git.LogOptions{Not: []agency.OID{to}})
	if err != nil {
		return "", err
	}
	var lines []string
	for _, c := range more {
		title, _, _ := strings.Cut(plain(c.Message), "\n")
		lines = append(lines, fmt.Sprintf("with %.10s of %s, %s", c.ID, plain(c.Author.Name), title))
	}
	for _, c := range fewer {
		title, _, _ := strings.Cut(plain(c.Message), "\n")
		lines = append(lines, fmt.Sprintf("without %.10s, %s", c.ID, title))
	}
	return fmt.Sprintf("somebody moved %s from %.10s, which was shown, to %.10s: %s", m.record.Branch, from, to, text.Few(lines, maxNamed)), nil
}

// maxNamed bounds what a sentence lists.
const maxNamed = 10

// differing are the paths at which two changes, each from one commit or tree to
// another, do not come to the same.
func differing(ctx context.Context, d git.Dir, from, to, from2, to2 agency.OID) (paths []string, err error) {
	one, err := d.Diff().Changes(ctx, from, to)
	if err != nil {
		return nil, err
	}
	two, err := d.Diff().Changes(ctx, from2, to2)
	if err != nil {
		return nil, err
	}
	left := map[string]git.Entry{}
	for _, c := range one {
		left[c.Path] = c.New
	}
	for _, c := range two {
		if was, ok := left[c.Path]; !ok || !same(was, c.New) {
			paths = append(paths, c.Path)
		}
		delete(left, c.Path)
	}
	for p := range left {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// message has what the agents say of what is merged: a reader of the target's history alone
// has nothing else of it.
func (m *merge) message(ctx context.Context) (string, error) {
	var said string
	err := m.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		said, err = saidOf(q, m.record)
		return err
	})
	goal, _, _ := strings.Cut(strings.TrimSpace(plain(m.record.Goal)), "\n")
	return messageOf(fmt.Sprintf("Merge run %s: %s", m.spec.Run, goal), []string{prose(said)}, trailerRun, string(m.spec.Run)), err
}

// move is the effect. Where the target is checked out its files and index move
// with it.
func (m *merge) move(ctx context.Context, target, commit, tree agency.OID) (MergeOutcome, error) {
	loc, err := m.checkedOut(ctx)
	if err != nil {
		return MergeOutcome{}, err
	}
	in := intent{Step: m.key, Run: m.spec.Run, Ref: m.ref, Old: target, New: commit}
	if loc != nil {
		in.Checkout = &checkout{Repo: *loc, Tree: tree}
	}
	m.o.reached("merge.intent.before")
	if err := m.o.write(ctx, func(tx *store.Tx) error { return putIntent(tx, in) }); err != nil {
		return MergeOutcome{}, err
	}
	m.o.reached("merge.intent.after")
	err = m.run.Send(ctx, commit, target)
	if err == nil {
		m.o.reached("merge.objects")
		err = m.withOthersLocked(ctx, in, func() error {
			if loc == nil {
				return m.swap(ctx, m.run.User(), in)
			}
			return m.intoCheckout(ctx, in)
		})
	}
	if half := (*unfinished)(nil); errors.As(err, &half) {
		return MergeOutcome{}, err // the intent stays: the next call finishes it
	}
	if err != nil {
		after := freeRef(m.run.Info().Repo.CommonDir, in) // of a git that was stopped
		if after = errors.Join(after, m.o.forget(context.WithoutCancel(ctx), in.Step)); after != nil {
			return MergeOutcome{}, errors.Join(err, after)
		}
		return MergeOutcome{}, err
	}
	if err := m.done(ctx, commit); err != nil {
		return MergeOutcome{}, err
	}
	m.o.reached("merge.done")
	return MergeOutcome{Merged: &Merged{Commit: commit}}, nil
}

// forget drops the intent of a move that did not happen.
func (o Options) forget(ctx context.Context, step agency.StepKey) error {
	return o.write(ctx, func(tx *store.Tx) error { return dropIntent(tx, step) })
}

// swap moves the ref, in the git directory whose HEAD may name it, so that its
// reflog follows. A git that is ended here may have moved it: from here on a run that is
// cancelled is merged first.
func (m *merge) swap(ctx context.Context, d git.Dir, in intent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err := d.Refs().Update(ctx, in.Ref, in.New, in.Old, "agency: merge of run "+string(in.Run), identity(m.run))
	if err == nil {
		m.o.reached("merge.ref")
	}
	return err
}

// done closes the intent, records the commit and appends the event, once.
func (m *merge) done(ctx context.Context, commit agency.OID) error {
	return m.o.write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		first, err := closeIntent(tx, intent{Step: m.key, Run: m.spec.Run, Ref: m.ref, New: commit})
		if err != nil || !first {
			return err
		}
		return recordMerge(tx, m.spec.Run, m.ref, commit)
	})
}

func recordMerge(tx *store.Tx, run agency.RunID, ref string, commit agency.OID) error {
	branch := strings.TrimPrefix(ref, "refs/heads/")
	if err := registry.SetMerged(tx, run, commit); err != nil {
		return err
	}
	return appendEvent(tx, agency.NewEvent(run, agency.SeverityInfo, "merged into "+branch,
		agency.Merged{Commit: commit, Branch: branch}), "")
}

// checkedOut is the one worktree of the user that has the target checked out,
// nil where none has. A rebase or the like that is under way on the branch is
// a refusal.
func (m *merge) checkedOut(ctx context.Context) (*git.Location, error) {
	at, err := checkoutsOf(ctx, m.run, m.ref)
	if err != nil {
		return nil, err
	}
	if by := rebasing(m.run.Info().Repo.CommonDir, m.ref); by != "" {
		return nil, refuse(CauseBusy, []string{by}, fmt.Sprintf("%s is being rebased (%s)", m.spec.Target, by), "git rebase --continue or --abort")
	}
	switch len(at) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, refuse(CauseUnusual, at,
			fmt.Sprintf("%s is checked out more than once: %s", m.spec.Target, strings.Join(at, ", ")), "git switch another branch in all but one")
	}
	loc, err := git.Find(at[0])
	if err != nil {
		return nil, err
	}
	if loc.CommonDir != m.run.Info().Repo.CommonDir {
		return nil, refuse(CauseUnusual, at, at[0]+" belongs to another repository than git says", "")
	}
	if err := checkOwner(loc.WorkTree, loc.GitDir); err != nil {
		return nil, err
	}
	if busy := underWay(loc.GitDir); busy != "" {
		return nil, refuse(CauseBusy, []string{busy},
			fmt.Sprintf("%s is in the middle of something (%s)", m.spec.Target, busy), "git status in "+loc.WorkTree)
	}
	return &loc, nil
}
