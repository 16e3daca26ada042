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
// and nobody at work may change the same files. One that has not begun has nothing that others
// at work wait for. One at work that is to begin more, in the place of a task that failed, waits
// for others at work until these have ended; where one of these waits for it, be it over others,
// its new tasks are not begun at all, and the task stays failed. What is waited for only becomes
// less after that: whoever comes later waits for those who wait, not they for it. So nobody
// waits in a circle.
type turns struct {
	line []*turn
	n    map[agency.ContractID]int // what was done of each, in keys
	asks int                       // how often one at work asked for more

	run    agency.RunID
	shared []string // files that all may change
}

// turn is a workstream in line.
type turn struct {
	of    agency.ContractID
	tasks []agency.Contract
	begun bool
	more  []agency.Contract // that it waits to begin, being at work
	asked int               // as which of those who did
	waits bool              // to be woken
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
// in line, it does from now on. What keeps them from beginning the log says.
func (r *tiers) inTurn(c flow.Ctx, a *contractrun.Run, tasks []agency.Contract) error {
	own := r.turns.of(a.Contract.ID)
	if own == nil {
		r.turns.enter(a.Contract.ID, tasks)
		own = r.turns.of(a.Contract.ID)
	}
	return r.await(c, own, tasks, a.Slot())
}

// widen waits likewise until a workstream at work may begin more tasks, in the place of others.
// It tells whether they may: never where somebody for whom they would wait waits for it.
func (r *tiers) widen(c flow.Ctx, a *contractrun.Run, more []agency.Contract, instead ...agency.ContractID) (bool, error) {
	own := r.turns.of(a.Contract.ID)
	before := own.tasks
	own.tasks = slices.DeleteFunc(slices.Clone(before), func(t agency.Contract) bool { return slices.Contains(instead, t.ID) })
	r.turns.asks++
	own.more, own.asked = more, r.turns.asks
	if first := r.turns.circle(own); first != nil {
		own.tasks, own.more = before, nil
		return false, r.turns.note(c, own, first, fmt.Sprintf("the new tasks of %s are not begun: %s waits until %s has ended, and both may change %s", own.of, first.of, own.of, r.turns.meets(more, own.sees(first))[0]))
	}
	if err := r.turns.wake(c, own.of, "fewer"); err != nil {
		return false, err
	}
	return true, r.await(c, own, more, a.Slot())
}

// await waits until a workstream may begin tasks, and notes that they are.
func (r *tiers) await(c flow.Ctx, own *turn, tasks []agency.Contract, slot *schedule.Slot) error {
	told := map[agency.ContractID]bool{}
	for left := false; ; {
		first := r.turns.ahead(own)
		if len(first) == 0 {
			own.tasks, own.more, own.begun = slices.Concat(own.tasks, own.more), nil, true
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
			if err := r.turns.tellTurn(c, own, f, tasks); err != nil {
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
		if _, err := flow.Receive(c, turnSignal(own.of), r.turns.key(own.of, "woken")); err != nil {
			return err
		}
	}
}

// ahead are those that go first: for one that has not begun who stands before it in line and
// who is at work, with all that these are to do; for one at work others at work, with what they
// began and with what they asked for before it.
func (t *turns) ahead(own *turn) (out []*turn) {
	before := true
	for _, o := range t.line {
		switch {
		case o == own:
			before = false
		case own.begun && !o.begun, !own.begun && !o.begun && !before:
		case len(t.meets(own.next(), own.sees(o))) > 0:
			out = append(out, o)
		}
	}
	return out
}

// next are the tasks that it is to begin.
func (t *turn) next() []agency.Contract {
	if t.begun {
		return t.more
	}
	return t.tasks
}

// sees is another as far as it counts for this one.
func (t *turn) sees(o *turn) *turn {
	all := o.tasks
	if !t.begun || o.asked < t.asked {
		all = slices.Concat(all, o.more)
	}
	return &turn{of: o.of, tasks: all}
}

// circle is one at work for whom a workstream would wait, and who waits for it, be it over
// others; nil: there is none.
func (t *turns) circle(own *turn) *turn {
	seen := map[*turn]bool{}
	var reaches func(o *turn) bool
	reaches = func(o *turn) bool {
		if o == own || seen[o] {
			return o == own
		}
		seen[o] = true
		return slices.ContainsFunc(t.ahead(o), reaches)
	}
	for _, first := range t.ahead(own) {
		if reaches(first) {
			return first
		}
	}
	return nil
}

// tellTurn says for whom a workstream waits, and why.
func (t *turns) tellTurn(c flow.Ctx, own, first *turn, tasks []agency.Contract) error {
	who := fmt.Sprintf("the tasks of %s begin", own.of)
	switch {
	case own.begun:
		who = "the new tasks of " + string(own.of) + " begin"
	case slices.ContainsFunc(tasks, func(t agency.Contract) bool { return t.ID == own.of }):
		who = string(own.of) + " begins"
	}
	return t.note(c, own, first, fmt.Sprintf("%s when %s has ended: both may change %s", who, first.of, t.meets(tasks, own.sees(first))[0]))
}

// note writes into the log what there is between two workstreams.
func (t *turns) note(c flow.Ctx, own, first *turn, text string) error {
	note := tierlog.Note{Run: t.run, Contract: own.of, Text: text}
	_, err := flow.Call(c, tierlog.RecordNote, contractrun.Path(t.key(own.of, "after"), first.of), note)
	return err
}

// meets say which of a workstream's tasks may change what those of another may, too.
func (t *turns) meets(mine []agency.Contract, theirs *turn) (out []string) {
	for _, m := range mine {
		for _, o := range theirs.tasks {
			x, _, meet := agency.Overlap(m.WriteSet(), o.WriteSet(), t.shared)
			switch {
			case !meet:
			case o.ID == theirs.of:
				out = append(out, fmt.Sprintf("%s and %s: %s", m.ID, o.ID, x))
			default:
				out = append(out, fmt.Sprintf("%s and %s of %s: %s", m.ID, o.ID, theirs.of, x))
			}
		}
	}
	return out
}

// leave takes a workstream out of the line, where it stands there: it has ended, or what it
// does is planned anew.
func (t *turns) leave(c flow.Ctx, of agency.ContractID) error {
	own := t.of(of)
	if own == nil {
		return nil
	}
	t.line = slices.DeleteFunc(t.line, func(o *turn) bool { return o == own })
	return t.wake(c, of, "left")
}

// wake lets those who wait look again, after what a workstream did.
func (t *turns) wake(c flow.Ctx, of agency.ContractID, step string) error {
	for _, o := range slices.Clone(t.line) {
		if !o.waits {
			continue
		}
		o.waits = false
		if err := schedule.Wake(c, contractrun.Path(t.key(of, step), o.of), t.run, turnSignal(o.of)); err != nil {
			return err
		}
	}
	return nil
}
