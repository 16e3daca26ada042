package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/store"
)

// Start starts a run. The same request again, because its answer was lost,
// finds the run that it started.
func (h *Host) Start(ctx context.Context, r api.RunRequest) (api.RunStarted, error) {
	if err := h.admit(); err != nil {
		return api.RunStarted{}, err
	}
	c, err := receive(h.o.Vault, &r)
	if err != nil {
		return api.RunStarted{}, err
	}
	if doc, ok, err := h.started(ctx, r); ok || err != nil {
		return api.RunStarted{Run: doc}, err
	}
	p, err := prepare(ctx, h.o.Shop, h.o.Vault, r, c)
	if err != nil {
		return api.RunStarted{}, err
	}
	run := agency.Run{
		ID: r.ID, Goal: r.Goal, Feature: r.Feature, Mode: r.Mode, State: agency.StatePlanning, Repo: r.Repo, Base: p.Base, Target: p.Target,
		Branch: p.Branch, Land: r.Land, Yes: r.Yes, Strict: r.Strict, Dirty: p.Dirty, Dry: r.Dry, Version: h.o.Version,
	}
	if err := h.create(ctx, run, c); err != nil {
		return api.RunStarted{}, err
	}
	if err := h.begin(run); err != nil {
		return api.RunStarted{}, err
	}
	doc, err := h.o.Docs.Doc(ctx, run.ID)
	return api.RunStarted{Run: doc, Notes: p.Notes}, err
}

// Foresee is a start up to where it would record the run: it refuses what Start
// refuses and has its notes. What the shop makes meanwhile is the caller's to
// remove.
func Foresee(ctx context.Context, shop Shop, v *Vault, r api.RunRequest) (Prepared, error) {
	c, err := receive(v, &r)
	if err != nil {
		return Prepared{}, err
	}
	return prepare(ctx, shop, v, r, c)
}

// receive reads a request and takes its keys out of it.
func receive(v *Vault, r *api.RunRequest) (Copy, error) {
	c, err := checkRequest(*r)
	if err != nil {
		return c, err
	}
	v.Put(r.ID, r.Secrets, append(c.Config.Ordinary(), r.Repo, r.Target)...)
	r.Goal = string(v.Redact([]byte(r.Goal)))
	return c, nil
}

// prepare checks a request against the repository and the keys that came with
// it.
func prepare(ctx context.Context, shop Shop, v *Vault, r api.RunRequest, c Copy) (Prepared, error) {
	p, err := shop.Prepare(ctx, r, c)
	for _, provider := range v.Placeholders(r.ID) {
		p.Notes = append(p.Notes, "the key of "+provider+" looks like a placeholder: it is not kept out of what the run writes")
	}
	return p, err
}

func checkRequest(r api.RunRequest) (Copy, error) {
	var c Copy
	if err := agency.CheckRunID(r.ID); err != nil {
		return c, err
	}
	if strings.TrimSpace(r.Goal) == "" {
		return c, agency.Errorf(agency.KindInvalid, "the goal is empty").WithMend(`agency run "what should be different"`)
	}
	if err := CheckGoal(r.Goal); err != nil {
		return c, err
	}
	if r.Feature != nil {
		if err := agency.CheckFeatureID(r.Feature.ID); err != nil {
			return c, err
		}
	}
	if !r.Mode.Built() {
		return c, agency.Errorf(agency.KindInvalid, "mode %s: not in this version", r.Mode).WithMend("agency run --mode single")
	}
	if r.Land != agency.LandBranch && r.Land != agency.LandMerge {
		return c, agency.Errorf(agency.KindInvalid, "land: %s: not in this version", r.Land).WithMend("set land: merge or land: branch")
	}
	if r.Dry && !r.Mode.Team() {
		return c, agency.Errorf(agency.KindInvalid, "mode %s: only a team's plan is made for a dry run", r.Mode).WithMend("agency run --mode multi_agent --dry-run")
	}
	if err := json.Unmarshal(r.Config, &c.Config); err != nil {
		return c, agency.Errorf(agency.KindInvalid, "the run's configuration: %w", err)
	}
	c.Env, c.Plan, c.Untested = r.Env, r.Plan, r.Untested
	return c, nil
}

// MaxGoal bounds a goal in bytes: what is longer belongs into a file of the
// repository that the goal names.
const MaxGoal = 100_000

// CheckGoal refuses what is no text that a person would have written.
func CheckGoal(goal string) error {
	switch {
	case len(goal) > MaxGoal:
		return agency.Errorf(agency.KindInvalid, "the goal has %d bytes, more than %d", len(goal), MaxGoal).
			WithMend("commit what is long as a file, and name the file in the goal")
	case strings.ContainsRune(goal, 0) || !utf8.ValidString(goal):
		return agency.Errorf(agency.KindInvalid, "the goal is not text: it holds a NUL, or is not UTF-8")
	}
	return nil
}

