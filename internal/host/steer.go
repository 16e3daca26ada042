package host

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/decision"
	"agency/internal/effects"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/store"
)

// Pause stops a run at its next turn boundary. One that waits stands still
// already; its gate can still be answered, which takes the pause back.
func (h *Host) Pause(ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
	return h.pause(ctx, id, registry.Control{Pause: true, By: r.By})
}

func (h *Host) pause(ctx context.Context, id agency.RunID, ctl registry.Control) (api.RunDoc, error) {
	err := h.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil || run.State.Final() {
			return err
		}
		if err := registry.SetControl(tx, id, ctl); err != nil {
			return err
		}
		if h.live.Has(id) {
			return nil
		}
		return registry.SetState(tx, id, agency.StatePaused, "paused by "+by(ctl.By))
	})
	if err != nil {
		return api.RunDoc{}, err
	}
	if l := h.live.find(id); l != nil {
		l.wake()
	}
	return h.docs.Doc(ctx, id)
}

// Cancel ends a run: its processes are killed, what it landed on its branch
// stays. It answers when nothing of the run is at work any more.
func (h *Host) Cancel(ctx context.Context, id agency.RunID, r api.ByRequest) (api.RunDoc, error) {
	err := h.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil || run.State.Final() {
			return err
		}
		return registry.SetControl(tx, id, registry.Control{Cancel: true, By: r.By})
	})
	if err != nil {
		return api.RunDoc{}, err
	}
	if l := h.live.find(id); l != nil {
		l.cancel()
		l.stop()
		if err := h.runs.retryPending(ctx, id); err != nil {
			return api.RunDoc{}, err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return api.RunDoc{}, ctx.Err()
		}
	}
	if err := h.tidy.cleaner.Finish(ctx, id); err != nil {
		return api.RunDoc{}, err
	}
	// Also where it was live: it may have stopped at a fault just before.
	err = h.rec.write(ctx, func(tx *store.Tx) error { return recordCancelled(tx, id) })
	h.tidy.noteEnd()
	return h.docOr(ctx, id, err)
}

// Answer decides a gate; the first answer wins. The run goes on by it, also
// where it was paused or its host had gone.
func (h *Host) Answer(ctx context.Context, id agency.RunID, r api.AnswerRequest) (api.Answered, error) {
	if err := h.live.admit(); err != nil {
		return api.Answered{}, err
	}
	if err := h.runs.retryPending(ctx, id); err != nil {
		return api.Answered{}, err
	}
	var left budget.Allowance
	var unknown error // how much that is: no matter of other gates
	if r.Verb == agency.Approve {
		if err := h.refresh(ctx); err != nil {
			return api.Answered{}, err
		}
		left, unknown = h.left(ctx)
	}
	h.takeKeys(ctx, id, r.Secrets)
	var g agency.Gate
	err := h.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil {
			return err
		}
		if g, err = pick(tx, run, r.Gate); err != nil {
			return err
		}
		d := agency.Decision{Verb: r.Verb, Note: r.Note, BudgetUSD: r.BudgetUSD, By: r.By}
		if err := checkAnswer(g, d); err != nil {
			return err
		}
		if g.Kind == agency.GateQuestion && d.Verb == agency.Approve {
			d.Note = d.Answer(g.Options) // whoever reads it later need not have the options before them
		}
		if err := errors.Join(checkGrant(tx, g, d), checkAbove(g, d, left, unknown)); err != nil {
			return err
		}
		if err := decide(tx, g, d); err != nil {
			return err
		}
		if g.Kind == agency.GateFault && d.Verb == agency.Reject {
			return closeRun(tx, id, agency.StateFailed, agency.Failure{Kind: agency.FailedFault, Cause: g.Summary}, agency.GaveUp{Reason: g.Summary})
		}
		if r.Yes {
			if err := registry.SetYes(tx, id); err != nil {
				return err
			}
		}
		return h.runs.release(tx, id, "answer/"+string(g.ID))
	})
	if err != nil {
		return api.Answered{}, err
	}
	note := ""
	if run, err := store.Get(ctx, h.rec.db, registry.Run, id); err == nil && !run.State.Final() {
		if err := h.runs.takeUp(ctx, id); err != nil {
			note = "the answer is stored; the run does not go on: " + err.Error()
		}
	}
	return h.answeredDoc(ctx, id, g.ID, note)
}

func (h *Host) answeredDoc(ctx context.Context, id agency.RunID, gate agency.GateID, note string) (api.Answered, error) {
	out := api.Answered{Note: note}
	var err error
	if out.Gate, err = store.Get(ctx, h.rec.db, registry.Gate, gate); err != nil {
		return out, err
	}
	out.Run, err = h.docs.Doc(ctx, id)
	return out, err
}

