package view

import (
	"maps"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// standing is what a list of runs shows of a contract.
type standing struct {
	id     agency.ContractID
	status agency.Status
	work   bool
}

func standingOf(c agency.Contract) standing { return standing{c.ID, c.Status, isWork(c)} }

// standingsOf are those of contracts.
func standingsOf(contracts []agency.Contract) []standing {
	out := make([]standing, len(contracts))
	for i := range contracts {
		out[i] = standingOf(contracts[i])
	}
	return out
}

// shareOf is how far a run is, 0 to 1: its contracts of work in the middle, each as far as
// it has come by p; of a run that has ended only what is complete counts. Whoever says how far
// a run is says this.
func shareOf(run agency.Run, contracts []standing, p *agency.Progress) float64 {
	sum, n := 0.0, 0
	for _, c := range contracts {
		switch {
		case !c.work:
			continue
		case c.status == agency.StatusComplete: // also where its events are gone
			sum++
		case !c.status.Final() && !run.State.Final():
			sum += p.Of(c.id)
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

// shares remember how the contracts of runs stand and how far those of runs that go on have
// come, so that looking again reads only what the events tell of that are new.
type shares struct {
	mu sync.Mutex
	of map[agency.RunID]*followed
}

// followed is a run's events up to one, folded, and its contracts as they stood then.
type followed struct {
	begun     time.Time // when the run was: another may come to have its name
	ended     bool      // how far it is does not depend on its events
	last      int64
	progress  agency.Progress
	contracts listed[standing]
}

// stand gives how the contracts of a run stand, and how far it is.
func (s *shares) stand(q store.Querier, run agency.Run) ([]standing, float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.of[run.ID]
	if f == nil || f.ended != run.State.Final() || !f.begun.Equal(run.CreatedAt) {
		f = &followed{ended: run.State.Final(), begun: run.CreatedAt, contracts: listed[standing]{as: standingOf}}
	}
	if s.of == nil {
		s.of = map[agency.RunID]*followed{}
	}
	delete(s.of, run.ID) // what cannot be read may be there in part
	if err := f.refresh(q, run.ID); err != nil {
		return nil, 0, err
	}
	s.of[run.ID] = f
	return slices.Clone(f.contracts.all), shareOf(run, f.contracts.all, &f.progress), nil
}

// only forgets all runs but these.
func (s *shares) only(runs []agency.Run) {
	there := make(map[agency.RunID]bool, len(runs))
	for _, r := range runs {
		there[r.ID] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.of, func(id agency.RunID, _ *followed) bool { return !there[id] })
}

// refresh takes in the events that came, and reads again what they tell of.
func (f *followed) refresh(q store.Querier, id agency.RunID) (err error) {
	if f.ended && f.last == 0 { // what was before this tells nothing that is not read now
		if f.last, err = event.Last(q, id); err != nil {
			return err
		}
	}
	changed, more := map[agency.ContractID]bool{}, true
	for more {
		evs, err := event.Since(q, f.last, event.Filter{Run: id}, page)
		if err != nil {
			return err
		}
		for _, ev := range evs {
			f.last, changed[ev.ContractID] = ev.ID, true
			if d, err := agency.DecodeDetail(ev); err == nil && !f.ended { // else of a newer version
				f.progress.Add(ev, d)
			}
		}
		more = len(evs) == page
	}
	return f.contracts.refresh(q, id, changed)
}
