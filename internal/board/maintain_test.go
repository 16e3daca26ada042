package board

import (
	"slices"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

func TestWorn(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	prunable := func(want ...agency.RunID) {
		t.Helper()
		d.do(func(tx *store.Tx) error {
			got, err := Prunable(tx)
			if !slices.Equal(got, want) {
				t.Errorf("prunable: %v, want %v", got, want)
			}
			return err
		})
	}
	d.send(note("m1", "one"))
	prunable()
	d.do(func(tx *store.Tx) error { _, err := ClaimAll(tx, ann(), 1); return err })
	d.do(func(tx *store.Tx) error { return MarkRead(tx, ann(), "m1") })
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "m1") })
	prunable(run)
	d.do(func(tx *store.Tx) error { return Prune(tx, run) })
	prunable()

	// A message to everyone stays whole while one of its deliveries does.
	d.send(msg("m2", agency.FromSystem, agency.Everyone))
	d.do(func(tx *store.Tx) error { _, err := ClaimAll(tx, ann(), 1); return err })
	d.do(func(tx *store.Tx) error { return MarkRead(tx, ann(), "m2") })
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, ann(), "m2") })
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "bob", AgentFailed, "") })
	prunable()
	d.do(func(tx *store.Tx) error { return Prune(tx, run) })
	d.want("m2:processed")
	if m := d.all()[0]; m.Sum != "processed by 1 of 2, failed for 1" {
		t.Errorf("in sum %q", m.Sum)
	}
}
