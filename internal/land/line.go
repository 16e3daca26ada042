package land

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/store"
	"agency/internal/workspace"
)

// WorkstreamLine is the line on which the tasks of a workstream land that were planned
// for the nth time, from 1: what landed of a plan that failed is on none of the others.
func WorkstreamLine(id agency.ContractID, n int) string {
	return fmt.Sprintf("%s/%s/%d", agency.OnWorkstream, id, n)
}

// IntegrationLine is the line on which the workstreams of a domain come together.
func IntegrationLine(domain string) string { return string(agency.OnIntegration) + "/" + domain }

// linesBelow is where lines are, in the private git directory of a run.
const linesBelow = "refs/agency/lines/"

// lineRef is the full name of a line; a dot could end a part of it in ways that git has
// no room for.
func lineRef(line string) string { return linesBelow + strings.ReplaceAll(line, ".", "%2e") }

// LineHead is where a line of a run stands, "" where there is none.
func LineHead(ctx context.Context, run *workspace.Run, line string) (agency.OID, error) {
	return run.Dir().Refs().Get(ctx, lineRef(line))
}

// placeWords are what a ref is called by people: a level, and which of it.
func placeWords(ref string) (kind agency.LandingLevel, name string) {
	line, ok := strings.CutPrefix(strings.ReplaceAll(ref, "%2e", "."), linesBelow)
	if !ok {
		return agency.OnRun, strings.TrimPrefix(ref, "refs/heads/")
	}
	of, name, _ := strings.Cut(line, "/")
	if kind = agency.LandingLevel(of); kind == agency.OnIntegration {
		return kind, "the integration of " + name
	}
	id, n, _ := strings.Cut(name, "/")
	if n == "1" {
		return kind, "workstream " + id
	}
	return kind, fmt.Sprintf("workstream %s, planned anew (%s)", id, n)
}

// placeOf names the branch or line of a run: landings on one go one after the other,
// those on others beside them.
func placeOf(run agency.RunID, line string) string { return string(run) + "\n" + line }

// level is what work lands on: the run's branch, or a line below it.
type level interface {
	ref() string // full name
	// head is where it stands, "" where it is gone.
	head(ctx context.Context) (agency.OID, error)
	// gone says how to bring it back.
	gone(ctx context.Context) error
	// held is why the branch in the user's repository is not at the head that was
	// read last, for people; "" where it is.
	held(ctx context.Context) (string, error)
	// advance moves it from its head to a commit. It is false where it has moved.
	advance(ctx context.Context, tip *step, head agency.OID) (moved bool, err error)
}

func levelOf(o Options, run *workspace.Run, record agency.Run, line string) level {
	if line != "" {
		return &runLine{o, run, record.ID, lineRef(line)}
	}
	return &runBranch{o: o, run: run, record: record, name: branchRef(record.Branch)}
}

// runLine is a line of a run. Nobody but the queue moves it.
type runLine struct {
	o    Options
	run  *workspace.Run
	id   agency.RunID
	name string
}

func (l *runLine) ref() string { return l.name }

func (l *runLine) head(ctx context.Context) (agency.OID, error) {
	return l.run.Dir().Refs().Get(ctx, l.name)
}

func (l *runLine) held(context.Context) (string, error) { return "", nil }

func (l *runLine) gone(ctx context.Context) error {
	last, err := lastOn(ctx, l.o.DB, l.run, l.id, l.name)
	_, name := placeWords(l.name)
	return errors.Join(err, agency.Errorf(agency.KindTransient, "%s is gone from %s", name, l.run.Dir().GitDir).
		WithMend("git --git-dir %s update-ref %s %s", l.run.Dir().GitDir, l.name, last))
}

func (l *runLine) advance(ctx context.Context, tip *step, head agency.OID) (moved bool, err error) {
	l.o.reached("land.objects") // they are where the line is
	return swapped(l.run.Dir().Refs().Update(ctx, l.name, tip.commit, head, "agency: "+string(tip.key), identity(l.run)))
}

// swapped tells whether a compare-and-swap of a ref was done: somebody else's was where
// it was not.
func swapped(err error) (bool, error) {
	if errors.As(err, new(*git.Moved)) || errors.As(err, new(*git.Vanished)) {
		return false, nil
	}
	return err == nil, err
}

// beginLine makes a line at a commit of the level above, or brings it up to that where
// all that it has is there. It is idempotent.
func (q *Queue) beginLine(ctx context.Context, run *workspace.Run, spec BranchSpec) (Branch, error) {
	b := Branch{Ref: lineRef(spec.Line), Head: spec.Base}
	refs := run.Dir().Refs()
	got, err := refs.Get(ctx, b.Ref)
	if err != nil || got == spec.Base {
		return b, err
	}
	if got != "" {
		d := run.Dir().Commits()
		if on, err := d.IsAncestor(ctx, spec.Base, got); err != nil || on { // begun before, and something has landed
			b.Head = got
			return b, err
		}
		if in, err := d.IsAncestor(ctx, got, spec.Base); err != nil {
			return b, err
		} else if !in {
			_, name := placeWords(b.Ref)
			return b, agency.Errorf(agency.KindConflict, "%s holds what the level above it does not have, and cannot begin at %.10s", name, spec.Base)
		}
	}
	q.o.reached("line.before")
	err = refs.Update(ctx, b.Ref, spec.Base, got, "agency: begins", identity(run))
	q.o.reached("line.after")
	return b, err
}

