package workshop

import (
	"context"
	"errors"

	"agency/internal/agency"
	"agency/internal/backlog"
	"agency/internal/mode"
	"agency/internal/workspace"
)

var _ mode.Backlog = (*Shop)(nil)

// MarkDone makes a checkout of a commit whose backlog says that a feature is
// done, and gives its tree.
func (s *Shop) MarkDone(ctx context.Context, id agency.RunID, name string, at agency.OID, f agency.FeatureID, e agency.FeatureEvidence) (tree agency.OID, err error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return "", err
	}
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	w, err := run.Prepare(ctx, name, at, workspace.Work)
	if err != nil {
		return "", err
	}
	whole, err := run.Dir().ResolveTree(ctx, at)
	if err != nil {
		return "", err
	}
	if err := w.Restore(ctx, whole); err != nil { // of a try that died in between
		return "", err
	}
	root, err := w.Root()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	steps := b.copy.Config.Contracts.MaxVerificationSteps
	list, err := backlog.Read(root, steps)
	if err != nil {
		return "", err
	}
	data, err := list.Done(f, e, steps)
	if err != nil {
		return "", err
	}
	if err := w.MayWrite(ctx, backlog.Name); err != nil {
		return "", err
	}
	if err := backlog.Write(root, data); err != nil {
		return "", err
	}
	return w.Snapshot(ctx)
}
