package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/store"
)

// Proof names what shows that a conflict is resolved.
type Proof struct {
	Kind ProofKind `json:"kind"`
	Ref  string    `json:"ref"`
}

// ProofKind says what a proof's reference is.
type ProofKind string

// The kinds of proof.
const (
	ProofCommit  ProofKind = "commit"  // that contains both sides
	ProofReceipt ProofKind = "receipt" // of a check on it
	ProofMessage ProofKind = "message" // a later verdict
	ProofGate    ProofKind = "gate"    // a person's decision
	// ProofReview is a later review of one of the reviewers, by its step.
	ProofReview ProofKind = "review"
	// ProofContract is a contract that has ended and never landed its side.
	ProofContract ProofKind = "contract"
	// ProofRun is the run that has ended: nothing more of it lands.
	ProofRun ProofKind = "run"
)

// Resolution is a way out of a conflict.
type Resolution struct {
	By    string // an agent's id, agency.FromHuman or agency.FromSystem
	How   string
	Proof Proof
	// Check looks whether the proof holds: that the commit contains both sides,
	// that the receipt is there and green. It runs outside of any transaction.
	Check func(context.Context, Conflict, Proof) error
}

// Resolve stores the resolution of a conflict, if its proof holds and the
// conflict is still the one that it was held against. A claim is not enough:
// KindInvalid without a proof and a check of it, and where the check fails;
// KindConflict where the conflict has been resolved or has grown meanwhile. The
// same resolution again is nothing.
func Resolve(ctx context.Context, db *store.DB, f agency.Fence, run agency.RunID, id int64, r Resolution) error {
	if err := r.check(id); err != nil {
		return err
	}
	var c Conflict
	if err := db.Read(ctx, func(s *store.Snapshot) (err error) { c, err = ConflictOf(s, run, id); return err }); err != nil {
		return err
	}
	if c.Status == ConflictResolved && c.Proof == r.Proof {
		return nil
	}
	if err := r.Check(ctx, c, r.Proof); err != nil {
		return agency.Errorf(agency.KindInvalid, "conflict %d is not resolved: %s %s does not show it: %w", id, r.Proof.Kind, r.Proof.Ref, err)
	}
	return db.WriteFenced(ctx, f, func(tx *store.Tx) error { return settleConflict(tx, c, r) })
}

func (r Resolution) check(id int64) error {
	switch {
	case !slices.Contains([]ProofKind{ProofCommit, ProofReceipt, ProofMessage, ProofGate, ProofReview, ProofContract}, r.Proof.Kind) || r.Proof.Ref == "":
		return agency.Errorf(agency.KindInvalid, "conflict %d: proof %q %q: want a commit, receipt, message, gate, review or contract by name", id, r.Proof.Kind, r.Proof.Ref)
	case r.Check == nil:
		return agency.Errorf(agency.KindInvalid, "conflict %d: nobody has looked at %s %s", id, r.Proof.Kind, r.Proof.Ref)
	case r.By == "" || strings.TrimSpace(r.How) == "":
		return agency.Errorf(agency.KindInvalid, "conflict %d: resolved by %q as %q: want both", id, r.By, r.How)
	}
	return nil
}

func settleConflict(tx *store.Tx, seen Conflict, r Resolution) error {
	now, err := ConflictOf(tx, seen.Run, seen.ID)
	if err != nil {
		return err
	}
	if now.Status == ConflictResolved || !slices.Equal(now.Evidence, seen.Evidence) {
		return agency.Errorf(agency.KindConflict, "conflict %d has changed since its proof was checked: it is %s", seen.ID, now.Status)
	}
	if r.Proof.Kind == ProofMessage {
		if _, err := one(tx, seen.Run, agency.MessageID(r.Proof.Ref)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(resolveConflict,
		r.By, r.How, string(r.Proof.Kind), r.Proof.Ref, store.Micros(tx.Now), seen.ID); err != nil {
		return err
	}
	text := fmt.Sprintf("conflict over %s resolved by %s: %s (%s %s)", seen.Resource, r.By, r.How, r.Proof.Kind, r.Proof.Ref)
	return appendEvent(tx, agency.NewEvent(seen.Run, agency.SeverityInfo, text, agency.Log{}))
}

// closeConflicts resolves what a run leaves undecided that ends in this
// transaction, which is its proof: none of its sides will land any more.
func closeConflicts(tx *store.Tx, run agency.RunID, reason string) error {
	open, err := Unresolved(tx, run)
	if err != nil {
		return err
	}
	for _, c := range open {
		r := Resolution{By: agency.FromSystem, How: reason + "; nobody decided between them", Proof: Proof{ProofRun, string(run)}}
		if err := settleConflict(tx, c, r); err != nil {
			return err
		}
	}
	return nil
}

// Escalate hands a conflict to a gate, which the caller has opened, or, where
// gate is empty, to the project manager by a message. Once more is nothing.
func Escalate(tx *store.Tx, run agency.RunID, id int64, gate agency.GateID) error {
	c, err := ConflictOf(tx, run, id)
	switch {
	case err != nil || c.Status == ConflictEscalated:
		return err
	case c.Status == ConflictResolved:
		return agency.Errorf(agency.KindConflict, "conflict %d is resolved: %s", id, c.How)
	}
	to := string(gate)
	if gate == "" {
		payload, err := json.Marshal(c)
		if err != nil {
			return err
		}
		to = fmt.Sprintf("conflict/%d/%s", id, c.Evidence[len(c.Evidence)-1])
		m := agency.Message{
			ID: agency.MessageID(to), RunID: run, From: agency.FromSystem, ToRole: agency.RoleProjectManager, Type: agency.MessageEscalate,
			Subject: "Conflict: " + string(c.Kind), Body: "Conflict: " + c.String() + ".", Payload: payload,
		}
		if err := Send(tx, m); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(escalateConflict, to, id); err != nil {
		return err
	}
	return appendEvent(tx, agency.NewEvent(run, agency.SeverityWarning, "conflict escalated: "+c.String(), agency.Escalated{Reason: c.String()}))
}