// started finds the run of an earlier request with the same id.
func (h *Host) started(ctx context.Context, r api.RunRequest) (api.RunDoc, bool, error) {
	doc, err := h.o.Docs.Doc(ctx, r.ID)
	switch {
	case agency.KindOf(err) == agency.KindNotFound:
		return doc, false, nil
	case err != nil:
		return doc, false, err
	case doc.Goal != r.Goal || doc.Repo != r.Repo:
		return doc, false, agency.Errorf(agency.KindConflict, "run %s exists already", r.ID)
	}
	return doc, true, nil
}

func (h *Host) create(ctx context.Context, run agency.Run, c Copy) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return h.write(ctx, func(tx *store.Tx) error {
		if err := registry.CreateRun(tx, run, raw); err != nil {
			return err
		}
		return budget.Open(tx, run.ID, budget.Root, "", limitsOf(c.Config.Budget))
	})
}

func limitsOf(b config.Budget) budget.Limits {
	return budget.Limits{Money: agency.USD(b.USD), Tokens: b.Tokens, Wall: time.Duration(b.WallMinutes) * time.Minute}
}

// Resume makes a run go on that is paused, interrupted or waits. A run that
// has ended, or is at work, stays as it is.
func (h *Host) Resume(ctx context.Context, id agency.RunID, r api.ResumeRequest) (api.RunDoc, error) {
	if err := h.admit(); err != nil {
		return api.RunDoc{}, err
	}
	if err := h.unhold(ctx, id); err != nil {
		return api.RunDoc{}, err
	}
	run, err := h.run(ctx, id)
	if err != nil || run.State.Final() {
		return h.docOr(ctx, id, err)
	}
	h.takeKeys(ctx, id, r.Secrets)
	err = h.write(ctx, func(tx *store.Tx) error {
		if r.Yes {
			if err := registry.SetYes(tx, id); err != nil {
				return err
			}
		}
		if err := passFaults(tx, id, r.By); err != nil {
			return err
		}
		return h.release(tx, id, "resume")
	})
	if err != nil {
		return api.RunDoc{}, err
	}
	return h.docOr(ctx, id, h.takeUp(ctx, id))
}

// takeKeys takes the keys of a run that a client brought. Where the run's
// configuration cannot be read, nothing of it is known as ordinary.
func (h *Host) takeKeys(ctx context.Context, id agency.RunID, secrets map[string]string) {
	var c Copy
	_ = h.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		c, err = ReadCopy(q, id)
		return err
	})
	h.o.Vault.Put(id, secrets, c.Config.Ordinary()...)
}

// passFaults approves the fault at which a run stands: to resume it is to let
// it try again.
func passFaults(tx *store.Tx, id agency.RunID, who string) error {
	gates, err := registry.OpenGates(tx, id)
	if err != nil {
		return err
	}
	for _, g := range gates {
		if g.Kind != agency.GateFault {
			continue
		}
		if err := decide(tx, g, agency.Decision{Verb: agency.Approve, By: who, Note: "resumed"}); err != nil {
			return err
		}
	}
	return nil
}

