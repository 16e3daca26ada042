package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/contractrun"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/outbox"
	"agency/internal/land"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/store"
)

// executor carries the programs of runs out and records where each stands.
type executor struct {
	rec     *records
	live    *Live
	gates   *gates
	engine  flow.Engine
	board   *board.Board
	means   Means
	ended   func()       // told when a run has left the engine
	resumes atomic.Int64 // numbers the signals of this epoch
}

// begin takes a run up unless it is live already. The caller has recorded why.
func (x *executor) begin(run agency.Run) error {
	c, err := store.Get(x.rec.ctx, x.rec.db, ReadRunConfig, run.ID)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(x.rec.ctx)
	l := newLive(run, stop)
	added, err := x.live.add(l, func() { x.drive(ctx, l, c) })
	if !added {
		stop()
	}
	return err
}

// drive executes a run until it ends, waits for what only a later host can
// give, or is stopped; then it records where the run stands.
func (x *executor) drive(ctx context.Context, l *live, c RunConfig) {
	x.board.Limit(l.run.ID, board.Limits{
		MaxQueue: c.Config.Board.MaxQueueSize,
		Cleanup:  time.Duration(c.Config.Board.CleanupIntervalSeconds) * time.Second,
	})
	x.live.changed()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		x.followState(ctx, l)
	}()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		x.watchHeartbeats(ctx, l)
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		x.oversee(ctx, l, c.Config.Overseer)
	}()
	x.gates.rearm(ctx, l.run)
	l.wake()
	end, err := x.execute(ctx, l, c)
	l.setEnding() // also where it never began
	l.stop()
	<-settled
	<-heard
	<-watched
	x.recordEnd(l, end, err)
	x.live.remove(l)
	x.ended()
	x.live.changed()
}

func (x *executor) execute(ctx context.Context, l *live, c RunConfig) (mode.Result, error) {
	var end mode.Result
	err := x.engine.Run(ctx, l.run.ID, func(fc flow.Ctx) error {
		run, ok := programs[l.run.Mode]
		if l.run.Follows != nil {
			run = mode.Follow
		}
		if !ok {
			return agency.Errorf(agency.KindInternal, "run %s is of the mode %q, which no program carries out", l.run.ID, l.run.Mode)
		}
		r, err := run(fc, inputOf(l.run, c))
		end = r
		return err
	}, flow.Hooks{Quiet: func(quiet bool) {
		l.setQuiet(quiet)
		x.live.changed()
	}, Ending: l.setEnding}) // who resumes it from now on waits for its end and begins it anew
	return end, err
}

// programs are what the runs of the modes execute.
var programs = map[agency.Mode]func(flow.Ctx, mode.Input) (mode.Result, error){
	agency.ModeSingle:         mode.Single,
	agency.ModeContract:       mode.Contract,
	agency.ModeProducerCritic: mode.ProducerCritic,
	agency.ModeMultiAgent:     mode.Team,
	agency.ModeFull:           mode.Team,
	agency.ModeTiered:         mode.Tiered,
	agency.ModeAgent:          mode.Agent,
}

func inputOf(run agency.Run, c RunConfig) mode.Input {
	return mode.Input{
		Facts: contractrun.Facts{
			Run: run.ID, Goal: run.Goal, Feature: run.Feature, Base: run.Base, RetryBudget: c.Config.RetryBudget, Commands: c.Commands(),
			DependencyGate: run.Strict || c.Config.Visibility.StrictMode,
			Routing:        c.Config.RoutingRules(), Review: reviewRules(c.Config.ProducerCritic), Rollback: c.Config.Rollback,
		},
		Target: run.Target, Land: run.Land, Mode: run.Mode, Follows: run.Follows, Triggers: c.Config.MovesUpBy(), Asks: c.Asks, OnError: c.Config.OnError,
		PlanGate: run.Strict || c.Config.Visibility.StrictMode || c.Config.Visibility.InspectionGates.Plan,
		Parallel: c.Config.MaxParallelAgents, SharedWrites: c.Config.SharedWrites, MaxWaitingGates: c.Config.Visibility.MaxWaitingGates,
		Tiers: tiersOf(c.Config, run.Strict),
		Dry:   run.Dry, Plan: c.Plan, Untested: c.Untested, Agent: run.Agent, Cast: c.Agents,
	}
}

