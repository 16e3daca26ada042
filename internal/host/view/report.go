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

// report is what a run came to; where it stands its own document says. Where git cannot be asked, what only it knows
// is left out: looking works on a repository that is broken.
func (r *Reader) report(ctx context.Context, id agency.RunID) (doc agency.Report, err error) {
	in := r.landed(ctx, id)
	err = r.read(ctx, func(q *store.Snapshot) error {
		doc, err = report.Gather(q, id, in)
		return err
	})
	if err != nil {
		return doc, err
	}
	doc.Shorten()
	return doc, nil
}

// landed are the landings of a run.
func (r *Reader) landed(ctx context.Context, id agency.RunID) (in report.Input) {
	if c, err := store.Get(ctx, r.o.DB, host.ReadRunConfig, id); err == nil {
		in.Shared = c.Config.SharedWrites
	}
	w, err := r.workOf(ctx, id)
	if err != nil || w.head == "" {
		return in
	}
	if w.run.Dirty {
		if in.Local, err = report.LocalEdits(ctx, w.user, w.run.Base); err != nil {
			return in
		}
	}
	landed := []git.CommitChanges{}
	if w.head != w.run.Base {
		if landed, err = w.at.Diff().LogChanges(ctx, w.head, w.run.Base); err != nil {
			return in
		}
	}
	if in.Added, err = changeset.Added(ctx, w.user, w.run.Base, w.head); err != nil {
		return in
	}
	if tree, err := w.user.Refs().ResolveTree(ctx, w.run.Base); err == nil {
		in.Landed, in.BaseTree = landed, tree
	}
	return in
}