// pick is the gate that is meant: the one named, else the only one that waits.
func pick(tx *store.Tx, run agency.Run, named agency.GateID) (agency.Gate, error) {
	if named != "" {
		g, err := registry.Gate(tx, named)
		if err == nil && g.RunID != run.ID {
			return g, agency.Errorf(agency.KindNotFound, "gate %s is not one of run %s", named, run.ID).WithMend("agency inspect %s", run.ID)
		}
		return g, err
	}
	gates, err := registry.OpenGates(tx, run.ID)
	switch {
	case err != nil:
		return agency.Gate{}, err
	case run.State.Final():
		return agency.Gate{}, agency.Errorf(agency.KindConflict, "run %s %s; nothing waits for an answer", run.ID, run.State.Has()).
			WithMend("agency inspect %s", run.ID)
	case len(gates) == 0:
		return agency.Gate{}, agency.Errorf(agency.KindConflict, "no gate of run %s waits for an answer", run.ID).WithMend("agency watch %s", run.ID)
	case len(gates) > 1:
		ids := ""
		for _, g := range gates {
			ids += " " + string(g.ID)
		}
		return agency.Gate{}, agency.Errorf(agency.KindInvalid, "%d gates of run %s wait:%s", len(gates), run.ID, ids).
			WithMend("agency approve %s", gates[0].ID)
	}
	return gates[0], nil
}

func checkAnswer(g agency.Gate, d agency.Decision) error {
	switch {
	case d.Verb == agency.Approve && g.Kind == agency.GateQuestion && d.Note == "":
		return agency.Errorf(agency.KindInvalid, "a question needs an answer").WithMend("agency approve %s --note TEXT", g.ID)
	case d.Verb == agency.Approve && g.Kind == agency.GateQuestion && len(g.Options) > 0 && isNumber(d.Note) && d.Choice(g.Options) < 0:
		return agency.Errorf(agency.KindInvalid, "there is no option %s: want 1 to %d, or your answer in words", strings.TrimSpace(d.Note), len(g.Options)).
			WithMend("agency inspect %s", g.RunID)
	case d.Verb == agency.Reject && (g.Kind == agency.GateMerge || g.Kind == agency.GatePlan) && strings.TrimSpace(d.Note) == "":
		return agency.Errorf(agency.KindInvalid, "a rejected %s goes back to be done again, for which the agents must be told why", map[agency.GateKind]string{agency.GateMerge: "work", agency.GatePlan: "plan"}[g.Kind]).
			WithMend("agency reject %s --reason TEXT", g.ID)
	case d.BudgetUSD != 0 && g.Kind != agency.GateBudget:
		return agency.Errorf(agency.KindInvalid, "--budget answers a budget gate; this is a %s gate", g.Kind)
	case d.BudgetUSD != 0 && g.Approving != "":
		return agency.Errorf(agency.KindInvalid, "--budget does not raise this limit, which counts for all your runs: %s", g.Summary).
			WithMend("raise it in the file that it names, then: agency approve %s", g.ID)
	case d.BudgetUSD < 0 || d.BudgetUSD > agency.MostUSD:
		return agency.Errorf(agency.KindInvalid, "a budget of %g US dollars: want more than 0 and at most %d", d.BudgetUSD, agency.MostUSD).
			WithMend("agency inspect %s", g.RunID)
	}
	return nil
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(strings.TrimSpace(s))
	return err == nil
}

// checkGrant refuses a new limit with which the run would wait again at once: one below
// that it has, that does not hold the request that waits, or in dollars where those are
// not used up. The gate stays open.
func checkGrant(q store.Querier, g agency.Gate, d agency.Decision) error {
	if g.Grant == nil || d.Verb != agency.Approve || d.BudgetUSD == 0 || !g.Open() {
		return nil
	}
	st, err := budget.Read(q, g.RunID, g.Grant.Node)
	if err != nil {
		return err
	}
	given, now := agency.USD(d.BudgetUSD), st.Limits.Money
	if raises := effects.Raises(st, *g.Grant); raises != "" {
		return agency.Errorf(agency.KindInvalid, "--budget sets a limit in dollars, and what is used up is %s; an approval without it will %s", usedUp(g.Grant.Limit), raises).
			WithMend("agency approve %s", g.ID)
	}
	enough := st.Enough(g.Grant.Need, 0).Money
	if given >= enough {
		return nil
	}
	return agency.Errorf(agency.KindInvalid, "--budget %s does not help: %s has a limit of %s, of which %s is spent and %s reserved, and the next request reserves %s; the smallest limit that helps is %s",
		given.Typed(), g.Grant.Node, now.Typed(), st.Money, st.Reserved, g.Grant.Need, enough.Cents().Typed()).
		WithMend("agency approve %s --budget %s", g.ID, enough.Cents().Typed())
}