// tiersOf is what the configuration says of tiers; strict has all gates asked at.
func tiersOf(c config.Config, strict bool) mode.Tiers {
	v := c.Visibility
	g := v.InspectionGates
	strict = strict || v.StrictMode
	return mode.Tiers{
		LeadGate: strict || g.T2Lead, SynthesisGate: strict || g.T2Synthesis, TasksGate: strict || g.T3Plan, VerdictGate: strict || g.T5Verdict,
		MeshTimeout: time.Duration(c.Tiers.T3MeshTimeoutMinutes) * time.Minute, ConflictCycles: c.Tiers.T2ConflictCycles,
	}
}

func reviewRules(c config.ProducerCritic) agency.ReviewRules {
	return agency.ReviewRules{
		MaxIterations: c.MaxIterations, RequireLint: c.RequireLintPass, RequireTests: c.RequireTestsPass, AllowMajor: c.AllowMajorIssuesOnApproval,
		Perfect: c.RequirePerfect, Timeout: time.Duration(c.TimeoutSeconds) * time.Second,
	}
}

// followState keeps the recorded state in step with what the run does: running,
// waiting at a gate, or paused by a person.
func (x *executor) followState(ctx context.Context, l *live) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		}
		err := x.rec.writeDetached(func(tx *store.Tx) error { return recordState(tx, l) })
		if err != nil {
			x.rec.log.Error("state of a run", "run", l.run.ID, "error", err)
			x.rec.retryLater(err, l.wake)
		}
	}
}

func recordState(tx *store.Tx, l *live) error {
	run, err := registry.Run(tx, l.run.ID)
	if err != nil || run.State.Final() {
		return err
	}
	ctl, err := registry.ReadControl(tx, l.run.ID)
	if err != nil {
		return err
	}
	gates, err := registry.OpenGates(tx, l.run.ID)
	if err != nil {
		return err
	}
	state, reason := stateOf(l.run.ID, l.isQuiet(), ctl, gates)
	return stand(tx, l.run.ID, state, reason)
}

// stand records where a run stands by stateOf: one that is interrupted was handed over.
func stand(tx *store.Tx, id agency.RunID, state agency.RunState, reason string) error {
	if state == agency.StateInterrupted {
		return registry.Stop(tx, id, state, stopped(), reason)
	}
	return registry.SetState(tx, id, state, reason)
}

// stateOf is where a run stands, by what it does, what a person asked of it and
// which gates wait.
func stateOf(id agency.RunID, quiet bool, ctl registry.Control, gates []agency.Gate) (agency.RunState, string) {
	switch {
	case !quiet:
		return agency.StateRunning, ""
	case ctl.Pause && ctl.HandOver && len(gates) == 0:
		return agency.StateInterrupted, StoppedReason(id)
	case ctl.Pause && !ctl.HandOver:
		return agency.StatePaused, "paused by " + by(ctl.By)
	case len(gates) > 0:
		return agency.StateWaiting, string(gates[0].Kind) + " gate: " + gates[0].Summary
	default:
		return agency.StateRunning, ""
	}
}

func by(name string) string {
	if name == "" {
		return "a person"
	}
	return name
}

// recordEnd records how a run left the engine.
func (x *executor) recordEnd(l *live, end mode.Result, err error) {
	if errors.Is(err, store.ErrFenced) {
		x.rec.log.Warn("another host has taken the store", "run", l.run.ID)
		return
	}
	record := x.endWriter(l, end, err)
	err = x.recordWithRetry(l, func(tx *store.Tx) error {
		if l.wasCancelled() && err != nil { // perhaps only now, while there was no room to write
			return recordCancelled(tx, l.run.ID)
		}
		return record(tx)
	})
	if err != nil {
		x.rec.log.Error("end of a run", "run", l.run.ID, "error", err)
	}
}

