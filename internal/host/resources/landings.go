package resources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agency/internal/acts"
	"agency/internal/agency"
	"agency/internal/backlog"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/effects"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/verify"
	"agency/internal/workspace"
)

var (
	_ effects.RunWork  = (*Landings)(nil)
	_ effects.Landings = (*Landings)(nil)
	_ effects.Backlog  = (*Landings)(nil)
)

// Landings knows what the landings of runs changed, for their gates and reports.
type Landings struct{ Runs *Runs }

// Landings are the commits on a run's branch.
func (l *Landings) Landings(ctx context.Context, id agency.RunID) (report.Input, error) {
	b, err := l.Runs.of(ctx, id)
	if err != nil {
		return report.Input{}, err
	}
	run, err := l.Runs.spaces.Run(ctx, id)
	if err != nil {
		return report.Input{}, err
	}
	head, err := l.Runs.head(ctx, id, "")
	if err != nil {
		return report.Input{}, err
	}
	in := report.Input{Landed: []git.CommitChanges{}, BaseTree: run.BaseTree(), Shared: b.kept().Config.SharedWrites}
	if run.Info().Dirty != "" {
		if in.Local, err = report.LocalEdits(ctx, run.Dir(), run.Base()); err != nil {
			return in, err
		}
	}
	if head == run.Base() {
		return in, nil
	}
	record, err := store.Get(ctx, l.Runs.o.DB, registry.Run, id)
	if err != nil {
		return in, err
	}
	if in.Landed, err = report.Landed(ctx, run.User(), record, head); err != nil {
		return in, err
	}
	in.Added, err = changeset.Added(ctx, run.User(), run.Base(), head)
	return in, err
}

// SandboxOff tells whether a run's commands have the rights of the user.
func (l *Landings) SandboxOff(ctx context.Context, id agency.RunID) (bool, error) {
	b, err := l.Runs.of(ctx, id)
	if err != nil {
		return false, err
	}
	return b.runner.Tier() == sandbox.TierNone, nil
}

// Signing tells with what the user's git signs commits.
func (l *Landings) Signing(ctx context.Context, id agency.RunID) (string, error) {
	run, err := l.Runs.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	signing, err := l.Runs.o.Git.Signing(ctx, run.Info().Repo)
	if err != nil || signing == nil {
		return "", err
	}
	return signing.String(), nil
}

// Landed refuses a commit that is not the landing of a contract on top of those
// of others.
func (l *Landings) Landed(ctx context.Context, id agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error {
	run, err := l.Runs.spaces.Run(ctx, id)
	if err != nil {
		return err
	}
	return land.Holds(ctx, run, id, commit, contract, others)
}

// mostAtGate bounds the files that a gate lists; what acts is named beside them,
// and agency diff --stat lists more.
const mostAtGate = 500

// Change is what differs between two commits or trees of a run.
func (l *Landings) Change(ctx context.Context, id agency.RunID, from, to agency.OID) (effects.Change, error) {
	run, err := l.Runs.spaces.Run(ctx, id)
	if err != nil {
		return effects.Change{}, err
	}
	stats, err := run.Dir().Diff().Stats(ctx, from, to)
	if err != nil {
		return effects.Change{}, fmt.Errorf("summary of the change: %w", err)
	}
	ours, err := apart(ctx, run, to)
	if err != nil {
		return effects.Change{}, err
	}
	found, err := acts.Find(ctx, run.Dir(), from, to, ours)
	return effects.Change{Stat: host.StatText(stats, mostAtGate), Acts: found}, err
}

// apart tells the work of a run from the edits of the user that it started
// from; nil where there are none. What differs from them is the run's.
func apart(ctx context.Context, run *workspace.Run, to agency.OID) (func(path string) bool, error) {
	if run.Info().Dirty == "" {
		return nil, nil
	}
	changes, err := run.Dir().Diff().Changes(ctx, run.Base(), to)
	if err != nil {
		return nil, fmt.Errorf("edits apart from the work: %w", err)
	}
	work := make(map[string]bool, len(changes))
	for _, c := range changes {
		work[c.Path] = true
	}
	return func(path string) bool { return work[path] }, nil
}

// MarkDone makes a checkout of a commit whose backlog says that a feature is
// done, and gives its tree.
func (l *Landings) MarkDone(ctx context.Context, id agency.RunID, name string, at agency.OID, f agency.FeatureID, e agency.FeatureEvidence) (tree agency.OID, err error) {
	b, err := l.Runs.of(ctx, id)
	if err != nil {
		return "", err
	}
	run, err := l.Runs.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	w, err := run.Prepare(ctx, name, at, workspace.Work)
	if err != nil {
		return "", err
	}
	whole, err := run.Dir().Refs().ResolveTree(ctx, at)
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
	steps := b.kept().Config.Contracts.MaxVerificationSteps
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

// LandingChecks verifies merged trees for the queue with the run's own commands.
type LandingChecks struct {
	Runs   *Runs
	Verify *verify.Verifier
}

// VerifyLanding runs the whole suite on a merged tree. No reasons: it passes.
func (l *LandingChecks) VerifyLanding(ctx context.Context, c land.Candidate) ([]string, error) {
	cmds, err := l.Runs.Commands(ctx, c.Run)
	if err != nil {
		return nil, err
	}
	v, err := l.Verify.VerifyTree(ctx, c.Step+"/verify", verify.Spec{
		Run: c.Run, Contract: c.Contract, Base: c.Head, Claim: c.Tree, Commands: cmds,
		Criteria: c.Criteria,
		Anew:     len(c.Structural) > 0,
	})
	switch {
	case err != nil || v.Pass:
		return nil, err
	case len(v.Reasons) == 0:
		return []string{"the merged tree fails its checks"}, nil
	}
	return v.Reasons, nil
}

// Took is how long the run's checks took when they last ran, each by itself.
func (l *LandingChecks) Took(ctx context.Context, run agency.RunID) (took time.Duration, err error) {
	cmds, err := l.Runs.Commands(ctx, run)
	if err != nil {
		return 0, err
	}
	var lines []string
	for _, k := range []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint, agency.CheckTest} {
		if line := cmds.Command(k).Line; line != "" {
			lines = append(lines, line)
		}
	}
	err = l.Runs.o.DB.Read(ctx, func(q *store.Snapshot) error {
		took, err = check.Lasted(q, run, lines)
		return err
	})
	return took, err
}
