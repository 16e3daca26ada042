package land

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/reservation"
	"agency/internal/store"
)

// maxBatch bounds how many landings are verified as one tree: the more there
// are, the likelier one is red and all of it was for nothing.
const maxBatch = 8

// waiter is a landing that waits for its turn on its level. Whoever has the turn may
// land it with its own; out and done are of whoever holds the level's lock.
type waiter struct {
	l    *landing
	out  Outcome
	done bool
}

func (w *waiter) end(out Outcome) { w.out, w.done = out, true }

// waiting are the landings of each level in the order in which they came.
type waiting struct {
	mu  sync.Mutex
	all map[string][]*waiter // by placeOf
}

func (w *waiting) join(place string, x *waiter) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string][]*waiter{}
	}
	w.all[place] = append(w.all[place], x)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all[place] = slices.DeleteFunc(w.all[place], func(y *waiter) bool { return x == y })
		if len(w.all[place]) == 0 {
			delete(w.all, place)
		}
	}
}

func (w *waiting) list(place string) []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all[place])
}

// queued are the landings on a level that wait, who has the turn among them, in the
// order in which they came; order is where each of them belongs: who has changed
// undeclared what another declares goes after that one.
func (q *Queue) queued(ctx context.Context, spec Spec) (queued []*waiter, order []int, err error) {
	queued = slices.DeleteFunc(q.waiting.list(placeOf(spec.Run, spec.Line)), func(x *waiter) bool { return x.done })
	if len(queued) < 2 {
		return queued, nil, nil
	}
	waiting := make([]agency.Landing, len(queued))
	err = q.o.DB.Read(ctx, func(s *store.Snapshot) error {
		edits, err := board.EditsOf(s, spec.Run)
		for i, w := range queued {
			waiting[i] = agency.Landing{Contract: w.l.contract, Edited: edits[w.l.spec.Contract]}
		}
		return err
	})
	return queued, agency.LandingOrder(waiting, nil), err // shared files are in no record of edits
}

// batch are the landings that wait and go together: none, unless others wait
// and the run's checks take long.
func (q *Queue) batch(ctx context.Context, run agency.RunID, queued []*waiter, order []int) ([]*waiter, error) {
	if len(queued) < 2 || q.o.Took == nil {
		return nil, nil
	}
	took, err := q.o.Took(ctx, run)
	if err != nil {
		return nil, err
	}
	above, err := q.o.batchAbove(ctx, run)
	if err != nil || took < above {
		return nil, err
	}
	out := make([]*waiter, 0, len(queued))
	for _, at := range order {
		out = append(out, queued[at])
	}
	return out[:min(len(out), maxBatch)], nil
}

// landPredecessors lands those that go before one, however the turn came to it. What goes
// wrong there is for those whose landing it is: each tries by itself.
func landPredecessors(ctx context.Context, queued []*waiter, order []int, w *waiter) {
	own := slices.Index(queued, w)
	for _, at := range order {
		if at == own {
			return
		}
		if out, err := queued[at].l.landAlone(ctx); err == nil {
			queued[at].end(out)
		}
	}
}

func (o Options) batchAbove(ctx context.Context, run agency.RunID) (above time.Duration, err error) {
	if o.BatchAbove != nil {
		above, err = o.BatchAbove(ctx, run)
	}
	return cmp.Or(above, time.Minute), err
}

// landBatch lands as many of a batch as go together, and finds out by halving
// which make it red: each of those is told alone, on top of what landed before
// it. Who is left out goes on waiting: what it does not go with may never land.
// red is a tree that is known to fail.
func (q *Queue) landBatch(ctx context.Context, batch []*waiter, red agency.OID) error {
	for range maxSwaps {
		head, steps, in, err := stack(ctx, batch)
		switch {
		case err != nil || len(steps) == 0:
			return err
		case len(steps) == 1:
			out, err := in[0].l.landAlone(ctx)
			if err == nil {
				in[0].end(out)
			}
			return err
		}
		tip := steps[len(steps)-1].cand
		tip.Head, tip.Criteria = head, nil
		for _, s := range steps {
			tip.Criteria = append(tip.Criteria, s.cand.Criteria...)
		}
		if tip.Tree == red {
			return q.bisect(ctx, in, red)
		}
		reasons, err := q.o.Verifier.VerifyLanding(ctx, tip)
		if err != nil {
			return err
		}
		if len(reasons) > 0 {
			return q.bisect(ctx, in, tip.Tree)
		}
		moved, err := moveAll(ctx, head, steps)
		if err != nil {
			return err
		}
		if moved {
			for i, s := range steps {
				in[i].end(Outcome{Landed: s.landed(len(steps), tip.Tree)})
			}
			return nil
		}
	}
	return nil // somebody moves the branch; each tries by itself and says so
}

func (q *Queue) bisect(ctx context.Context, batch []*waiter, red agency.OID) error {
	half := len(batch) / 2
	if err := q.landBatch(ctx, batch[:half], ""); err != nil {
		return err
	}
	return q.landBatch(ctx, batch[half:], red)
}

