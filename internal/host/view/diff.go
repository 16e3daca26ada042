package view

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Diff is what a run would land, or has landed: its branch against its base;
// before anything landed, the agent's workspace as its last turn left it.
func (r *Reader) Diff(ctx context.Context, id agency.RunID) (api.DiffDoc, error) {
	w, err := r.workOf(ctx, id)
	if err != nil {
		return api.DiffDoc{}, err
	}
	doc := api.DiffDoc{Base: w.run.Base, Head: w.head, Branch: w.run.Branch}
	if w.run.Dirty {
		at := w.user
		if w.head == "" { // the edits are in the user's repository once there is the branch
			at = w.private
		}
		if doc.Local, err = local(ctx, at, w.run.Base); err != nil {
			return doc, err
		}
	}
	if w.head != "" && w.head != w.run.Base {
		if doc.Base, err = shownFrom(ctx, r.o.DB, w); err != nil {
			return doc, err
		}
		return fill(ctx, w.at, doc)
	}
	if doc.Head, err = r.workTree(ctx, id); err != nil || doc.Head == "" {
		doc.Head = w.run.Base
		return doc, err
	}
	return fill(ctx, w.private, doc)
}

// shownFrom is the commit from which a run's work counts: its base, or what its target had
// come to when both were brought together.
func shownFrom(ctx context.Context, db *store.DB, w work) (from agency.OID, err error) {
	gates, err := store.Get(ctx, db, registry.Gates, w.run.ID)
	if err != nil {
		return "", err
	}
	for _, g := range slices.Backward(gates) {
		if g.Kind != agency.GateMerge || g.Head != w.head || g.Base == "" || g.Base == w.run.Base {
			continue
		}
		if in, err := w.at.Commits().IsAncestor(ctx, g.Base, w.head); err == nil && in {
			return g.Base, nil
		}
	}
	return w.run.Base, nil
}

// work is where a run's work is: the head of its branch, empty where nothing has
// landed, and the git directory that holds it.
type work struct {
	run           agency.Run
	user, private git.Dir
	head          agency.OID
	at            git.Dir
}

func (r *Reader) workOf(ctx context.Context, id agency.RunID) (w work, err error) {
	var loc git.Location
	err = r.read(ctx, func(q *store.Snapshot) (err error) {
		if w.run, err = registry.Run(q, id); err != nil {
			return err
		}
		loc, err = workspace.Locate(q, w.run, r.o.Repo)
		return err
	})
	if err != nil {
		return w, err
	}
	h, err := r.o.Git(ctx)
	if err != nil {
		return w, err
	}
	w.user, w.private = h.At(loc), h.Open(filepath.Join(r.o.StateDir, "runs", string(id), "git"))
	w.head, w.at, err = land.HeadOf(ctx, w.user, w.private, "refs/heads/"+w.run.Branch)
	return w, err
}

// local are the user's own edits, which a run started from.
func local(ctx context.Context, d git.Dir, base agency.OID) (*api.LocalDiff, error) {
	edits, err := report.LocalEdits(ctx, d, base)
	if err != nil || edits == nil {
		return nil, err
	}
	doc, err := fill(ctx, d, api.DiffDoc{Base: edits.Parent, Head: base})
	return &api.LocalDiff{Parent: edits.Parent, Commit: base, Stat: doc.Stat, Patch: doc.Patch}, err
}

// workTree is the newest tree of an agent's workspace that something ran on.
func (r *Reader) workTree(ctx context.Context, id agency.RunID) (tree agency.OID, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		rs, err := check.Receipts(q, id)
		for _, receipt := range rs {
			if receipt.Tree != "" {
				tree = receipt.Tree
			}
		}
		return err
	})
	return tree, err
}

// maxPatch bounds the diff that is shown, in bytes; git itself has the rest.
const maxPatch = 2 << 20

// maxStat bounds the files that are listed.
const maxStat = 20_000

func fill(ctx context.Context, d git.Dir, doc api.DiffDoc) (api.DiffDoc, error) {
	patch, cut, err := d.Diff().Patch(ctx, doc.Base, doc.Head, maxPatch, git.PatchOptions{Renames: true})
	if err != nil {
		return doc, err
	}
	stats, err := d.Diff().Stats(ctx, doc.Base, doc.Head)
	if err != nil {
		return doc, err
	}
	if cut {
		patch = fmt.Appendf(patch, "[cut after %d MB; the rest: git diff %s %s]\n", maxPatch>>20, doc.Base, doc.Head)
	}
	doc.Patch, doc.Stat = string(patch), host.StatText(stats, maxStat)
	return doc, nil
}