// endWriter writes the end of a run that left the engine.
func (x *executor) endWriter(l *live, end mode.Result, err error) func(*store.Tx) error {
	id := l.run.ID
	var fault *flow.Fault
	switch {
	case err == nil:
		return func(tx *store.Tx) error { return recordResult(tx, id, end) }
	case errors.As(err, &fault):
		return func(tx *store.Tx) error {
			return stopAtFault(tx, agency.Gate{RunID: id, Summary: "the run's record and this build disagree", Body: faultText(fault)})
		}
	case store.IsFull(err):
		x.rec.log.Error("the disk is full", "run", id, "error", err)
		return func(tx *store.Tx) error { return stopAtFault(tx, x.fullDisk(id, err)) }
	case x.rec.ctx.Err() != nil || isStopped(err):
		return func(tx *store.Tx) error { return recordStopped(tx, l) }
	}
	return x.recordFailure(id, err)
}

// recordResult records the end that the run's own program reached.
func recordResult(tx *store.Tx, id agency.RunID, end mode.Result) error {
	if end.Commit != "" {
		if err := registry.SetMerged(tx, id, end.Commit); err != nil {
			return err
		}
	}
	ctl, err := registry.ReadControl(tx, id)
	if err != nil {
		return err
	}
	state, agents := agency.StateFailed, board.AgentFailed
	switch {
	case end.Succeeded:
		state, agents = agency.StateSucceeded, board.AgentCompleted
	case ctl.Cancel:
		return recordCancelled(tx, id)
	}
	if err := board.End(tx, id, agents, "the run has ended"); err != nil {
		return err
	}
	if state == agency.StateFailed {
		if end.Failure.Kind == agency.FailedBudget {
			if end.Failure.BudgetUSD, err = lacked(tx, id); err != nil {
				return err
			}
		}
		return registry.Fail(tx, id, end.Failure)
	}
	return registry.SetState(tx, id, state, end.Reason)
}

// lacked is the smallest limit in dollars that would have held the request for which a person
// granted no more; 0 where no sum in dollars would.
func lacked(q store.Querier, id agency.RunID) (usd float64, err error) {
	gates, err := registry.Gates(q, id)
	for _, g := range gates {
		if g.Kind == agency.GateBudget && g.Grant != nil {
			usd = g.Grant.EnoughUSD
		}
	}
	return usd, err
}

// recordCancelled ends a cancelled run. One whose work is in the target already has
// succeeded: a cancel that comes late does not take it back.
func recordCancelled(tx *store.Tx, id agency.RunID) error {
	run, err := registry.Run(tx, id)
	if err != nil || run.State.Final() {
		return err
	}
	if run.Merged != "" {
		return recordResult(tx, id, mode.Result{Succeeded: true, Commit: run.Merged, Reason: "merged before it was cancelled"})
	}
	ctl, err := registry.ReadControl(tx, id)
	if err != nil {
		return err
	}
	why := agency.Failure{Kind: agency.FailedCancelled, Cause: "cancelled by " + by(ctl.By)}
	if half, err := land.UnderWay(tx, id); err != nil || half {
		return cmp.Or(err, recordInterrupted(tx, id, why, fmt.Sprintf("cancelled while it merged: agency cancel %s ends it", id)))
	}
	return closeRun(tx, id, agency.StateCancelled, why, agency.Withdrawn{Reason: "the run was cancelled"})
}

// closeRun takes a run that its own program did not end to its last state: what was
// asked and not answered is charged, contracts are closed by a fact, agents leave
// the board, mail that nobody will read is a dead letter.
func closeRun(tx *store.Tx, id agency.RunID, state agency.RunState, why agency.Failure, close agency.Fact) error {
	if _, err := budget.ChargeOpen(tx, id); err != nil {
		return err
	}
	contracts, err := registry.Contracts(tx, id)
	if err != nil {
		return err
	}
	for _, c := range contracts {
		if c.Status.Final() {
			continue
		}
		step := agency.StepKey(string(c.ID) + "/" + string(state))
		ended, err := registry.Advance(tx, id, c.ID, step, close)
		if err == nil {
			err = reservation.Ended(tx, ended)
		}
		if err != nil {
			return err
		}
	}
	if err := board.End(tx, id, board.AgentTerminated, "the run "+state.Has()); err != nil {
		return err
	}
	return registry.Stop(tx, id, state, why, why.Sentence())
}