// stack makes the commits of a batch on top of each other, from the branch's
// head on. A landing that conflicts, needs a structural merge, changes nothing
// or is refused is left out, and so is one that has landed before.
func stack(ctx context.Context, batch []*waiter) (head agency.OID, steps []*step, in []*waiter, err error) {
	first := batch[0].l
	if head, err = first.level.head(ctx); err != nil || head == "" {
		return head, nil, nil, err
	}
	at := head
	for _, w := range batch {
		was, err := w.l.already(ctx, head)
		if err != nil {
			return head, nil, nil, err
		}
		if was != nil {
			w.end(Outcome{Landed: was})
			continue
		}
		l := *w.l
		l.trial = true
		cand, _, err := l.merge(ctx, at)
		if err != nil {
			return head, nil, nil, err
		}
		if cand == nil || len(cand.Structural) > 0 {
			continue
		}
		s := &step{landing: w.l, cand: *cand}
		if s.commit, err = l.run.Dir().Commits().Write(ctx, cand.Tree, l.parents(at), l.message(), identity(l.run)); err != nil {
			return head, nil, nil, err
		}
		at, steps, in = s.commit, append(steps, s), append(in, w)
	}
	first.o.reached("land.stacked")
	return head, steps, in, nil
}

// step is a landing whose commit is made.
type step struct {
	*landing
	cand   Candidate
	commit agency.OID
}

func (s *step) landed(batch int, checked agency.OID) *Landed {
	return &Landed{Commit: s.commit, Tree: s.cand.Tree, MergeDetails: s.mergeDetails(batch, checked)}
}

func (s *step) mergeDetails(batch int, checked agency.OID) agency.MergeDetails {
	if batch == 1 {
		batch = 0
	}
	return agency.MergeDetails{Structural: s.cand.Structural, Batch: batch, Lost: s.spec.Lost, Checked: checked}
}

// moveAll is the effect: intents, objects, one swap from the head to the last
// commit, acknowledgements. The tree of the last commit is the one that was
// verified; no other becomes a head. It is false where the branch has moved.
func moveAll(ctx context.Context, head agency.OID, steps []*step) (moved bool, err error) {
	l, tip := steps[0], steps[len(steps)-1]
	l.o.reached("land.intent.before")
	if begun, err := beginAll(ctx, head, steps); err != nil || !begun {
		return false, err
	}
	l.o.reached("land.intent.after")
	if moved, err := tip.level.advance(ctx, tip, head); err != nil || !moved {
		return false, err
	}
	l.o.reached("land.ref")
	if err := l.o.write(ctx, func(tx *store.Tx) error {
		for _, s := range steps {
			if err := s.done(tx, s.commit); err != nil {
				return err
			}
			if err := reservation.Landed(tx, s.spec.Run, s.spec.Contract, s.cand.took); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return false, err
	}
	l.o.reached("land.done")
	return true, nil
}

// beginAll writes the intents, in the transaction that reads once more which names others
// hold: who reserves one before it is asked about the change, who comes after it finds
// the landing begun. It is false where a name is taken that was reserved meanwhile; then the
// landing starts over, and says so.
func beginAll(ctx context.Context, head agency.OID, steps []*step) (begun bool, err error) {
	l, tip := steps[0], steps[len(steps)-1]
	for {
		fresh := make([][]agency.Reservation, len(steps))
		if err := l.o.write(ctx, func(tx *store.Tx) error {
			if begun, err = compared(tx, steps, fresh); err != nil || !begun {
				return err
			}
			old := head
			for _, s := range steps {
				in := s.intent()
				in.Old, in.MergeDetails = old, s.mergeDetails(len(steps), tip.cand.Tree)
				if err := putIntent(tx, in); err != nil {
					return err
				}
				old = s.commit
			}
			return nil
		}); err != nil || begun {
			return begun, err
		}
		old := head
		for i, s := range steps {
			taken, err := s.takes(ctx, &s.cand, old, fresh[i])
			if err != nil || len(taken) > 0 {
				return false, err
			}
			old = s.commit
		}
	}
}

func (s *step) intent() intent {
	return intent{Step: s.key, Run: s.spec.Run, Contract: s.spec.Contract, Ref: s.level.ref(), New: s.commit}
}

// done closes the intent and appends the event, once.
func (l *landing) done(tx *store.Tx, commit agency.OID) error {
	first, err := closeIntent(tx, intent{Step: l.key, Run: l.spec.Run, Contract: l.spec.Contract, Ref: l.level.ref(), New: commit})
	if err != nil || !first {
		return err
	}
	how, err := mergeDetails(tx, l.key)
	if err == nil {
		err = board.Landed(tx, l.spec.Run, l.spec.Contract, commit)
	}
	if err != nil {
		return err
	}
	kind, name := placeWords(l.level.ref())
	return appendEvent(tx, agency.NewEvent(l.spec.Run, agency.SeverityInfo, l.contract.Title+" integrated into "+name+howWords(how), agency.Merged{
		Contract: l.spec.Contract, Commit: commit, Step: l.key, Branch: name, Level: kind, MergeDetails: how,
	}), l.spec.Contract)
}

// howWords says how a landing came about, where it was more than a merge of
// lines.
func howWords(how agency.MergeDetails) string {
	words := ""
	if len(how.Structural) > 0 {
		words += ", merged structurally in " + strings.Join(how.Structural, ", ")
	}
	if how.Batch > 0 {
		words += fmt.Sprintf(", in a batch of %d verified as one tree", how.Batch)
	}
	return words
}
