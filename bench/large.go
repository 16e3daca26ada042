package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/daemon"
	"agency/internal/registry"
	"agency/internal/schedule"
	"agency/internal/store"
)

const (
	largePlan   = 10_000
	largeSteps  = 1000 // that are timed
	largeBusy   = 7    // contracts that are at work all the time
	stepAim     = 20 * time.Millisecond
	loadAim     = 2 * time.Second
	residentAim = 300 << 20
)

// largeRow is a plan of ten thousand contracts: loading it from the store into
// a queue, a step of the executor (from the end of a contract's work to the
// beginning of the next one's, the journal's writes included), and what a
// process holds that executes it.
func largeRow() row {
	return row{figures: []string{"executor/load-10k", "executor/step-10k", "executor/resident-10k"}, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		r, err := b.again(ctx, "executor", peer.Job{Sessions: largePlan})
		if err != nil {
			return nil, err
		}
		var raw struct{ Load, P50, P99 time.Duration }
		if err := json.Unmarshal([]byte(r.Note), &raw); err != nil {
			return nil, err
		}
		return []figure{
			{"executor/load-10k", float64(raw.Load) / float64(loadAim), atMost(1), []string{fmt.Sprintf("%.3g s", raw.Load.Seconds())}},
			{"executor/step-10k", float64(raw.P99) / float64(stepAim), atMost(1), []string{
				fmt.Sprintf("p99 %.3g ms, p50 %.3g ms of %d steps", raw.P99.Seconds()*1e3, raw.P50.Seconds()*1e3, largeSteps),
			}},
			{"executor/resident-10k", float64(r.Resident) / residentAim, atMost(1), []string{fmt.Sprintf("%.1f MB", float64(r.Resident)/(1<<20))}},
		}, nil
	}}
}

// crowded is the plan: chains side by side, many on the same files, and some
// contracts that are at work all the time and hold up those that overlap.
func crowded(n int) []agency.Contract {
	plan := make([]agency.Contract, n)
	for i := range plan {
		c := &plan[i]
		*c = agency.Contract{
			ID: agency.ContractID(fmt.Sprint("c", i)), RunID: benchRun, AssignedRole: "scaffolder", Status: agency.StatusPending,
			Title: fmt.Sprint("Do part ", i), Description: "The part is done, and what worked goes on working.", RetryBudget: 3,
			AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "the part is done", Check: &agency.Check{Test: fmt.Sprint("TestPart", i)}}},
			Writes:             []string{fmt.Sprintf("part/f%d.go", i%500)},
		}
		switch {
		case i < largeBusy:
			c.Priority = 1
		case i >= 100+largeBusy:
			c.DependsOn = []agency.ContractID{agency.ContractID(fmt.Sprint("c", i-100))}
		}
	}
	return plan
}

// executorContender loads the plan and executes the beginning of it.
func executorContender(ctx context.Context, job peer.Job) (report peer.Report, err error) {
	daemon.TuneMemory() // as the host does
	var ends []time.Duration
	var last time.Time // when the last contract's work ended
	enough := make(chan struct{})
	plan := crowded(job.Sessions)
	busy := map[agency.ContractID]bool{}
	for _, c := range plan[:largeBusy] {
		busy[c.ID] = true
	}
	s, err := openSite(ctx, job.Dir, func(ctx context.Context, id agency.ContractID) error {
		if busy[id] {
			<-ctx.Done()
			return ctx.Err()
		}
		if !last.IsZero() {
			if ends = append(ends, time.Since(last)); len(ends) == largeSteps {
				close(enough)
				<-ctx.Done()
			}
		}
		last = time.Now()
		return nil
	})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.record(ctx, plan); err != nil {
		return report, err
	}
	plan = nil
	debug.FreeOSMemory()
	begun := time.Now()
	if err := s.db.Read(ctx, func(q *store.Snapshot) (err error) { plan, err = registry.Contracts(q, benchRun); return err }); err != nil {
		return report, err
	}
	schedule.NewQueue(plan, schedule.Limits{Parallel: largeBusy + 1})
	load := time.Since(begun)
	if err := s.until(ctx, plan, schedule.Limits{Parallel: largeBusy + 1}, enough); err != nil {
		return report, err
	}
	if report.Resident, err = resident(); err != nil {
		return report, err
	}
	slices.Sort(ends)
	note, err := json.Marshal(struct{ Load, P50, P99 time.Duration }{load, ends[len(ends)/2], ends[len(ends)*99/100]})
	report.Note = string(note)
	return report, err
}

// record puts the contracts of a plan into the store.
func (s *site) record(ctx context.Context, plan []agency.Contract) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if err := registry.CreateRun(tx, agency.Run{ID: benchRun, Goal: "all parts", Mode: agency.ModeMultiAgent, State: agency.StateRunning}, json.RawMessage(`{}`)); err != nil {
			return err
		}
		for _, c := range plan {
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
}
