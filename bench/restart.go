package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/schedule"
)

const (
	restartDone  = 1000
	restartNotes = 12
	restartAim   = time.Second
)

// restartRow starts a run again of which a thousand contracts are done: from
// the opening of its store to the next action, against a second.
func restartRow() row {
	return row{figures: []string{"executor/restart-1k"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		dir, err := b.folder()
		if err != nil {
			return nil, err
		}
		plan := make([]agency.Contract, restartDone+1)
		for i := range plan {
			plan[i] = agency.Contract{ID: agency.ContractID(fmt.Sprint("c", i)), Title: fmt.Sprint("Do part ", i), Writes: []string{fmt.Sprintf("f%d.go", i)}}
			if i == restartDone {
				for _, c := range plan[:i] {
					plan[i].DependsOn = append(plan[i].DependsOn, c.ID)
				}
			}
		}
		if _, err := restarted(ctx, dir, plan); err != nil { // it runs to the last contract
			return nil, err
		}
		s, err := b.rounds(ctx, contender{"restart", func(ctx context.Context) (float64, error) {
			d, err := restarted(ctx, dir, plan)
			return float64(d), err
		}})
		if err != nil {
			return nil, err
		}
		raw := []string{s.raw("restart", 1e6, "ms"), fmt.Sprintf("%d contracts of %d steps", restartDone, restartNotes+1)}
		return []figure{{"executor/restart-1k", median(s["restart"]) / float64(restartAim), atMost(1), raw}}, nil
	}}
}

// restarted is the time from opening the store to the work on the last
// contract, which does not end.
func restarted(ctx context.Context, dir string, plan []agency.Contract) (d time.Duration, err error) {
	begun := time.Now()
	reached := make(chan struct{})
	last := plan[len(plan)-1].ID
	s, err := openSite(ctx, dir, func(ctx context.Context, id agency.ContractID) error {
		if id != last {
			return nil
		}
		d = time.Since(begun)
		close(reached)
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	s.notes = restartNotes
	err = s.until(ctx, plan, schedule.Limits{Parallel: 64}, reached)
	return d, errors.Join(err, s.close())
}
