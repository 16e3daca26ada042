package workshop

import (
	"context"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/mode"
	"agency/internal/report"
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
	if head != run.Base() {
		in.Landed, err = run.User().LogChanges(ctx, head, run.Base())
	}
	return in, err
}