// recordFailure records a failure of the world outside: nothing is lost, and a
// person may let the run go on.
func (x *executor) recordFailure(id agency.RunID, cause error) func(*store.Tx) error {
	if k := agency.KindOf(cause); k == agency.KindInternal {
		x.rec.log.Error("a step of a run", "run", id, "error", cause)
	} else {
		x.rec.log.Warn("a run is interrupted", "run", id, "error", cause)
	}
	reason := failureText(cause)
	why := agency.Failure{Kind: agency.FailedOutside, Cause: failureCause(cause)}
	return func(tx *store.Tx) error { return recordInterrupted(tx, id, why, reason) }
}

func faultText(f *flow.Fault) string {
	text := f.Error() + "\n\nNothing was done that the record does not show."
	if f.OtherVersion() {
		return text + " The build that wrote the record can go on with it; approve to try again with the build of the day."
	}
	return text + " Approve to try again; reject to end the run."
}

// failureText is why a run could not go on, and what mends it. A step's key is
// for whoever looks for a fault, and the log of the host has it.
func failureText(cause error) string {
	reason := failureCause(cause)
	if mend := agency.MendOf(cause); mend != "" {
		reason += "; " + mend
	}
	return reason
}

// failureCause is the same without what mends it.
func failureCause(cause error) string {
	if at := (*flow.Interrupt)(nil); errors.As(cause, &at) {
		return at.Err.Error()
	}
	return cause.Error()
}

// release takes a pause back and notes that the run goes on.
func (x *executor) release(tx *store.Tx, id agency.RunID, why string) error {
	run, err := registry.Run(tx, id)
	if err != nil {
		return err
	}
	ctl, err := registry.ReadControl(tx, id)
	if err != nil {
		return err
	}
	if ctl.Pause {
		if err := registry.SetControl(tx, id, registry.Control{}); err != nil {
			return err
		}
		// One signal a pause. Not the time: a clock that is set back gives an
		// hour twice.
		at := fmt.Sprintf("%s/%s/%d.%d", why, contractrun.Resume.Name, x.rec.fence.Epoch, x.resumes.Add(1))
		if err := outbox.Send(tx, id, contractrun.Resume, at, struct{}{}); err != nil {
			return err
		}
	}
	if run.State != agency.StateInterrupted {
		return nil
	}
	if run.Crashed {
		ev := agency.NewEvent(id, agency.SeverityInfo, "a new host takes the run up", agency.ResumedAfterCrash{Epoch: x.rec.fence.Epoch})
		if _, err := event.Append(tx, ev); err != nil {
			return err
		}
		if err := registry.SetCrashed(tx, id, false); err != nil {
			return err
		}
	}
	return registry.SetState(tx, id, agency.StateRunning, "")
}

// takeUp begins a run, or lets a live one look again.
func (x *executor) takeUp(ctx context.Context, id agency.RunID) error {
	run, err := store.Get(ctx, x.rec.db, registry.Run, id)
	if err != nil {
		return err
	}
	l := x.live.find(id)
	if l != nil && !l.isEnding() {
		l.wake()
		x.gates.rearm(ctx, run)
		return nil
	}
	if l != nil { // it has stopped, and what it stopped by is being recorded
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return x.begin(run)
}

// watchHeartbeats counts the heartbeats that a run's agents owe, while the run is at
// work. An agent whose process lives owes none, however long its command takes.
func (x *executor) watchHeartbeats(ctx context.Context, l *live) {
	for ctx.Err() == nil {
		l.mu.Lock()
		quiet, moved := l.quiet, l.moved
		l.mu.Unlock()
		if quiet {
			select {
			case <-moved:
			case <-ctx.Done():
			}
			continue
		}
		if !x.rec.sleep(ctx, board.HeartbeatInterval, moved) {
			return
		}
		if err := x.reportMissed(ctx, l.run.ID); err != nil && ctx.Err() == nil {
			x.rec.log.Error("heartbeats", "run", l.run.ID, "error", err)
		}
	}
}

func (x *executor) reportMissed(ctx context.Context, run agency.RunID) error {
	late, err := store.Get(ctx, x.rec.db, board.Late, run)
	if err != nil || len(late) == 0 {
		return err
	}
	return x.rec.write(ctx, func(tx *store.Tx) error {
		_, err := board.Missed(tx, run)
		return err
	})
}