// Move moves a line that no landing moves. It is idempotent.
func (q *Queue) Move(ctx context.Context, _ agency.StepKey, spec MoveSpec) (flow.None, error) {
	defer q.locks.lock(placeOf(spec.Run, spec.Line))()
	run, _, err := q.o.open(ctx, spec.Run)
	if err != nil {
		return flow.None{}, err
	}
	ref := lineRef(spec.Line)
	if at, err := run.Dir().Refs().Get(ctx, ref); err != nil || at == spec.To {
		return flow.None{}, err
	}
	return flow.None{}, run.Dir().Refs().Update(ctx, ref, spec.To, spec.From, "agency: moved after the level above", identity(run))
}

// runBranch is the run's branch, in the user's repository.
type runBranch struct {
	o      Options
	run    *workspace.Run
	record agency.Run
	name   string
	at     standing // as it was read last
}

func (b *runBranch) ref() string { return b.name }

// head is where the branch stands, brought up to what was held back of it.
func (b *runBranch) head(ctx context.Context) (head agency.OID, err error) {
	b.at, err = standingOf(ctx, b.run.User(), b.run.Dir(), b.name)
	if err == nil && b.at.head != "" {
		b.at, err = publish(ctx, b.run, b.name, b.at)
	}
	return b.at.head, err
}

func (b *runBranch) held(ctx context.Context) (string, error) {
	return held(ctx, b.run, b.name, b.record.Branch, b.at)
}

// gone names how to bring the branch back.
func (b *runBranch) gone(ctx context.Context) error {
	last, err := lastOn(ctx, b.o.DB, b.run, b.record.ID, b.name)
	return errors.Join(err, agency.Errorf(agency.KindTransient, "branch %s was deleted", b.record.Branch).WithMend("git branch %s %s", b.record.Branch, last))
}

// advance moves the run's branch from its head to a commit: in the user's
// repository, or, while the branch is checked out there, in the private git
// directory alone. It is false where it has moved.
func (b *runBranch) advance(ctx context.Context, tip *step, head agency.OID) (moved bool, err error) {
	if err := b.run.Send(ctx, tip.commit, head); err != nil {
		return false, err
	}
	b.o.reached("land.objects")
	s, err := standingOf(ctx, b.run.User(), b.run.Dir(), b.name)
	if err != nil || s.head != head {
		return false, err
	}
	busy, err := switching(ctx, b.run.User())
	if err != nil {
		return false, err
	}
	at, err := checkoutsOf(ctx, b.run, b.name)
	if err != nil {
		return false, err
	}
	if !s.held && !busy && len(at) == 0 {
		moved, err := swapped(b.run.User().Refs().Update(ctx, b.name, tip.commit, head, "agency: "+string(tip.key), identity(b.run)))
		if err != nil || !moved {
			return false, err
		}
		b.o.reached("land.moved")
		back, err := takenBack(ctx, b.run, b.name, head, tip.commit)
		if err != nil || !back {
			return err == nil, err
		}
		at, _ = checkoutsOf(ctx, b.run, b.name) // named only
	}
	old := agency.OID("")
	if s.held {
		old = head
	} else if stale, err := b.run.Dir().Refs().Get(ctx, HeldRef); err != nil {
		return false, err
	} else {
		old = stale
	}
	if err := b.run.Dir().Refs().Update(ctx, HeldRef, tip.commit, old, "agency: "+string(tip.key), identity(b.run)); err != nil {
		return false, err
	}
	if s.held {
		return true, nil
	}
	text := heldWords(b.record.Branch, s.user, at)
	return true, b.o.write(ctx, func(tx *store.Tx) error {
		return appendEvent(tx, agency.NewEvent(b.record.ID, agency.SeverityWarning, text, agency.Log{Text: text}), tip.spec.Contract)
	})
}

// origin is what a landing brings, and from where.
type origin struct {
	from   agency.OID // the commit from which its change counts
	second agency.OID // the head of its source, or the commit that it takes over, which becomes the second parent
	whole  bool       // it is the source as it stands
	merged agency.OID // its files on top of the head, with conflict marks where they conflict
}

// trace finds what a landing brings: the change of a workspace, or of the line that is
// its source since that left the level.
func (l *landing) trace(ctx context.Context, head agency.OID) (err error) {
	d := l.run.Dir()
	if l.spec.Source != "" {
		if l.second, err = d.Refs().Get(ctx, lineRef(l.spec.Source)); err != nil {
			return err
		}
		if l.second == "" {
			return (&runLine{l.o, l.run, l.spec.Run, lineRef(l.spec.Source)}).gone(ctx)
		}
		if l.whole = l.whole || l.spec.Tree == ""; l.whole {
			if l.spec.Tree, err = d.Refs().ResolveTree(ctx, l.second); err == nil {
				l.from, err = d.Commits().MergeBase(ctx, head, l.second)
			}
			return err
		}
	}
	if l.spec.Of != "" {
		l.second = l.spec.Of
	}
	w, err := l.run.Open(ctx, l.workspaceName(), workspace.Work)
	if err == nil {
		l.from, err = w.Start()
	}
	return err
}

// parents are those of the landing's commit on a head.
func (l *landing) parents(head agency.OID) []agency.OID {
	if l.second == "" {
		return []agency.OID{head}
	}
	return []agency.OID{head, l.second}
}

// apart is what a whole line leaves to who brings it together with a head that it could
// not land on; nil for a claim, whose owner does, and where there is nothing to begin from.
func (l *landing) apart(head agency.OID, out Outcome) *Apart {
	if !l.whole || l.merged == "" || out.Reason == "" {
		return nil
	}
	return &Apart{Head: head, From: l.from, Ours: l.spec.Tree, Merged: l.merged}
}

// mergeScratch is where a landing writes the index of a merge; those on other levels
// write theirs beside it.
func (l *landing) mergeScratch() string {
	return filepath.Join(l.run.Folder(), "index.landing-"+strings.ReplaceAll(strings.TrimPrefix(l.level.ref(), "refs/"), "/", "-"))
}
