package board

import (
	"context"
	"errors"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

// clash records that agents have changed a file apart, as a landing shows it.
func (d *desk) clash(file string, evidence agency.MessageID, agents ...agency.AgentID) (c Conflict) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) {
		c, err = RecordConflict(tx, run, Conflict{Kind: FileWrite, Resource: file, Agents: agents, Evidence: []agency.MessageID{evidence}})
		return err
	})
	return c
}

func (d *desk) conflict(id int64) (c Conflict) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) { c, err = ConflictOf(tx, run, id); return err })
	return c
}

func (d *desk) conflicts() (cs []Conflict) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) { cs, err = Conflicts(tx, run); return err })
	return cs
}

// TestAConflictNeedsEvidence: half of one is refused, with nothing written.
func TestAConflictNeedsEvidence(t *testing.T) {
	d := newDesk(t)
	both := []agency.AgentID{"ada", "bob"}
	for name, c := range map[string]Conflict{
		"of one agent": {Kind: FileWrite, Resource: "a.go", Agents: both[:1], Evidence: []agency.MessageID{"1"}},
		"over nothing": {Kind: FileWrite, Agents: both, Evidence: []agency.MessageID{"1"}},
		"by nothing":   {Kind: FileWrite, Resource: "a.go", Agents: both},
	} {
		t.Run(name, func(*testing.T) {
			d.refuse(agency.KindInvalid, func(tx *store.Tx) error { _, err := RecordConflict(tx, run, c); return err })
		})
	}
	if cs := d.conflicts(); len(cs) != 0 {
		t.Errorf("%+v", cs)
	}
}

func TestAConflictIsResolvedByAProof(t *testing.T) {
	d := newDesk(t)
	id := d.clash("a.go", "1", "ada", "bob").ID
	if again := d.clash("a.go", "1", "ada", "bob"); again.ID != id || len(d.conflicts()) != 1 {
		t.Fatalf("the same again is %+v of %+v", again, d.conflicts())
	}
	holds := func(context.Context, Conflict, Proof) error { return nil }
	merged := Resolution{By: agency.FromSystem, How: "merged", Proof: Proof{ProofCommit, "c3"}, Check: holds}
	for name, change := range map[string]func(*Resolution){
		"a claim":       func(r *Resolution) { r.Proof = Proof{} },
		"an odd proof":  func(r *Resolution) { r.Proof.Kind = "word" },
		"not looked at": func(r *Resolution) { r.Check = nil },
		"nobody":        func(r *Resolution) { r.By = "" },
		"no way":        func(r *Resolution) { r.How = " " },
		"it fails": func(r *Resolution) {
			r.Check = func(context.Context, Conflict, Proof) error { return errors.New("no") }
		},
	} {
		r := merged
		change(&r)
		if err := Resolve(t.Context(), d.DB, agency.Fence{}, run, id, r); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := merged
	r.Proof = Proof{ProofMessage, "nowhere"}
	if err := Resolve(t.Context(), d.DB, agency.Fence{}, run, id, r); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("an unknown message: %v", err)
	}
	if c := d.conflict(id); c.Status != ConflictOpen || c.Proof != (Proof{}) {
		t.Fatalf("%+v", c)
	}
	r = merged
	r.Check = func(context.Context, Conflict, Proof) error { // it grows while the proof is checked
		d.clash("a.go", "3", "cid", "ada")
		return nil
	}
	if err := Resolve(t.Context(), d.DB, agency.Fence{}, run, id, r); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a proof of less: %v", err)
	}
	if c := d.conflict(id); len(c.Agents) != 3 || len(c.Evidence) != 2 {
		t.Errorf("%+v", c)
	}
	for range 2 {
		if err := Resolve(t.Context(), d.DB, agency.Fence{}, run, id, merged); err != nil {
			t.Fatal(err)
		}
	}
	if c := d.conflict(id); c.Status != ConflictResolved || c.Proof != merged.Proof || c.By != agency.FromSystem {
		t.Errorf("%+v", c)
	}
	if c := d.clash("a.go", "3", "cid", "ada"); c.Status != ConflictResolved || len(d.conflicts()) != 1 {
		t.Errorf("what was resolved is open again: %+v", c)
	}
	if c := d.clash("a.go", "4", "ada", "bob"); c.ID == id || c.Status != ConflictOpen { // apart from what was merged, again
		t.Errorf("%+v", c)
	}
	var open []Conflict
	d.do(func(tx *store.Tx) (err error) { open, err = Unresolved(tx, run); return err })
	if len(open) != 1 || open[0].ID == id {
		t.Errorf("not resolved: %+v", open)
	}
}

