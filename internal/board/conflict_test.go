package board

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

func complete(id, from, base, commit string, files ...string) said {
	return said{
		agency.Message{ID: agency.MessageID(id), From: from, Type: agency.MessageTaskComplete},
		fmt.Appendf(nil, `{"base":%q,"commit":%q,"files_modified":["%s"]}`, base, commit, strings.Join(files, `","`)),
	}
}

func reviewed(id, from string, typ agency.MessageType, payload string) said {
	return said{agency.Message{ID: agency.MessageID(id), From: from, Type: typ, ContractID: "main"}, []byte(payload)}
}

func TestClashes(t *testing.T) {
	const ok, bad = agency.MessageReviewApproved, agency.MessageReviewFeedback
	history := func(commit, on agency.OID) bool { return commit == "c9" && on == "c1" }
	for name, tt := range map[string]struct {
		all  []said
		want string
	}{
		"nothing":                       {nil, ""},
		"one agent twice":               {[]said{complete("1", "ada", "", "", "a.go"), complete("2", "ada", "", "", "a.go")}, ""},
		"two files":                     {[]said{complete("1", "ada", "", "", "a.go"), complete("2", "bob", "", "", "b.go")}, ""},
		"one file":                      {[]said{complete("1", "bob", "", "", "a.go", "c.go"), complete("2", "ada", "", "", "b.go", "a.go")}, "a.go[ada bob][2 1]"},
		"one on the other":              {[]said{complete("1", "ada", "c0", "c1", "a.go"), complete("2", "bob", "c1", "c2", "a.go")}, ""},
		"one on a descendant":           {[]said{complete("1", "ada", "c0", "c1", "a.go"), complete("2", "bob", "c9", "c2", "a.go")}, ""},
		"from one base":                 {[]said{complete("1", "ada", "c0", "c1", "a.go"), complete("2", "bob", "c0", "c2", "a.go")}, "a.go[ada bob][1 2]"},
		"a third on one of two":         {[]said{complete("1", "ada", "c0", "c1", "a"), complete("2", "bob", "c1", "c2", "a"), complete("3", "cid", "c1", "c3", "a")}, "a[bob cid][2 3]"},
		"no payload":                    {[]said{{agency.Message{From: "ada", Type: agency.MessageTaskComplete}, []byte("[]")}}, ""},
		"one reviewer changes its mind": {[]said{reviewed("1", "rex", bad, ""), reviewed("2", "rex", ok, "")}, ""},
		"two agree in the end":          {[]said{reviewed("1", "rex", bad, ""), reviewed("2", "sue", ok, ""), reviewed("3", "rex", ok, "")}, ""},
		"two disagree":                  {[]said{reviewed("1", "rex", bad, ""), reviewed("2", "sue", ok, "")}, "main[rex sue][1 2]"},
		"not on the same work":          {[]said{reviewed("1", "rex", bad, `{"commit":"c1"}`), reviewed("2", "sue", ok, `{"commit":"c2"}`)}, ""},
		"the verdict counts":            {[]said{reviewed("1", "rex", bad, `{"verdict":"approve"}`), reviewed("2", "sue", ok, "")}, ""},
	} {
		var got []string
		for _, c := range clashes(tt.all, history) {
			got = append(got, fmt.Sprintf("%s%v%v", c.resource, c.agents, c.evidence))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %q", name, got, tt.want)
		}
	}
}

func (d *desk) detect(want int) (cs []Conflict) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) { cs, err = DetectConflicts(tx, run, nil); return err })
	if len(cs) != want {
		d.Fatalf("found %+v, want %d", cs, want)
	}
	return cs
}

func (d *desk) conflict(id int64) (c Conflict) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) { c, err = ConflictOf(tx, run, id); return err })
	return c
}

func TestAConflictIsResolvedByAProof(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.join("ada", "bob", "cid")
	d.hand(b, "1", pack("ada", "a.go"))
	d.detect(0)
	d.hand(b, "2", pack("bob", "a.go"))
	id := d.detect(1)[0].ID
	d.detect(0) // known
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
		if err := b.Resolve(t.Context(), run, id, r); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := merged
	r.Proof = Proof{ProofMessage, "nowhere"}
	if err := b.Resolve(t.Context(), run, id, r); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("an unknown message: %v", err)
	}
	if c := d.conflict(id); c.Status != ConflictOpen || c.Proof != (Proof{}) {
		t.Fatalf("%+v", c)
	}
	r = merged
	r.Check = func(context.Context, Conflict, Proof) error { // it grows while the proof is checked
		d.hand(b, "3", pack("cid", "a.go"))
		d.detect(1)
		return nil
	}
	if err := b.Resolve(t.Context(), run, id, r); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a proof of less: %v", err)
	}
	if c := d.conflict(id); len(c.Agents) != 3 {
		t.Errorf("%+v", c)
	}
	for range 2 {
		if err := b.Resolve(t.Context(), run, id, merged); err != nil {
			t.Fatal(err)
		}
	}
	if c := d.conflict(id); c.Status != ConflictResolved || c.Proof != merged.Proof || c.By != agency.FromSystem {
		t.Errorf("%+v", c)
	}
	d.detect(0)
	d.hand(b, "4", pack("ada", "a.go")) // apart from what was merged, again
	d.detect(1)
}

func TestAConflictIsEscalated(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.join("ada", "bob")
	d.hand(b, "1", pack("ada", "a.go", "b.go"))
	d.hand(b, "2", pack("bob", "a.go", "b.go"))
	found := d.detect(2)
	for range 2 { // the second time is nothing
		d.do(func(tx *store.Tx) error { return Escalate(tx, run, found[0].ID, "") })
		d.do(func(tx *store.Tx) error { return Escalate(tx, run, found[1].ID, "gate-1") })
	}
	if c := d.conflict(found[1].ID); c.Status != ConflictEscalated || c.EscalatedTo != "gate-1" {
		t.Errorf("%+v", c)
	}
	d.do(func(tx *store.Tx) error {
		m, err := Get(tx, run, agency.MessageID(d.escalatedTo(tx, found[0].ID)))
		if m.ToRole != manager || m.Type != agency.MessageEscalate {
			t.Errorf("%+v", m)
		}
		ms, _ := Messages(tx, run)
		if len(ms) != 3 {
			t.Errorf("%d messages", len(ms))
		}
		return err
	})
	d.refuse(agency.KindNotFound, func(tx *store.Tx) error { return Escalate(tx, "other", found[0].ID, "") })
	ok := Resolution{By: "human", How: "kept bob's", Proof: Proof{ProofGate, "gate-1"}, Check: func(context.Context, Conflict, Proof) error { return nil }}
	if err := b.Resolve(t.Context(), run, found[1].ID, ok); err != nil {
		t.Error(err)
	}
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return Escalate(tx, run, found[1].ID, "") })
}

func (d *desk) escalatedTo(tx *store.Tx, id int64) string {
	c, err := ConflictOf(tx, run, id)
	if err != nil {
		d.Error(err)
	}
	return c.EscalatedTo
}
