package land

import (
	"context"
	"errors"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/store"
)

// follow looks once more when a ref has moved. A checkout of it that a person
// made in the moment of the move, by a switch, a new worktree or a new branch,
// has files and index of another commit than its HEAD says, which git would show
// as a staged reversal: it is brought along. Where local edits are in the way
// the ref goes back instead, and the refusal says so.
func (u checkouts) follow(ctx context.Context, in intent) error {
	ctx = context.WithoutCancel(ctx)
	err := u.updateCheckouts(ctx, in)
	if err == nil {
		return nil
	}
	if !errors.As(err, new(*refusalError)) {
		return stopped(in, err)
	}
	if in.Checkout != nil { // the checkout that moved with the ref stays where it is
		text := "a second checkout of " + strings.TrimPrefix(in.Ref, "refs/heads/") + " could not be brought along: " + err.Error()
		return u.o.write(ctx, func(tx *store.Tx) error {
			return appendEvent(tx, agency.NewEvent(in.Run, agency.SeverityWarning, text, agency.Log{Text: text}), "")
		})
	}
	back := u.run.User().Refs().Update(ctx, in.Ref, in.Old, in.New, "agency: back, a checkout could not follow", identity(u.run))
	if back == nil {
		in.Old, in.New = in.New, in.Old
		back = u.updateCheckouts(ctx, in) // what was brought along before
	}
	if back != nil {
		return stopped(in, errors.Join(err, back))
	}
	return err
}

// updateCheckouts does so for each checkout that the move concerns: those of the ref,
// and the one that moved with it, wherever its HEAD is by now.
func (u checkouts) updateCheckouts(ctx context.Context, in intent) error {
	trees, err := u.run.User().Refs().Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range trees {
		if w.Gone || w.Bare {
			continue
		}
		mine := in.Checkout != nil && in.Checkout.Repo.WorkTree == w.Path
		if mine == (w.Branch == in.Ref) {
			continue // of another branch, or in place already
		}
		loc, err := git.Find(w.Path)
		if err != nil {
			continue //nolint:nilerr // it was removed since the list was made
		}
		if err := u.updateCheckout(ctx, loc, in); err != nil {
			return err
		}
	}
	return nil
}

// updateCheckout carries one checkout to the side of the move that its HEAD has, where
// its index has the other one. Anything between the two is the person's own.
func (u checkouts) updateCheckout(ctx context.Context, at git.Location, in intent) error {
	from, to, err := u.behind(ctx, at, in)
	if err != nil || from == "" {
		return err
	}
	tree, err := u.run.Dir().Refs().ResolveTree(ctx, to)
	if err != nil {
		return err
	}
	c := &checkout{Repo: at, Tree: tree}
	if err := lockIndex(ctx, c, in.Step); err != nil {
		return err
	}
	u.o.reached("merge.follow")
	err = func() error {
		if from, _, err = u.behind(ctx, at, in); err != nil || from == "" {
			return err
		}
		d, done, err := mirrorOf(ctx, u.run, at)
		if err != nil {
			return err
		}
		defer done()
		if c.From, err = u.prepare(ctx, d, intent{Old: from, Checkout: c}); err != nil {
			return err
		}
		if err := d.Files().Advance(ctx, c.From, c.Tree); err != nil {
			return overlapOr(err)
		}
		if err := c.renew(d); err != nil {
			return err
		}
		return u.o.install(c)
	}()
	return errors.Join(err, unlockIndex(c, in.Step))
}

// behind tells from which commit of a move to which a checkout is to be carried:
// "" where its HEAD and its index are of the same side, or of neither.
func (u checkouts) behind(ctx context.Context, at git.Location, in intent) (from, to agency.OID, err error) {
	head, err := u.user(at).Refs().Head(ctx)
	if err != nil {
		return "", "", err
	}
	switch head.Commit {
	case in.New:
		from, to = in.Old, in.New
	case in.Old:
		from, to = in.New, in.Old
	default:
		return "", "", nil
	}
	changes, err := u.run.Dir().Diff().Changes(ctx, from, to)
	if err != nil || len(changes) == 0 {
		return "", "", err
	}
	entries, err := u.entries(ctx, at)
	if err != nil {
		return "", "", err
	}
	for _, change := range changes {
		if !same(entries[change.Path], change.Old) {
			return "", "", nil
		}
	}
	return from, to, nil
}

// entries are those of a worktree's index.
func (u checkouts) entries(ctx context.Context, at git.Location) (map[string]git.Entry, error) {
	d, done, err := mirrorOf(ctx, u.run, at)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := d.Index().Entries(ctx)
	out := make(map[string]git.Entry, len(list))
	for _, e := range list {
		if e.Stage == 0 {
			out[e.Path] = e
		}
	}
	return out, err
}