func TestAConflictIsEscalated(t *testing.T) {
	d := newDesk(t)
	found := []Conflict{d.clash("a.go", "1", "ada", "bob"), d.clash("b.go", "1", "ada", "bob")}
	for range 2 { // the second time is nothing
		d.do(func(tx *store.Tx) error { return Escalate(tx, run, found[0].ID, "") })
		d.do(func(tx *store.Tx) error { return Escalate(tx, run, found[1].ID, "gate-1") })
	}
	if c := d.conflict(found[1].ID); c.Status != ConflictEscalated || c.EscalatedTo != "gate-1" {
		t.Errorf("%+v", c)
	}
	d.do(func(tx *store.Tx) error {
		m, err := Get(tx, run, agency.MessageID(d.escalatedTo(tx, found[0].ID)))
		if m.ToRole != agency.RoleProjectManager || m.Type != agency.MessageEscalate {
			t.Errorf("%+v", m)
		}
		ms, _ := Messages(tx, run)
		if len(ms) != 1 {
			t.Errorf("%d messages", len(ms))
		}
		return err
	})
	d.refuse(agency.KindNotFound, func(tx *store.Tx) error { return Escalate(tx, "other", found[0].ID, "") })
	ok := Resolution{By: "human", How: "kept bob's", Proof: Proof{ProofGate, "gate-1"}, Check: func(context.Context, Conflict, Proof) error { return nil }}
	if err := Resolve(t.Context(), d.DB, agency.Fence{}, run, found[1].ID, ok); err != nil {
		t.Error(err)
	}
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return Escalate(tx, run, found[1].ID, "") })
}

// TestARunEndsWithItsConflicts: what nobody has decided is decided by the end of
// the run, and says so; what was resolved keeps its proof.
func TestARunEndsWithItsConflicts(t *testing.T) {
	d := newDesk(t)
	open, given, done := d.clash("a.go", "1", "ada", "bob"), d.clash("b.go", "1", "ada", "bob"), d.clash("c.go", "1", "ada", "bob")
	d.do(func(tx *store.Tx) error { return Escalate(tx, run, given.ID, "gate-1") })
	merged := Resolution{By: "human", How: "kept bob's", Proof: Proof{ProofGate, "gate-1"}, Check: func(context.Context, Conflict, Proof) error { return nil }}
	if err := Resolve(t.Context(), d.DB, agency.Fence{}, run, done.ID, merged); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once more is nothing
		d.do(func(tx *store.Tx) error { return End(tx, run, AgentTerminated, "the run has cancelled") })
	}
	for _, id := range []int64{open.ID, given.ID} {
		c := d.conflict(id)
		if c.Status != ConflictResolved || c.Proof != (Proof{ProofRun, string(run)}) || c.How != "the run has cancelled; nobody decided between them" || c.DecidedAt.IsZero() {
			t.Errorf("%+v", c)
		}
	}
	if c := d.conflict(done.ID); c.Proof != merged.Proof || c.How != merged.How {
		t.Errorf("%+v", c)
	}
}

func (d *desk) escalatedTo(tx *store.Tx, id int64) string {
	c, err := ConflictOf(tx, run, id)
	if err != nil {
		d.Error(err)
	}
	return c.EscalatedTo
}
