package land

import (
	"context"
	"slices"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/workspace"
)

// changers are the contracts that landed after a commit and changed any of the
// paths, oldest first.
func (l *landing) changers(ctx context.Context, from, head agency.OID, paths []string) ([]agency.ContractID, error) {
	commits, err := l.run.Dir().Log(ctx, head, git.LogOptions{Not: []agency.OID{from}, FirstParent: true})
	if err != nil {
		return nil, err
	}
	var out []agency.ContractID
	for _, c := range slices.Backward(commits) {
		id := agency.ContractID(c.Trailer(trailerContract))
		if id == "" || c.Trailer(trailerRun) != string(l.spec.Run) || len(c.Parents) == 0 || slices.Contains(out, id) {
			continue
		}
		changes, err := l.run.Dir().Changes(ctx, c.Parents[0], c.ID)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changes, func(ch git.Change) bool { return slices.Contains(paths, ch.Path) }) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Holds refuses a commit that is not the landing of a contract with those of
// the others before it: KindInvalid names what is missing. It looks at git
// alone.
func Holds(ctx context.Context, run *workspace.Run, id agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error {
	commits, err := run.Dir().Log(ctx, commit, git.LogOptions{Not: []agency.OID{run.Base()}, FirstParent: true})
	if err != nil {
		return err
	}
	landed := map[agency.ContractID]bool{}
	for i, c := range commits {
		of := agency.ContractID(c.Trailer(trailerContract))
		if c.Trailer(trailerRun) != string(id) || of == "" {
			continue
		}
		if i == 0 && of != contract {
			break
		}
		landed[of] = true
	}
	for _, want := range append([]agency.ContractID{contract}, others...) {
		if !landed[want] {
			return agency.Errorf(agency.KindInvalid, "commit %s does not hold what contract %s landed", commit, want)
		}
	}
	return nil
}
