package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/store"
)

// live is one run that this host holds.
type live struct {
	run       agency.Run
	stop      context.CancelFunc
	cancelled chan struct{} // closed when a person cancels
	done      chan struct{} // closed when nothing of it is left
	kick      chan struct{} // its state may have changed

	mu     sync.Mutex
	quiet  bool
	moved  chan struct{} // closed and replaced when quiet changes
	ending bool          // the engine has let go, what remains is to record it
	once   sync.Once
}

func newLive(run agency.Run, stop context.CancelFunc) *live {
	return &live{
		run: run, stop: stop, cancelled: make(chan struct{}), done: make(chan struct{}),
		kick: make(chan struct{}, 1), moved: make(chan struct{}),
	}
}

func (l *live) isQuiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quiet
}

func (l *live) setQuiet(q bool) {
	l.mu.Lock()
	l.quiet = q
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
	l.poke()
}

func (l *live) setEnding() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
}

func (l *live) isEnding() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending
}

// still waits until nothing of the run is at work.
func (l *live) still(ctx context.Context) error {
	for {
		l.mu.Lock()
		quiet, moved := l.quiet, l.moved
		l.mu.Unlock()
		if quiet {
			return nil
		}
		select {
		case <-moved:
		case <-l.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// poke asks for a look at the run's state; looks that come close together are
// one.
func (l *live) poke() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *live) cancel() { l.once.Do(func() { close(l.cancelled) }) }

// begin takes a run up unless it is live already. The caller has recorded why.
func (h *Host) begin(run agency.Run) error {
	var c Copy
	err := h.read(h.ctx, func(q store.Querier) (err error) {
		c, err = ReadCopy(q, run.ID)
		return err
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed, h.draining > 0:
		return errDraining
	case h.live[run.ID] != nil:
		return nil
	}
	h.o.Board.Limit(run.ID, board.Limits{
		MaxQueue: c.Config.Board.MaxQueueSize, ReceiveTimeout: time.Duration(c.Config.Board.ReceiveTimeoutSeconds) * time.Second,
		Cleanup: time.Duration(c.Config.Board.CleanupIntervalSeconds) * time.Second,
	})
	ctx, stop := context.WithCancel(h.ctx)
	l := newLive(run, stop)
	h.live[run.ID] = l
	h.work.Add(1)
	go func() {
		defer h.work.Done()
		h.drive(ctx, l, c)
	}()
	return nil
}

// drive executes a run until it ends, waits for what only a later host can
// give, or is stopped; then it records where the run stands.
func (h *Host) drive(ctx context.Context, l *live, c Copy) {
	h.changed()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		h.settle(ctx, l)
	}()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		h.listen(ctx, l)
	}()
	h.rearm(ctx, l.run)
	l.poke()
	end, err := h.execute(ctx, l, c)
	l.setEnding() // also where it never began
	l.stop()
	<-settled
	<-heard
	h.conclude(l, end, err)
	h.mu.Lock()
	delete(h.live, l.run.ID)
	h.mu.Unlock()
	close(l.done)
	h.noteEnd()
	h.changed()
}

func (h *Host) execute(ctx context.Context, l *live, c Copy) (mode.Result, error) {
	var end mode.Result
	err := h.o.Engine.Run(ctx, l.run.ID, h.o.Fence, func(fc flow.Ctx) error {
		r, err := program(l.run.Mode)(fc, inputOf(l.run, c))
		end = r
		return err
	}, local.Hooks{Quiet: func(quiet bool) {
		l.setQuiet(quiet)
		h.changed()
	}, Ending: l.setEnding}) // who resumes it from now on waits for its end and begins it anew
	return end, err
}

// program is what a run of a mode executes.
func program(m agency.Mode) func(flow.Ctx, mode.Input) (mode.Result, error) {
	switch m {
	case agency.ModeMultiAgent, agency.ModeFull:
		return mode.Team
	case agency.ModeProducerCritic:
		return mode.ProducerCritic
	case agency.ModeContract:
		return mode.Contract
	default:
		return mode.Single
	}
}

func inputOf(run agency.Run, c Copy) mode.Input {
	return mode.Input{
		Run: run.ID, Goal: run.Goal, Feature: run.Feature, Base: run.Base, Target: run.Target, Land: run.Land,
		RetryBudget: c.Config.RetryBudget, Commands: c.Commands(),
		Triggers: c.Config.Triggers, OnError: c.Config.OnError, Routing: c.Config.RoutingRules(),
		PlanGate:       run.Strict || c.Config.Visibility.StrictMode || c.Config.Visibility.InspectionGates.Plan,
		DependencyGate: run.Strict || c.Config.Visibility.StrictMode,
		Parallel:       c.Config.MaxParallelAgents, SharedWrites: c.Config.SharedWrites, MaxWaitingGates: c.Config.Visibility.MaxWaitingGates,
		Review: reviewRules(c.Config.ProducerCritic), Dry: run.Dry, Plan: c.Plan, Untested: c.Untested,
	}
}

func reviewRules(c config.ProducerCritic) *agency.ReviewRules {
	return &agency.ReviewRules{
		MaxIterations: c.MaxIterations, RequireLint: c.RequireLintPass, RequireTests: c.RequireTestsPass, AllowMajor: c.AllowMajorIssuesOnApproval,
		Perfect: c.RequirePerfect, Timeout: time.Duration(c.TimeoutSeconds) * time.Second,
	}
}

// settle keeps the recorded state in step with what the run does: running,
// waiting at a gate, or paused by a person.
func (h *Host) settle(ctx context.Context, l *live) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		}
		err := h.record(func(tx *store.Tx) error { return h.place(tx, l) })
		if err != nil {
			h.o.Log.Error("state of a run", "run", l.run.ID, "error", err)
			h.later(err, l.poke)
		}
	}
}