// release takes a pause back and notes that the run goes on.
func (h *Host) release(tx *store.Tx, id agency.RunID, why string) error {
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
		at := fmt.Sprintf("%s/%s/%d.%d", why, mode.ResumeSignal, h.o.Fence.Epoch, h.resumes.Add(1))
		if err := local.Send(tx, id, mode.ResumeSignal, at, []byte("{}")); err != nil {
			return err
		}
	}
	if run.State != agency.StateInterrupted {
		return nil
	}
	if run.Crashed {
		ev := agency.NewEvent(id, agency.SeverityInfo, "a new host takes the run up", agency.ResumedAfterCrash{Epoch: h.o.Fence.Epoch})
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
func (h *Host) takeUp(ctx context.Context, id agency.RunID) error {
	run, err := h.run(ctx, id)
	if err != nil {
		return err
	}
	l := h.find(id)
	if l != nil && !l.isEnding() {
		l.poke()
		h.rearm(ctx, run)
		return nil
	}
	if l != nil { // it has stopped, and what it stopped by is being recorded
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.begin(run)
}

func (h *Host) run(ctx context.Context, id agency.RunID) (run agency.Run, err error) {
	err = h.read(ctx, func(q store.Querier) error {
		run, err = registry.Run(q, id)
		return err
	})
	return run, err
}

func (h *Host) docOr(ctx context.Context, id agency.RunID, err error) (api.RunDoc, error) {
	if err != nil {
		return api.RunDoc{}, err
	}
	return h.o.Docs.Doc(ctx, id)
}

// Merge lands a run that ended on its branch.
func (h *Host) Merge(ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
	if err := h.admit(); err != nil {
		return api.RunDoc{}, err
	}
	run, err := h.run(ctx, id)
	if err != nil {
		return api.RunDoc{}, err
	}
	if err := mergeable(run); err != nil {
		return api.RunDoc{}, err
	}
	var c Copy
	var n int
	err = h.read(ctx, func(q store.Querier) error {
		if c, err = ReadCopy(q, id); err != nil {
			return err
		}
		n, err = countMerges(q, id)
		return err
	})
	if err != nil {
		return api.RunDoc{}, err
	}
	h.work.Add(1)
	defer h.work.Done()
	end, err := h.merge(ctx, run, c, n, r.By)
	switch {
	case err != nil:
		return api.RunDoc{}, err
	case !end.Succeeded:
		return api.RunDoc{}, agency.Errorf(agency.KindConflict, "%s", end.Reason).WithMend("mend it, then: agency merge %s", id)
	}
	err = h.record(func(tx *store.Tx) error { return registry.SetMerged(tx, id, end.Commit) })
	return h.docOr(ctx, id, err)
}

func mergeable(run agency.Run) error {
	switch {
	case run.State == agency.StateWaiting:
		return agency.Errorf(agency.KindConflict, "run %s waits: %s", run.ID, run.Reason).WithMend("agency approve %s", run.ID)
	case run.State != agency.StateSucceeded:
		return agency.Errorf(agency.KindConflict, "run %s is %s: only a run that succeeded is merged", run.ID, run.State).WithMend("agency inspect %s", run.ID)
	case run.Dry:
		return agency.Errorf(agency.KindConflict, "run %s was a dry run: it has a plan and no work", run.ID).WithMend("agency rm %s", run.ID)
	case run.Merged != "":
		return agency.Errorf(agency.KindConflict, "run %s is merged already, as %s", run.ID, run.Merged)
	}
	return nil
}

// merge is a program of its own beside the run's: a merge that was refused is
// tried again as a new one.
func (h *Host) merge(ctx context.Context, run agency.Run, c Copy, n int, who string) (mode.Result, error) {
	id := agency.RunID(fmt.Sprintf("%s.merge-%d", run.ID, n+1))
	if err := h.record(func(tx *store.Tx) error { return noteMerge(tx, run.ID, who) }); err != nil {
		return mode.Result{}, err
	}
	var end mode.Result
	err := h.o.Engine.Run(ctx, id, h.o.Fence, func(fc flow.Ctx) error {
		r, err := mode.Merge(fc, inputOf(run, c))
		end = r
		return err
	}, local.Hooks{Quiet: func(bool) {}})
	return end, err
}

func noteMerge(tx *store.Tx, id agency.RunID, who string) error {
	_, err := event.Append(tx, agency.NewEvent(id, agency.SeverityInfo, by(who)+" asked for the merge", agency.MergeRequested{By: who}))
	return err
}

// countMerges is how often a merge was asked for, so that each try has a
// journal of its own.
func countMerges(q store.Querier, id agency.RunID) (n int, err error) {
	const page = 1000
	for last := int64(0); ; {
		evs, err := event.Since(q, last, event.Filter{Run: id, Types: []agency.EventType{agency.MergeRequestedType}}, page)
		if n += len(evs); err != nil || len(evs) < page {
			return n, err
		}
		last = evs[len(evs)-1].ID
	}
}

// Remove deletes a run that has ended: its branch, workspaces and record. What
// it merged stays.
func (h *Host) Remove(ctx context.Context, id agency.RunID, _ api.ByRequest) error {
	run, err := h.run(ctx, id)
	if err != nil {
		return err
	}
	if !run.State.Final() || h.Live(id) {
		return agency.Errorf(agency.KindConflict, "run %s is %s", id, run.State).WithMend("agency cancel %s", id)
	}
	if err := h.o.Shop.Remove(ctx, run); err != nil {
		return err
	}
	if err := h.forget(ctx, id); err != nil || h.AtWork() > 0 {
		return err // while runs work nobody may be kept from writing
	}
	if _, err := h.o.DB.Shrink(ctx); err != nil { // what is free is used again
		h.o.Log.Warn("the store keeps its size", "error", err)
	}
	return nil
}

// forget deletes what is recorded of a run.
func (h *Host) forget(ctx context.Context, id agency.RunID) error {
	return h.write(ctx, func(tx *store.Tx) error {
		merges, err := countMerges(tx, id)
		if err != nil {
			return err
		}
		for n := range merges {
			if err := local.DeleteRun(tx, agency.RunID(fmt.Sprintf("%s.merge-%d", id, n+1))); err != nil {
				return err
			}
		}
		for _, forget := range []func(*store.Tx, agency.RunID) error{h.o.Shop.Forget, local.DeleteRun, board.Forget, budget.Forget, registry.DeleteRun, event.DeleteRun} {
			if err := forget(tx, id); err != nil {
				return err
			}
		}
		_, err = tx.SweepBlobs()
		return err
	})
}

// Copy reads the configuration that a run keeps.
func (h *Host) Copy(ctx context.Context, id agency.RunID) (api.CopyDoc, error) {
	var raw json.RawMessage
	err := h.read(ctx, func(q store.Querier) (err error) {
		raw, err = registry.Copy(q, id)
		return err
	})
	return api.CopyDoc{Config: raw}, err
}