// checkAbove refuses an approval after which the run would meet the same limit across
// runs at once; unknown is why nobody knows what those leave.
func checkAbove(g agency.Gate, d agency.Decision, left budget.Allowance, unknown error) error {
	if g.Kind != agency.GateBudget || g.Approving == "" || g.Grant == nil || d.Verb != agency.Approve || !g.Open() {
		return nil
	}
	if unknown != nil {
		return unknown
	}
	if !left.Limited || left.Held > 0 || g.Grant.Need <= left.Left {
		return nil
	}
	e := left.Refuse(g.Grant.Need)
	return agency.Errorf(agency.KindInvalid, "that does not help yet: %w", e).
		WithMend("set the limit to %s or more where it stands, or wait until the %s is over; then: agency approve %s", e.Enough.Typed(), e.Period(), g.ID)
}

// usedUp is a limit's name for people.
func usedUp(limit string) string {
	if limit == "wall" {
		return "time at work"
	}
	return limit
}

func (h *Host) message(ctx context.Context, m agency.Message) (agency.Message, error) {
	return store.Get(ctx, h.rec.db, func(q store.Querier, id agency.MessageID) (agency.Message, error) {
		return board.Get(q, m.RunID, id)
	}, m.ID)
}

// Drain stops every run at its next turn boundary and takes no new work. It
// answers, with the runs that were at work, when all stand still; the caller
// closes the host then.
func (h *Host) Drain(ctx context.Context) (api.DrainDoc, error) {
	h.live.drain(1) // first: none begins any more
	working := h.live.working()
	doc := api.DrainDoc{Runs: []agency.RunID{}}
	for _, l := range working {
		doc.Runs = append(doc.Runs, l.run.ID)
	}
	if err := h.stopAll(ctx, working); err != nil {
		return doc, errors.Join(err, h.cancelDrain(context.WithoutCancel(ctx), working))
	}
	return doc, nil
}

// stopAll pauses runs and waits until they stand still.
func (h *Host) stopAll(ctx context.Context, working []*live) error {
	for _, l := range working {
		if _, err := h.pause(ctx, l.run.ID, registry.Control{Pause: true, HandOver: true, By: "the hand-over to a newer build"}); err != nil {
			return err
		}
	}
	for _, l := range working {
		if err := l.waitIdle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cancelDrain takes a hand-over back whose client has left: nobody would take the runs
// up, and a host that leaves nothing undone must admit work again. Another that
// still waits goes on.
func (h *Host) cancelDrain(ctx context.Context, working []*live) error {
	if h.live.drain(-1) > 0 {
		return nil
	}
	var errs []error
	for _, l := range working {
		err := h.rec.write(ctx, func(tx *store.Tx) error {
			ctl, err := registry.ReadControl(tx, l.run.ID)
			if err != nil || !ctl.HandOver {
				return err
			}
			return h.runs.release(tx, l.run.ID, "stay")
		})
		if err == nil {
			err = h.runs.takeUp(ctx, l.run.ID)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// left is what the user's limits across runs leave.
func (h *Host) left(ctx context.Context) (budget.Allowance, error) {
	if h.means == nil {
		return budget.Allowance{}, nil
	}
	return h.means.Left(ctx)
}

// refresh reads anew what the user allows across runs.
func (h *Host) refresh(ctx context.Context) error {
	if h.means == nil {
		return nil
	}
	return h.means.Refresh(ctx)
}

// keeping is what a host does with what agents settled between them.
type keeping struct{ rec *records }

// Keep has decisions of a run stand in later runs of the repository, or no more. They are
// the repository's own: the run may be removed.
func (k keeping) Keep(ctx context.Context, r api.KeepRequest) (out []agency.KeptDecision, err error) {
	if r.Drop && len(r.Keys) == 0 {
		return nil, agency.Errorf(agency.KindInvalid, "no key is named").WithMend("agency decisions drop KEY")
	}
	err = k.rec.write(ctx, func(tx *store.Tx) error {
		out = []agency.KeptDecision{}
		if r.Drop {
			gone, err := decision.Drop(tx, r.Keys)
			for _, d := range gone {
				out = append(out, agency.KeptDecision{SharedDecision: d})
			}
			return err
		}
		if _, err := registry.Run(tx, r.Run); err != nil {
			return err
		}
		out, err = decision.Keep(tx, r.Run, r.Keys, r.By)
		return err
	})
	return out, err
}

// Free takes a reserved name from the contract that has it. Whoever works on the contract is
// told, and a change of it that takes the name does not land before it is reserved again.
func (k keeping) Free(ctx context.Context, id agency.RunID, r api.FreeRequest) (out agency.Reservation, err error) {
	err = k.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil {
			return err
		}
		if run.State.Final() {
			return agency.Errorf(agency.KindConflict, "run %s has %s: its names are no matter any more", id, run.State)
		}
		out, err = reservation.Free(tx, id, r.Name, r.By)
		return err
	})
	return out, err
}
