package host

import (
	"context"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/session/oversight"
	"agency/internal/store"
)

// oversee watches the agents of a live run and steps in. It begins with the run's
// first event, so that it knows after a restart what it knew before; what it did
// because of an event it does once.
func (x *executor) oversee(ctx context.Context, l *live, settings config.Overseer) {
	if !settings.Enabled {
		return
	}
	events := make(chan agency.Event)
	go func() {
		defer close(events)
		for e, err := range x.gates.events.Tail(ctx, 0, event.Filter{Run: l.run.ID}) {
			if err != nil {
				if ctx.Err() == nil {
					x.rec.log.Error("the overseer lost the log", "run", l.run.ID, "error", err)
				}
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	w := overseer.NewWatch(settings)
	asked := make(chan func(*overseer.Watch))
	flag, leave := x.consult(ctx, l, settings, asked)
	defer leave()
	every := time.Duration(settings.CheckIntervalSeconds) * time.Second
	look := make(chan struct{}, 1)
	arm := func() func() bool { return x.rec.clock.After(every, func() { look <- struct{}{} }) }
	disarm := arm()
	defer func() { disarm() }()
	for {
		var found []overseer.Detection
		var faults []overseer.Fault
		select {
		case e, more := <-events:
			if !more {
				return
			}
			found, faults = w.Observe(e)
		case <-look:
			disarm = arm()
			found, faults = w.Look(x.rec.clock.Now())
		case ask := <-asked:
			ask(w)
		}
		if err := x.intervene(ctx, l.run.ID, found, faults); err != nil && ctx.Err() == nil {
			x.rec.log.Error("an intervention", "run", l.run.ID, "error", err)
		}
		for _, d := range found {
			flag(d)
		}
	}
}

// consult has the model-backed overseer, where there is one, look at what is flagged,
// beside the detectors. It asks them by a channel.
func (x *executor) consult(ctx context.Context, l *live, settings config.Overseer, asked chan<- func(*overseer.Watch)) (flag func(overseer.Detection), leave func()) {
	if settings.Model == "" || x.means == nil {
		return func(overseer.Detection) {}, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	m := oversight.NewModel(oversight.Options{
		Run: l.run, DB: x.rec.db, Fence: x.rec.fence, Log: x.rec.log,
		Settings: oversight.Settings{MaxNudges: settings.MaxNudgesPerAgent, MayHalt: settings.HaltOnCritical},
		Staff:    func(ctx context.Context) (oversight.Staff, error) { return x.means.Overseer(ctx, l.run.ID) },
		Watch: func(ctx context.Context, f func(*overseer.Watch)) error {
			done := make(chan struct{})
			select {
			case asked <- func(w *overseer.Watch) { defer close(done); f(w) }:
				<-done
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		m.Run(ctx)
	}()
	return m.Flag, func() { cancel(); <-over }
}

// intervene does what the overseer's findings call for, and tells of detectors that
// are off from now on.
func (x *executor) intervene(ctx context.Context, run agency.RunID, found []overseer.Detection, faults []overseer.Fault) error {
	if len(found) == 0 && len(faults) == 0 {
		return nil
	}
	return x.rec.write(ctx, func(tx *store.Tx) error {
		for _, f := range faults {
			if err := blame(tx, run, f); err != nil {
				return err
			}
		}
		for _, d := range found {
			if err := oversight.Intervene(tx, run, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// blame tells of a detector that is off from now on.
func blame(tx *store.Tx, run agency.RunID, f overseer.Fault) error {
	added, err := registry.AddIntervention(tx, run, registry.Intervention{Event: f.Event, Behaviour: f.Behaviour, Action: overseer.ActionLog, Reason: fmt.Sprint(f.Panic)})
	if err != nil || !added {
		return err
	}
	_, err = event.Append(tx, agency.NewEvent(run, agency.SeverityError,
		fmt.Sprintf("the detector of %s failed and is off for this run: %v", f.Behaviour, f.Panic), agency.Log{}))
	return err
}
