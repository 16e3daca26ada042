package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/store"
)

// Start starts a run. The same request again, because its answer was lost,
// finds the run that it started.
func (h *Host) Start(ctx context.Context, r api.RunRequest) (api.RunStarted, error) {
	if err := h.live.admit(); err != nil {
		return api.RunStarted{}, err
	}
	c, err := h.start.receive(&r)
	if err != nil {
		return api.RunStarted{}, err
	}
	if doc, ok, err := h.findStarted(ctx, r); ok || err != nil {
		return api.RunStarted{Run: doc}, err
	}
	if err := h.start.Settings.Check(r, c); err != nil {
		return api.RunStarted{}, err
	}
	if err := h.refresh(ctx); err != nil {
		return api.RunStarted{}, err
	}
	if err := follow(ctx, h.rec.db, &r); err != nil {
		return api.RunStarted{}, err
	}
	c.TakesBack = r.Follows != nil && r.Follows.What == agency.FollowUndo
	c.Asks = c.Config.Escalate == config.EscalateAsk || c.Config.Escalate == "" && r.Asks
	reached := reach(ctx, h.live, h.tells, r, c)
	p, err := h.start.prepare(ctx, r, c)
	if err != nil {
		return api.RunStarted{}, err
	}
	p.Notes = append(p.Notes, <-reached...)
	run := agency.Run{
		ID: r.ID, Goal: r.Goal, Feature: r.Feature, Follows: r.Follows, Mode: r.Mode, State: agency.StatePlanning, Repo: r.Repo, Base: p.Base, Target: p.Target,
		Branch: p.Branch, Agent: r.Agent, Land: r.Land, Yes: r.Yes, Strict: r.Strict, Dirty: p.Dirty, Dry: r.Dry, Version: h.start.Version,
	}
	if err := h.create(ctx, run, c, p.Images); err != nil {
		return api.RunStarted{}, err
	}
	if err := h.runs.begin(run); err != nil {
		return api.RunStarted{}, err
	}
	doc, err := h.docs.Doc(ctx, run.ID)
	return api.RunStarted{Run: doc, Notes: p.Notes}, err
}

