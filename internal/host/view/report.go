package view

import (
	"context"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
	"agency/internal/workspace"
)

// report is what a run came to. Where git cannot be asked, what only it knows
// is left out: looking works on a repository that is broken.
func (r *Reader) report(ctx context.Context, id agency.RunID) (doc *agency.Report, err error) {
	in := r.landed(ctx, id)
	err = r.read(ctx, func(q *store.Snapshot) error {
		got, err := report.Gather(q, id, in)
		doc = &got
		return err
	})
	if err != nil {
		return nil, err
	}
	doc.Shorten()
	run, err := r.Doc(ctx, id)
	doc.State, doc.Reason = run.State, run.Reason
	return doc, err
}

// landed are the landings of a run.
func (r *Reader) landed(ctx context.Context, id agency.RunID) (in report.Input) {
	var run agency.Run
	var loc git.Location
	err := r.read(ctx, func(q *store.Snapshot) (err error) {
		if run, err = registry.Run(q, id); err != nil {
			return err
		}
		if c, err := host.ReadRunConfig(q, id); err == nil {
			in.Shared = c.Config.SharedWrites
		}
		loc, err = workspace.Locate(q, run, r.o.Repo)
		return err
	})
	if err != nil {
		return in
	}
	h, err := r.o.Git(ctx)
	if err != nil {
		return in
	}
	user, private := h.At(loc), h.Open(filepath.Join(r.o.StateDir, "runs", string(run.ID), "git"))
	head, at, err := land.HeadOf(ctx, user, private, "refs/heads/"+run.Branch)
	if err != nil || head == "" {
		return in
	}
	if run.Dirty {
		if in.Local, err = report.LocalEdits(ctx, user, run.Base); err != nil {
			return in
		}
	}
	landed := []git.CommitChanges{}
	if head != run.Base {
		if landed, err = at.Diff().LogChanges(ctx, head, run.Base); err != nil {
			return in
		}
	}
	if in.Added, err = changeset.Added(ctx, user, run.Base, head); err != nil {
		return in
	}
	if tree, err := user.Refs().ResolveTree(ctx, run.Base); err == nil {
		in.Landed, in.BaseTree = landed, tree
	}
	return in
}
