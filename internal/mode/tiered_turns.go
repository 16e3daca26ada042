package mode

import (
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects/tierlog"
	"agency/internal/flow"
	"agency/internal/schedule"
)

// turns has workstreams of a run that may change the same files work one after the other,
// whoever planned what of them is done, and however far apart: their tasks are in queues that
// do not know of each other, and land on lines that began before the other's is on the run's
// branch. Each stands in line when what it does is known, and begins when nobody before it
// and nobody at work may change the same files. One that waits has nothing that others
// wait for but its place, so that nobody waits in a circle.
type turns struct {
	line []*turn
	n    map[agency.ContractID]int // what was done of each, in keys
}

// turn is a workstream in line.
type turn struct {
	of     agency.ContractID
	tasks  []agency.Contract
	begun  bool
	widens bool // at work, and waits to begin more
	waits  bool // to be woken
}

// enter puts a workstream at the end of the line.
func (t *turns) enter(of agency.ContractID, tasks []agency.Contract) {
	t.line = append(t.line, &turn{of: of, tasks: tasks})
}

func (t *turns) of(id agency.ContractID) *turn {
	if i := slices.IndexFunc(t.line, func(o *turn) bool { return o.of == id }); i >= 0 {
		return t.line[i]
	}
	return nil
}

func (t *turns) key(of agency.ContractID, step string) string {
	t.n[of]++
	return contractrun.Path("turn", of, step, t.n[of])
}

func turnSignal(of agency.ContractID) flow.Signal[flow.None] {
	return flow.Signal[flow.None]{Name: "turn/" + string(of)}
}

// inTurn waits, without a slot, until a workstream's tasks may begin. Where it does not stand
// in line, it does from now on; where it is at work these are more tasks of it. What keeps
// them from beginning the log says.
func (r *tiers) inTurn(c flow.Ctx, a *contractrun.Run, tasks []agency.Contract) error {
	of, slot := a.Contract.ID, a.Slot()
	own, told := r.turns.of(of), map[agency.ContractID]bool{}
	if own == nil {
		r.turns.enter(of, tasks)
		own = r.turns.of(of)
	} else if own.begun {
		own.tasks, own.widens = slices.Concat(own.tasks, tasks), true
	}
	for left := false; ; {
		first := r.ahead(own, tasks)
		if len(first) == 0 {
			own.begun, own.widens = true, false
			if left {
				return slot.Return(c)
			}
			return nil
		}
		looks := !left // again: others go on meanwhile
		for _, f := range first {
			if told[f.of] {
				continue
			}
			told[f.of], looks = true, true
			if err := r.tellTurn(c, own, f, tasks); err != nil {
				return err
			}
		}
		if !left {
			left = true
			if err := slot.Leave(c, false); err != nil {
				return err
			}
		}
		if looks {
			continue
		}
		own.waits = true
		if _, err := flow.Receive(c, turnSignal(of), r.turns.key(of, "woken")); err != nil {
			return err
		}
	}
}

// ahead are those that go first: who stands before it in line, and who is at work. Who is at
// work itself and wants more waits for none that waits like it.
func (r *tiers) ahead(own *turn, tasks []agency.Contract) (out []*turn) {
	before := true
	for _, o := range r.turns.line {
		if o == own {
			before = false
			continue
		}
		if own.begun && o.begun && !o.widens || !own.begun && (o.begun || before) {
			if len(r.meets(tasks, o.of, o.tasks)) > 0 {
				out = append(out, o)
			}
		}
	}
	return out
}

// tellTurn says for whom a workstream waits, and why.
func (r *tiers) tellTurn(c flow.Ctx, own, first *turn, tasks []agency.Contract) error {
	who := fmt.Sprintf("the tasks of %s begin", own.of)
	switch {
	case own.widens:
		who = "the new tasks of " + string(own.of) + " begin"
	case slices.ContainsFunc(tasks, func(t agency.Contract) bool { return t.ID == own.of }):
		who = string(own.of) + " begins"
	}
	note := tierlog.Note{Run: r.in.Run, Contract: own.of, Text: fmt.Sprintf("%s when %s has ended: both may change %s", who, first.of, r.meets(tasks, first.of, first.tasks)[0])}
	_, err := flow.Call(c, tierlog.RecordNote, contractrun.Path(r.turns.key(own.of, "after"), first.of), note)
	return err
}

// meets say which of a workstream's tasks may change what those of another may, too.
func (r *tiers) meets(mine []agency.Contract, of agency.ContractID, theirs []agency.Contract) (out []string) {
	for _, m := range mine {
		for _, t := range theirs {
			x, _, meet := agency.Overlap(m.WriteSet(), t.WriteSet(), r.in.SharedWrites)
			switch {
			case !meet:
			case t.ID == of:
				out = append(out, fmt.Sprintf("%s and %s: %s", m.ID, t.ID, x))
			default:
				out = append(out, fmt.Sprintf("%s and %s of %s: %s", m.ID, t.ID, of, x))
			}
		}
	}
	return out
}

// leave takes a workstream out of the line, where it stands there: it has ended, or what it
// does is planned anew.
func (r *tiers) leave(c flow.Ctx, of agency.ContractID) error {
	own := r.turns.of(of)
	if own == nil {
		return nil
	}
	r.turns.line = slices.DeleteFunc(r.turns.line, func(o *turn) bool { return o == own })
	for _, o := range slices.Clone(r.turns.line) {
		if !o.waits {
			continue
		}
		o.waits = false
		if err := schedule.Wake(c, contractrun.Path(r.turns.key(of, "left"), o.of), r.in.Run, turnSignal(o.of)); err != nil {
			return err
		}
	}
	return nil
}