// findStarted finds the run of an earlier request with the same id.
func (h *Host) findStarted(ctx context.Context, r api.RunRequest) (api.RunDoc, bool, error) {
	doc, err := h.docs.Doc(ctx, r.ID)
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

// reach looks, beside what else a start takes, whether the places can be reached that the
// run announces to. A dry run announces nothing.
func reach(ctx context.Context, v *Live, tells Announcer, r api.RunRequest, c RunConfig) <-chan []string {
	notes := make(chan []string, 1)
	if r.Dry || len(c.Config.Notify) == 0 {
		notes <- nil
		return notes
	}
	v.work.Go(func() { notes <- tells.Reach(ctx, r.ID, c.Config) })
	return notes
}

func (h *Host) create(ctx context.Context, run agency.Run, c RunConfig, images []llm.Image) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return h.rec.write(ctx, func(tx *store.Tx) error {
		if f := run.Follows; f != nil && f.What == agency.FollowUndo { // another one may have begun meanwhile
			former, err := registry.Run(tx, f.Run)
			if err != nil {
				return err
			}
			all, err := registry.Runs(tx)
			if err == nil {
				err = undoable(all, former)
			}
			if err != nil {
				return err
			}
		}
		if err := registry.CreateRun(tx, run, raw); err != nil {
			return err
		}
		if err := registry.AddImages(tx, run.ID, images); err != nil {
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
	if err := h.live.admit(); err != nil {
		return api.RunDoc{}, err
	}
	if err := h.runs.retryPending(ctx, id); err != nil {
		return api.RunDoc{}, err
	}
	run, err := store.Get(ctx, h.rec.db, registry.Run, id)
	if err != nil || run.State.Final() {
		return h.docOr(ctx, id, err)
	}
	if err := h.refresh(ctx); err != nil {
		return api.RunDoc{}, err
	}
	h.takeKeys(ctx, id, r.Secrets)
	err = h.rec.write(ctx, func(tx *store.Tx) error {
		if r.Yes {
			if err := registry.SetYes(tx, id); err != nil {
				return err
			}
		}
		if err := passFaults(tx, id, r.By); err != nil {
			return err
		}
		return h.runs.release(tx, id, "resume")
	})
	if err != nil {
		return api.RunDoc{}, err
	}
	return h.docOr(ctx, id, h.runs.takeUp(ctx, id))
}

// takeKeys takes the keys of a run that a client brought. Where the run's
// configuration cannot be read, nothing of it is known as ordinary.
func (h *Host) takeKeys(ctx context.Context, id agency.RunID, secrets map[string]string) {
	c, _ := store.Get(ctx, h.rec.db, ReadRunConfig, id)
	h.start.Secrets.Put(id, secrets, c.Config.Ordinary()...)
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

func (h *Host) docOr(ctx context.Context, id agency.RunID, err error) (api.RunDoc, error) {
	if err != nil {
		return api.RunDoc{}, err
	}
	return h.docs.Doc(ctx, id)
}

// Merge lands a run that ended on its branch.
func (h *Host) Merge(ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
	if err := h.live.admit(); err != nil {
		return api.RunDoc{}, err
	}
	run, err := store.Get(ctx, h.rec.db, registry.Run, id)
	if err != nil {
		return api.RunDoc{}, err
	}
	if err := mergeable(run); err != nil {
		return api.RunDoc{}, err
	}
	c, err := store.Get(ctx, h.rec.db, ReadRunConfig, id)
	if err != nil {
		return api.RunDoc{}, err
	}
	n, err := store.Get(ctx, h.rec.db, countMerges, id)
	if err != nil {
		return api.RunDoc{}, err
	}
	h.live.work.Add(1)
	defer h.live.work.Done()
	end, err := h.merge(ctx, run, c, n, r.By)
	switch {
	case err != nil:
		return api.RunDoc{}, err
	case !end.Succeeded:
		return api.RunDoc{}, agency.Errorf(agency.KindConflict, "%s", end.Reason).WithMend("mend it, then: agency merge %s", id)
	}
	err = h.rec.writeDetached(func(tx *store.Tx) error { return registry.SetMerged(tx, id, end.Commit) })
	return h.docOr(ctx, id, err)
}

func mergeable(run agency.Run) error {
	switch {
	case run.State == agency.StateWaiting:
		return agency.Errorf(agency.KindConflict, "run %s waits: %s", run.ID, run.Reason).WithMend("agency inspect %s", run.ID)
	case run.State != agency.StateSucceeded:
		return agency.Errorf(agency.KindConflict, "run %s is %s: only a run that succeeded is merged", run.ID, run.State).WithMend("agency inspect %s", run.ID)
	case run.Mode == agency.ModeAgent:
		return agency.Errorf(agency.KindConflict, "run %s has an answer and no work: nothing of an agent's run lands", run.ID).WithMend("agency resume %s prints it", run.ID)
	case run.Dry:
		return agency.Errorf(agency.KindConflict, "run %s was a dry run: it has a plan and no work", run.ID).WithMend("agency rm %s", run.ID)
	case run.Merged != "":
		return agency.Errorf(agency.KindConflict, "run %s is merged already, as %s", run.ID, run.Merged)
	}
	return nil
}

// merge is a program of its own beside the run's: a merge that was refused is
// tried again as a new one.
func (h *Host) merge(ctx context.Context, run agency.Run, c RunConfig, n int, who string) (mode.Result, error) {
	id := mergeID(run.ID, n)
	if err := h.rec.writeDetached(func(tx *store.Tx) error { return noteMerge(tx, run.ID, who) }); err != nil {
		return mode.Result{}, err
	}
	var end mode.Result
	err := h.runs.engine.Run(ctx, id, func(fc flow.Ctx) error {
		r, err := mode.Merge(fc, inputOf(run, c))
		end = r
		return err
	}, flow.Hooks{})
	return end, err
}

// mergeID names the program of a run's merge number n, from 0.
func mergeID(run agency.RunID, n int) agency.RunID {
	return agency.RunID(fmt.Sprintf("%s.merge-%d", run, n+1))
}

func noteMerge(tx *store.Tx, id agency.RunID, who string) error {
	_, err := event.Append(tx, agency.NewEvent(id, agency.SeverityInfo, by(who)+" asked for the merge", agency.MergeRequested{By: who}))
	return err
}

// countMerges is how often a merge was asked for, so that each try has a
// journal of its own.
func countMerges(q store.Querier, id agency.RunID) (int, error) {
	evs, err := event.Since(q, 0, event.Filter{Run: id, Types: []agency.EventType{agency.MergeRequestedType}}, 0)
	return len(evs), err
}

// Copy reads the configuration that a run keeps.
func (h *Host) Copy(ctx context.Context, id agency.RunID) (api.CopyDoc, error) {
	raw, err := store.Get(ctx, h.rec.db, registry.Copy, id)
	return api.CopyDoc{Config: raw}, err
}

// Remove deletes a run that has ended: its branch, workspaces and record. What
// it merged stays.
func (h *Host) Remove(ctx context.Context, id agency.RunID, _ api.ByRequest) error {
	return h.tidy.remove(ctx, id)
}

// Starter judges and prepares what runs are started with.
type Starter struct {
	Preparer Preparer
	Secrets  *Secrets
	// Settings is asked before each start.
	Settings Settings
	// Version is the build that a run started here carries.
	Version string
}

// Foresee is a start up to where it would record the run: it refuses what Start
// refuses, but for its settings, and has its notes. What is made meanwhile is the
// caller's to remove.
func (s Starter) Foresee(ctx context.Context, r api.RunRequest) (Prepared, error) {
	c, err := s.receive(&r)
	if err != nil {
		return Prepared{}, err
	}
	return s.prepare(ctx, r, c)
}

// receive reads a request and takes its keys out of it.
func (s Starter) receive(r *api.RunRequest) (RunConfig, error) {
	c, err := checkRequest(*r)
	if err != nil {
		return c, err
	}
	s.Secrets.Put(r.ID, r.Secrets, append(c.Config.Ordinary(), r.Repo, r.Target)...)
	r.Goal = string(s.Secrets.Redact([]byte(r.Goal)))
	return c, nil
}

// prepare checks a request against the repository and the keys that came with
// it.
func (s Starter) prepare(ctx context.Context, r api.RunRequest, c RunConfig) (Prepared, error) {
	p, err := s.Preparer.Prepare(ctx, r, c)
	for _, provider := range s.Secrets.Placeholders(r.ID) {
		p.Notes = append(p.Notes, "the key of "+provider+" looks like a placeholder: it is not kept out of what the run writes")
	}
	return p, err
}

func checkRequest(r api.RunRequest) (RunConfig, error) {
	var c RunConfig
	if err := agency.CheckRunID(r.ID); err != nil {
		return c, err
	}
	if strings.TrimSpace(r.Goal) == "" {
		return c, agency.Errorf(agency.KindInvalid, "the goal is empty").WithMend(`agency run "what should be different"`)
	}
	if err := agency.CheckGoal(r.Goal); err != nil {
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
	c.Env, c.Plan, c.Untested, c.NoRepo = r.Env, r.Plan, r.Untested, r.NoRepo
	return c, checkAgents(r, &c)
}

// checkAgents takes over the agents that a run of an agent may come to.
func checkAgents(r api.RunRequest, c *RunConfig) error {
	if (r.Agent != "") != (r.Mode == agency.ModeAgent) || r.NoRepo && r.Agent == "" {
		return agency.Errorf(agency.KindInvalid, "mode %s with the agent %q: an agent answers in mode agent alone", r.Mode, r.Agent).WithMend("agency run --agent NAME INPUT")
	}
	if r.Agent == "" {
		return nil
	}
	if err := json.Unmarshal(r.Agents, &c.Agents); err != nil {
		return agency.Errorf(agency.KindInvalid, "the run's agents: %w", err)
	}
	if _, ok := c.Agents.Find(r.Agent); !ok {
		return agency.Errorf(agency.KindInvalid, "agent %s is none of the request's agents", r.Agent).WithMend("agency agents list")
	}
	return nil
}