func (h *Host) place(tx *store.Tx, l *live) error {
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
	state, reason := stand(l.run.ID, l.isQuiet(), ctl, gates)
	return registry.SetState(tx, l.run.ID, state, reason)
}

// stand is where a run stands, by what it does, what a person asked of it and
// which gates wait.
func stand(id agency.RunID, quiet bool, ctl registry.Control, gates []agency.Gate) (agency.RunState, string) {
	switch {
	case !quiet:
		return agency.StateRunning, ""
	case ctl.Pause && ctl.HandOver && len(gates) == 0:
		return agency.StateInterrupted, stoppedReason(id)
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

// conclude records how a run left the engine.
func (h *Host) conclude(l *live, end mode.Result, err error) {
	if errors.Is(err, store.ErrFenced) {
		h.o.Log.Warn("another host has taken the store", "run", l.run.ID)
		return
	}
	stand := h.conclusion(l, end, err)
	err = h.insist(l, func(tx *store.Tx) error {
		if l.wasCancelled() && err != nil { // perhaps only now, while there was no room to write
			return h.withdraw(tx, l.run.ID)
		}
		return stand(tx)
	})
	if err != nil {
		h.o.Log.Error("end of a run", "run", l.run.ID, "error", err)
	}
}

// conclusion is what is written of a run that left the engine.
func (h *Host) conclusion(l *live, end mode.Result, err error) func(*store.Tx) error {
	id := l.run.ID
	var fault *flow.Fault
	switch {
	case err == nil:
		return func(tx *store.Tx) error { return h.finish(tx, id, end) }
	case errors.As(err, &fault):
		return func(tx *store.Tx) error {
			return stopAtFault(tx, agency.Gate{RunID: id, Summary: "the run's record and this build disagree", Body: faultText(fault)})
		}
	case store.IsFull(err):
		h.o.Log.Error("the disk is full", "run", id, "error", err)
		return func(tx *store.Tx) error { return stopAtFault(tx, h.fullDisk(id, err)) }
	case h.ctx.Err() != nil || isStopped(err):
		return func(tx *store.Tx) error { return h.leave(tx, l) }
	}
	return h.interrupt(id, err)
}

func (l *live) wasCancelled() bool {
	select {
	case <-l.cancelled:
		return true
	default:
		return false
	}
}

// finish records the end that the run's own program reached.
func (h *Host) finish(tx *store.Tx, id agency.RunID, end mode.Result) error {
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
		return h.withdraw(tx, id)
	}
	if err := board.End(tx, id, agents, "the run has ended"); err != nil {
		return err
	}
	return registry.SetState(tx, id, state, end.Reason)
}

// withdraw ends a cancelled run. One whose work is in the target already has
// succeeded: a cancel that comes late does not take it back.
func (h *Host) withdraw(tx *store.Tx, id agency.RunID) error {
	run, err := registry.Run(tx, id)
	if err != nil || run.State.Final() {
		return err
	}
	if run.Merged != "" {
		return h.finish(tx, id, mode.Result{Succeeded: true, Commit: run.Merged, Reason: "merged before it was cancelled"})
	}
	return end(tx, id, agency.StateCancelled, "", agency.Withdrawn{Reason: "the run was cancelled"})
}

// end takes a run that its own program did not end to its last state: what was
// asked and not answered is charged, contracts are closed by a fact, agents leave
// the board, mail that nobody will read is a dead letter.
func end(tx *store.Tx, id agency.RunID, state agency.RunState, reason string, close agency.Fact) error {
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
		if _, err := registry.Advance(tx, id, c.ID, step, close); err != nil {
			return err
		}
	}
	if err := board.End(tx, id, board.AgentTerminated, "the run has "+string(state)); err != nil {
		return err
	}
	return registry.SetState(tx, id, state, reason)
}

