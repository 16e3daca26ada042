package workshop

import (
	"context"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/mode"
	"agency/internal/report"
	"agency/internal/verify"
)

var _ mode.Books = (*Shop)(nil)

// Landings are the commits on a run's branch.
func (s *Shop) Landings(ctx context.Context, id agency.RunID) (report.Input, error) {
	b, err := s.bench(ctx, id)
	if err != nil {
		return report.Input{}, err
	}
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return report.Input{}, err
	}
	head, err := s.start(ctx, id)
	if err != nil {
		return report.Input{}, err
	}
	in := report.Input{Landed: []git.Landed{}, BaseTree: run.BaseTree(), Shared: b.copy.Config.SharedWrites}
	if run.Info().Dirty != "" {
		if in.Local, err = report.LocalEdits(ctx, run.Dir(), run.Base()); err != nil {
			return in, err
		}
	}
	if head == run.Base() {
		return in, nil
	}
	if in.Landed, err = run.User().LogChanges(ctx, head, run.Base()); err != nil {
		return in, err
	}
	in.Added, err = verify.Added(ctx, run.User(), run.Base(), head)
	return in, err
}
