// Package view reads what runs recorded: the documents of package api, from
// the store alone. The host serves it while it lives; without a host a command
// opens the store read-only and asks it itself, so that looking starts
// nothing and changes nothing.
package view

import (
	"context"
	"iter"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/decision"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/stream"
)

// Options are what a Reader reads from.
type Options struct {
	DB *store.DB
	// Events follows the log; nil where nobody writes to it.
	Events *event.Log
	// Stream is what models say now; nil where none do.
	Stream *stream.Hub
	// Live are the runs that a host holds now; nil: there is no host.
	Live *host.Live
	// Git makes the host's git, for diffs. It is made when it is needed.
	Git func(context.Context) (*git.Program, error)
	// Repo is the repository as whoever looks stands in it.
	Repo git.Location
	// StateDir holds the runs' private git directories.
	StateDir string
	// Price is what a model costs by a run's configuration and the catalogue; nil
	// where nobody knows.
	Price func(config.Config, config.ModelRef) *agency.Price
	// Staff is what the sessions of a role ask by a run's configuration; nil where
	// nobody knows.
	Staff func(config.Config, agency.RoleID, agency.Level) (agency.Staffing, error)
}

// Reader is the read model. It is safe for concurrent use.
type Reader struct {
	o      Options
	nobody bool // no host lives
	disk   usage
	shares shares
	looks  looks
}

var _ api.View = (*Reader)(nil)

// New makes a reader; it does no I/O.
func New(o Options) *Reader {
	r := &Reader{nobody: o.Live == nil}
	if o.Live == nil {
		o.Live = host.NewLive()
	}
	r.o = o
	return r
}

func (r *Reader) read(ctx context.Context, fn func(q *store.Snapshot) error) error {
	return r.o.DB.Read(ctx, fn)
}

// Runs lists all runs, oldest first.
func (r *Reader) Runs(ctx context.Context) (docs []api.RunDoc, err error) {
	docs = []api.RunDoc{}
	err = r.read(ctx, func(q *store.Snapshot) error {
		runs, err := registry.Runs(q)
		if err != nil {
			return err
		}
		r.shares.only(runs)
		r.looks.only(runs)
		followers := followersOf(runs)
		for _, run := range runs {
			d, err := r.doc(q, run)
			if err != nil {
				return err
			}
			d.FollowedBy = followers[run.ID]
			docs = append(docs, d)
		}
		return nil
	})
	return docs, err
}

// followersOf are the runs that begin where others stand, by these.
func followersOf(runs []agency.Run) map[agency.RunID][]api.Follower {
	out := map[agency.RunID][]api.Follower{}
	for _, r := range runs {
		if f := r.Follows; f != nil {
			out[f.Run] = append(out[f.Run], api.Follower{ID: r.ID, What: f.What, State: r.State, TakenBack: takenBackBy(runs, r.ID)})
		}
	}
	return out
}

func takenBackBy(runs []agency.Run, of agency.RunID) agency.RunID {
	if by := agency.UndoneBy(runs, of); by != nil {
		return by.ID
	}
	return ""
}

// Doc is one run as ps shows it.
func (r *Reader) Doc(ctx context.Context, id agency.RunID) (doc api.RunDoc, err error) {
	return store.Get(ctx, r.o.DB, func(q store.Querier, id agency.RunID) (doc api.RunDoc, err error) {
		run, err := registry.Run(q, id)
		if err != nil {
			return doc, err
		}
		return r.doc(q, run)
	}, id)
}

func (r *Reader) doc(q store.Querier, run agency.Run) (api.RunDoc, error) {
	spent, err := budget.Spent(q, run.ID)
	if err != nil {
		return api.RunDoc{}, err
	}
	contracts, share, err := r.stand(q, run)
	if err != nil {
		return api.RunDoc{}, err
	}
	return r.docWith(q, run, contracts, spent, share)
}

// stand gives how the contracts of a run stand, and how far it is. Of one that goes on what
// is found out for this is kept for whoever looks at it next, while there is room.
func (r *Reader) stand(q store.Querier, run agency.Run) ([]standing, float64, error) {
	if k := r.looks.room(run); k != nil && k.mu.TryLock() { // a list waits for nobody who looks at a run
		defer k.mu.Unlock()
		if contracts, share, err := k.stand(q, run); err == nil {
			return contracts, share, nil
		} // what a list does not need cannot be read
	}
	return r.shares.stand(q, run)
}

