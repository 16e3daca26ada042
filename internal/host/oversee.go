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
		}
		if err := x.intervene(ctx, l.run.ID, found, faults); err != nil && ctx.Err() == nil {
			x.rec.log.Error("an intervention", "run", l.run.ID, "error", err)
		}
	}
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