// leave records where a run stands whose host goes: one that waited or was
// paused stays so, one that worked is interrupted.
func (h *Host) leave(tx *store.Tx, l *live) error {
	if l.isQuiet() {
		return h.place(tx, l)
	}
	run, err := registry.Run(tx, l.run.ID)
	if err != nil || run.State.Final() {
		return err
	}
	if _, err := budget.ChargeOpen(tx, l.run.ID); err != nil {
		return err
	}
	return registry.SetState(tx, l.run.ID, agency.StateInterrupted, stoppedReason(l.run.ID))
}

// stoppedReason is why a run is interrupted whose host left in an orderly way.
func stoppedReason(id agency.RunID) string {
	return "its host was stopped; go on with: agency resume " + string(id)
}

// CrashReason is why a run is interrupted whose host had no time to write it.
func CrashReason(id agency.RunID) string {
	return "its host died; go on with: agency resume " + string(id)
}

// interrupt records a failure of the world outside: nothing is lost, and a
// person may let the run go on.
func (h *Host) interrupt(id agency.RunID, cause error) func(*store.Tx) error {
	if k := agency.KindOf(cause); k == agency.KindInternal {
		h.o.Log.Error("a step of a run", "run", id, "error", cause)
	} else {
		h.o.Log.Warn("a run is interrupted", "run", id, "error", cause)
	}
	reason := interruption(cause)
	return func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil || run.State.Final() {
			return err
		}
		if _, err := budget.ChargeOpen(tx, id); err != nil {
			return err
		}
		return registry.SetState(tx, id, agency.StateInterrupted, reason)
	}
}

func faultText(f *flow.Fault) string {
	text := f.Error() + "\n\nNothing was done that the record does not show."
	if f.OtherVersion() {
		return text + " The build that wrote the record can go on with it; approve to try again with the build of the day."
	}
	return text + " Approve to try again; reject to end the run."
}

// interruption is why a run could not go on, and what mends it. A step's key is
// for whoever looks for a fault, and the log of the host has it.
func interruption(cause error) string {
	reason := cause.Error()
	if at := (*flow.Interrupt)(nil); errors.As(cause, &at) {
		reason = at.Err.Error()
	}
	if mend := agency.MendOf(cause); mend != "" {
		reason += "; " + mend
	}
	return reason
}
