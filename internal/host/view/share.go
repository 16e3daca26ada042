package view

import (
	"sync"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// shareOf is how far a run is, 0 to 1: its contracts of work in the middle, each as far as
// it has come by p; of a run that has ended only what is complete counts. Whoever says how far
// a run is says this.
func shareOf(run agency.Run, contracts []agency.Contract, p *agency.Progress) float64 {
	sum, n := 0.0, 0
	for _, c := range contracts {
		switch {
		case !isWork(c):
			continue
		case c.Status == agency.StatusComplete: // also where its events are gone
			sum++
		case !c.Status.Final() && !run.State.Final():
			sum += p.Of(c.ID)
		}
		n++
	}
	sum /= float64(max(1, n))
	if run.State.Final() {
		return sum
	}
	return min(almost, sum)
}

// almost is how far a run is at most that goes on: what is left of it, verdicts on the whole
// and a person's word, is no contract of work.
const almost = 0.99

// shares remember how far the contracts of runs that go on have come, so that looking
// again reads only the events that are new.
type shares struct {
	mu sync.Mutex
	of map[agency.RunID]*followed
}

// followed is a run's events up to one, folded.
type followed struct {
	last     int64
	progress agency.Progress
}

// share is shareOf of a run.
func (s *shares) share(q store.Querier, run agency.Run, contracts []agency.Contract) (float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.State.Final() {
		delete(s.of, run.ID)
		return shareOf(run, contracts, nil), nil
	}
	if s.of == nil {
		s.of = map[agency.RunID]*followed{}
	}
	f := s.of[run.ID]
	if f == nil {
		f = &followed{}
		s.of[run.ID] = f
	}
	for {
		evs, err := event.Since(q, f.last, event.Filter{Run: run.ID}, page)
		if err != nil {
			return 0, err
		}
		for _, ev := range evs {
			f.last = ev.ID
			if d, err := agency.DecodeDetail(ev); err == nil { // else of a newer version
				f.progress.Add(ev, d)
			}
		}
		if len(evs) < page {
			return shareOf(run, contracts, &f.progress), nil
		}
	}
}
