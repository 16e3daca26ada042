package view

import (
	"context"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/report"
	"agency/internal/store"
)

// landed are the landings of a run; where its branch stands as before, those that were known.
// Where git cannot be asked, what only it knows is left out: looking works on a repository
// that is broken.
func (r *Reader) landed(ctx context.Context, id agency.RunID, known *landings) (in report.Input) {
	if c, err := store.Get(ctx, r.o.DB, host.ReadRunConfig, id); err == nil {
		in.Shared = c.Config.SharedWrites
	}
	w, err := r.workOf(ctx, id)
	if err != nil || w.head == "" {
		return in
	}
	if known.base == w.run.Base && known.head == w.head {
		return known.in
	}
	if w.run.Dirty {
		if in.Local, err = report.LocalEdits(ctx, w.user, w.run.Base); err != nil {
			return in
		}
	}
	landed := []git.CommitChanges{}
	if w.head != w.run.Base {
		if landed, err = report.Landed(ctx, w.at, w.run, w.head); err != nil {
			return in
		}
	}
	if in.Added, err = changeset.Added(ctx, w.user, w.run.Base, w.head); err != nil {
		return in
	}
	if tree, err := w.user.Refs().ResolveTree(ctx, w.run.Base); err == nil {
		in.Landed, in.BaseTree = landed, tree
		*known = landings{w.run.Base, w.head, in}
	}
	return in
}
