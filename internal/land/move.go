package land

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/store"
)

// step is a landing whose commit is made.
type step struct {
	*landing
	cand   Candidate
	commit agency.OID
}

func (s *step) landed(batch int) *Landed {
	return &Landed{Commit: s.commit, Tree: s.cand.Tree, Interwoven: s.interwoven(batch)}
}

func (s *step) interwoven(batch int) agency.Interwoven {
	if batch == 1 {
		batch = 0
	}
	return agency.Interwoven{Structural: s.cand.Structural, Batch: batch, Lost: s.spec.Lost}
}

// moveAll is the effect: intents, objects, one swap from the head to the last
// commit, acknowledgements. The tree of the last commit is the one that was
// verified; no other becomes a head. It is false where the branch has moved.
func moveAll(ctx context.Context, head agency.OID, steps []*step) (moved bool, err error) {
	l, tip := steps[0], steps[len(steps)-1]
	l.o.reached("land.intent.before")
	if err := l.o.write(ctx, func(tx *store.Tx) error {
		old := head
		for _, s := range steps {
			in := s.intent()
			in.Old, in.Interwoven = old, s.interwoven(len(steps))
			if err := putIntent(tx, in); err != nil {
				return err
			}
			old = s.commit
		}
		return nil
	}); err != nil {
		return false, err
	}
	l.o.reached("land.intent.after")
	if err := send(ctx, l.run, tip.commit, head); err != nil {
		return false, err
	}
	l.o.reached("land.objects")
	if moved, err := tip.advance(ctx, tip.commit, head); err != nil || !moved {
		return false, err
	}
	l.o.reached("land.ref")
	if err := l.o.write(ctx, func(tx *store.Tx) error {
		for _, s := range steps {
			if err := s.done(tx, s.commit); err != nil {
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

func (s *step) intent() intent {
	return intent{Step: s.key, Run: s.spec.Run, Contract: s.spec.Contract, Ref: s.ref, New: s.commit}
}

// done closes the intent and appends the event, once.
func (l *landing) done(tx *store.Tx, commit agency.OID) error {
	first, err := closeIntent(tx, intent{Step: l.key, Run: l.spec.Run, Contract: l.spec.Contract, Ref: l.ref, New: commit})
	if err != nil || !first {
		return err
	}
	how, err := interwoven(tx, l.key)
	if err == nil {
		err = board.Landed(tx, l.spec.Run, l.spec.Contract, commit)
	}
	if err != nil {
		return err
	}
	return appendEvent(tx, agency.NewEvent(l.spec.Run, agency.SeverityInfo, l.contract.Title+" landed on "+l.record.Branch+howWords(how), agency.Merged{
		Contract: l.spec.Contract, Commit: commit, Step: l.key, Branch: l.record.Branch, Interwoven: how,
	}), l.spec.Contract)
}

// howWords says how a landing came about, where it was more than a merge of
// lines.
func howWords(how agency.Interwoven) string {
	words := ""
	if len(how.Structural) > 0 {
		words += ", merged structurally in " + strings.Join(how.Structural, ", ")
	}
	if how.Batch > 0 {
		words += fmt.Sprintf(", in a batch of %d verified as one tree", how.Batch)
	}
	return words
}