// docWith is doc of a run whose contracts and spending were read, and how far it is.
func (r *Reader) docWith(q store.Querier, run agency.Run, contracts []standing, spent budget.Total, share float64) (d api.RunDoc, err error) {
	d = api.RunDoc{
		ID: run.ID, Number: run.Number, Goal: run.Goal, Mode: run.Mode, Agent: run.Agent, Answer: run.Answer, MovedTo: run.MovedTo, State: run.State, Why: api.Why{Reason: run.Reason, Failure: run.Failure, Next: run.Next()}, Target: run.Target,
		Branch: run.Branch, Base: run.Base, Merged: run.Merged, Repo: run.Repo, Yes: run.Yes, Dry: run.Dry,
		CreatedAt: run.CreatedAt, FinishedAt: run.FinishedAt, Progress: share, Gates: []api.GateDoc{}, Live: r.o.Live.Has(run.ID), Follows: run.Follows,
	}
	if held := r.o.Live.Held(run.ID); held != nil {
		d.State, d.Why = agency.StateInterrupted, interrupted(run, agency.Failure{Kind: agency.FailedOutside, Cause: held.Error()}, held.Error()+"; "+agency.MendOf(held))
	}
	for _, c := range contracts {
		if !c.work {
			continue
		}
		if d.ContractsTotal++; c.status == agency.StatusComplete {
			d.ContractsDone++
		}
	}
	d.CostUSD, d.Tokens, d.Unpriced = spent.Money.Float(), spent.Tokens, spent.Unpriced
	if d.LastEvent, err = event.Last(q, run.ID); err != nil || run.State.Final() {
		return d, err
	}
	if d.Live {
		asked, err := budget.UnderWay(q, run.ID)
		if err != nil {
			return d, err
		}
		d.WaitsFor = awaited(asked, time.Now())
	}
	gates, err := registry.OpenGates(q, run.ID)
	for _, g := range gates {
		d.Gates = append(d.Gates, api.GateDoc{ID: g.ID, Kind: g.Kind, Summary: g.Summary, CreatedAt: g.CreatedAt})
	}
	if works := run.State == agency.StateRunning || run.State == agency.StatePlanning; r.nobody && (works || run.State == agency.StateWaiting && len(gates) == 0) {
		// Its host had no time to write it; the next one will.
		d.State, d.Why = agency.StateInterrupted, interrupted(run, host.Crashed(), host.CrashReason(run.ID))
	}
	return d, err
}

// interrupted is why a run stands still whose record does not say so yet.
func interrupted(run agency.Run, why agency.Failure, reason string) api.Why {
	run.State = agency.StateInterrupted
	return api.Why{Reason: reason, Failure: &why, Next: run.Next()}
}

// isWork tells the contracts of work from those by which a run plans, reports and keeps
// its backlog, which are no part of what was asked for.
func isWork(c agency.Contract) bool {
	return !roster.Leads(c.AssignedRole) && c.ID != agency.OverseerContract && c.ID != mode.BacklogContract
}

// mostOutcomes is how many contracts the success rates are of at most.
const mostOutcomes = 10_000

// Outcomes are what the latest contracts of all runs came to, the latest first.
func (r *Reader) Outcomes(ctx context.Context) ([]agency.Outcome, error) {
	all, err := store.Get(ctx, r.o.DB, registry.Outcomes, mostOutcomes)
	return orEmpty(all), err
}

// Decisions are what the agents of a run decided together and what is kept of all runs, by
// key; of an empty run only these.
func (r *Reader) Decisions(ctx context.Context, id agency.RunID) (all []agency.SharedDecision, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		if id != "" {
			if _, err := registry.Run(q, id); err != nil {
				return err
			}
		}
		all, err = decision.All(q, id)
		return err
	})
	return orEmpty(all), err
}

// Gates are all gates of a run, answered ones too, oldest first.
func (r *Reader) Gates(ctx context.Context, id agency.RunID) (gates []agency.Gate, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		if _, err := registry.Run(q, id); err != nil {
			return err
		}
		gates, err = registry.Gates(q, id)
		return err
	})
	return orEmpty(gates), err
}

// Events gives the log, and follows it where somebody writes to it.
func (r *Reader) Events(ctx context.Context, q api.EventQuery) iter.Seq2[agency.Event, error] {
	f := event.Filter{Run: q.Run, Category: q.Category, MinSeverity: q.MinSeverity}
	if q.Follow && r.o.Events != nil {
		return r.followed(ctx, q.After, f)
	}
	return r.stored(ctx, q.After, f)
}

func (r *Reader) followed(ctx context.Context, after int64, f event.Filter) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		ctx, stop := r.o.Live.Following(ctx, f.Run)
		defer stop()
		for ev, err := range r.o.Events.Tail(ctx, after, f) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Stream gives what the models of a run say, where a host lives.
func (r *Reader) Stream(ctx context.Context, id agency.RunID) iter.Seq2[api.Delta, error] {
	return func(yield func(api.Delta, error) bool) {
		_, err := r.Doc(ctx, id)
		if err != nil {
			yield(api.Delta{}, err)
			return
		}
		if r.o.Stream == nil {
			return
		}
		tail := r.o.Stream.Tail(id)
		defer tail.Close()
		for {
			said, err := tail.Next(ctx)
			if err != nil {
				yield(api.Delta{}, err)
				return
			}
			for _, d := range said {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// page is how many events are read at a time.
const page = 1000

func (r *Reader) stored(ctx context.Context, after int64, f event.Filter) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		for {
			var evs []agency.Event
			err := r.read(ctx, func(q *store.Snapshot) (err error) {
				evs, err = event.Since(q, after, f, page)
				return err
			})
			if err != nil {
				yield(agency.Event{}, err)
				return
			}
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
				after = ev.ID
			}
			if len(evs) < page {
				return
			}
		}
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
