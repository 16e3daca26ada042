package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// ConflictStatus says how far a conflict has come.
type ConflictStatus string

// The statuses of a conflict. What is escalated can still be resolved.
const (
	ConflictOpen      ConflictStatus = "open"
	ConflictEscalated ConflictStatus = "escalated"
	ConflictResolved  ConflictStatus = "resolved"
)

// Conflict is what agents disagree on, until it is resolved with a proof.
type Conflict struct {
	ID       int64              `json:"id"`
	Run      agency.RunID       `json:"run_id"`
	Kind     ConflictKind       `json:"type"`
	Resource string             `json:"resource"` // the file or the contract
	Agents   []agency.AgentID   `json:"agents"`
	Evidence []agency.MessageID `json:"evidence"` // the messages, or the landings' steps, that show it
	Status   ConflictStatus     `json:"status"`
	// EscalatedTo is the gate or the message to the manager.
	EscalatedTo string    `json:"escalated_to,omitempty"`
	By          string    `json:"decided_by,omitempty"`
	How         string    `json:"how,omitempty"`
	Proof       Proof     `json:"proof,omitzero"`
	CreatedAt   time.Time `json:"created_at"`
	DecidedAt   time.Time `json:"decided_at,omitzero"`
}

func (c Conflict) String() string {
	if c.Kind == FileWrite {
		return fmt.Sprintf("%v have changed %s apart from each other", c.Agents, c.Resource)
	}
	return fmt.Sprintf("%v disagree in their reviews of %s", c.Agents, c.Resource)
}

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

// DetectConflicts records the conflicts that a run's messages show and returns
// those that are new. Work built on the other's is no conflict; built tells
// whether a commit has another in its history, nil: only one begun at it.
func DetectConflicts(tx *store.Tx, run agency.RunID, built func(commit, on agency.OID) bool) ([]Conflict, error) {
	all, err := testimony(tx, run)
	if err != nil {
		return nil, err
	}
	known, err := Conflicts(tx, run)
	if err != nil {
		return nil, err
	}
	var fresh []Conflict
	for _, c := range clashes(all, built) {
		id, ok, err := record(tx, run, c, known)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		now, err := ConflictOf(tx, run, id)
		if err != nil {
			return nil, err
		}
		ev := agency.NewEvent(run, agency.SeverityWarning, "conflict: "+now.String(), agency.Log{})
		ev.RelatedMessage = c.evidence[len(c.evidence)-1]
		if err := appendEvent(tx, ev); err != nil {
			return nil, err
		}
		fresh = append(fresh, now)
	}
	return fresh, nil
}

// RecordConflict writes down a conflict that something other than messages has
// shown: c.Kind, Resource, Agents and Evidence, here the steps that failed. The
// same evidence again is nothing.
func RecordConflict(tx *store.Tx, run agency.RunID, c Conflict) error {
	if c.Resource == "" || len(c.Agents) < 2 || len(c.Evidence) == 0 {
		return agency.Errorf(agency.KindInvalid, "conflict of %v over %q shown by %v: want two agents, a resource and evidence", c.Agents, c.Resource, c.Evidence)
	}
	known, err := Conflicts(tx, run)
	if err != nil {
		return err
	}
	_, fresh, err := record(tx, run, clash{c.Kind, c.Resource, c.Agents, c.Evidence}, known)
	if err != nil || !fresh {
		return err
	}
	return appendEvent(tx, agency.NewEvent(run, agency.SeverityWarning, "conflict: "+c.String(), agency.Log{}))
}

// record writes a clash down: as a new conflict, or as what one that is not
// resolved has grown to. What a resolution was about is not opened again.
func record(tx *store.Tx, run agency.RunID, c clash, known []Conflict) (id int64, fresh bool, err error) {
	agents, err := json.Marshal(c.agents)
	if err != nil {
		return 0, false, err
	}
	evidence, err := json.Marshal(c.evidence)
	if err != nil {
		return 0, false, err
	}
	for _, k := range known {
		switch {
		case k.Kind != c.kind || k.Resource != c.resource:
		case containsAll(k.Evidence, c.evidence):
			return 0, false, nil
		case k.Status != ConflictResolved:
			_, err := tx.Exec(`UPDATE board_conflict SET agents = ?, evidence = ?, status = 'open', escalated = '' WHERE seq = ?`,
				string(agents), string(evidence), k.ID)
			return k.ID, true, err
		}
	}
	res, err := tx.Exec(`INSERT INTO board_conflict (run_id, kind, resource, agents, evidence, status, created_at) VALUES (?, ?, ?, ?, ?, 'open', ?)`,
		string(run), string(c.kind), c.resource, string(agents), string(evidence), store.Micros(tx.Now))
	if err != nil {
		return 0, false, err
	}
	id, err = res.LastInsertId()
	return id, true, err
}

func containsAll(all, some []agency.MessageID) bool {
	return !slices.ContainsFunc(some, func(id agency.MessageID) bool { return !slices.Contains(all, id) })
}

// testimony are the messages of a run that can show a conflict.
func testimony(tx *store.Tx, run agency.RunID) ([]said, error) {
	ms, err := messages(tx, `WHERE m.run_id = ? AND m.type IN ('task_complete', 'review_approved', 'review_feedback', 'review_rejected', 'revision_requested')`, string(run))
	if err != nil {
		return nil, err
	}
	out := make([]said, len(ms))
	for i, m := range ms {
		out[i] = said{m, m.Payload}
		if m.PayloadHash == "" {
			continue
		}
		if out[i].payload, err = tx.Blob(m.PayloadHash); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Resolve stores the resolution of a conflict, if its proof holds and the
// conflict is still the one that it was held against. A claim is not enough:
// KindInvalid without a proof and a check of it, and where the check fails;
// KindConflict where the conflict has been resolved or has grown meanwhile. The
// same resolution again is nothing.
func (b *Board) Resolve(ctx context.Context, run agency.RunID, id int64, r Resolution) error {
	return resolve(ctx, b.db, b.db.Write, run, id, r)
}

// ResolveFenced is Resolve for a host of this fence.
func ResolveFenced(ctx context.Context, db *store.DB, f agency.Fence, run agency.RunID, id int64, r Resolution) error {
	return resolve(ctx, db, func(ctx context.Context, fn func(*store.Tx) error) error { return db.WriteFenced(ctx, f, fn) }, run, id, r)
}

func resolve(ctx context.Context, db *store.DB, write func(context.Context, func(*store.Tx) error) error, run agency.RunID, id int64, r Resolution) error {
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
	return write(ctx, func(tx *store.Tx) error { return settleConflict(tx, c, r) })
}

func (r Resolution) check(id int64) error {
	switch {
	case !slices.Contains([]ProofKind{ProofCommit, ProofReceipt, ProofMessage, ProofGate}, r.Proof.Kind) || r.Proof.Ref == "":
		return agency.Errorf(agency.KindInvalid, "conflict %d: proof %q %q: want a commit, receipt, message or gate by name", id, r.Proof.Kind, r.Proof.Ref)
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
	if _, err := tx.Exec(`UPDATE board_conflict SET status = 'resolved', decided_by = ?, how = ?, proof_kind = ?, proof = ?, decided_at = ? WHERE seq = ?`,
		r.By, r.How, string(r.Proof.Kind), r.Proof.Ref, store.Micros(tx.Now), seen.ID); err != nil {
		return err
	}
	text := fmt.Sprintf("conflict over %s resolved by %s: %s (%s %s)", seen.Resource, r.By, r.How, r.Proof.Kind, r.Proof.Ref)
	return appendEvent(tx, agency.NewEvent(seen.Run, agency.SeverityInfo, text, agency.Log{}))
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
			ID: agency.MessageID(to), RunID: run, From: agency.FromSystem, ToRole: manager, Type: agency.MessageEscalate,
			Subject: "Conflict: " + string(c.Kind), Body: "Conflict: " + c.String() + ".", Payload: payload,
		}
		if err := Send(tx, m); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(`UPDATE board_conflict SET status = 'escalated', escalated = ? WHERE seq = ?`, to, id); err != nil {
		return err
	}
	return appendEvent(tx, agency.NewEvent(run, agency.SeverityWarning, "conflict escalated: "+c.String(), agency.Escalated{Reason: c.String()}))
}

// Conflicts are those of a run, in the order in which they were found.
func Conflicts(q store.Querier, run agency.RunID) ([]Conflict, error) {
	return conflicts(q, `WHERE run_id = ? ORDER BY seq`, string(run))
}

// ConflictOf reads one conflict.
func ConflictOf(q store.Querier, run agency.RunID, id int64) (Conflict, error) {
	found, err := conflicts(q, `WHERE run_id = ? AND seq = ?`, string(run), id)
	if err != nil {
		return Conflict{}, err
	}
	if len(found) == 0 {
		return Conflict{}, agency.Errorf(agency.KindNotFound, "run %s has no conflict %d", run, id)
	}
	return found[0], nil
}

func conflicts(q store.Querier, where string, args ...any) ([]Conflict, error) {
	rows, err := q.Query(`SELECT seq, run_id, kind, resource, agents, evidence, status, escalated, decided_by, how,
proof_kind, proof, created_at, decided_at FROM board_conflict `+where, args...)
	if err != nil {
		return nil, err
	}
	var out []Conflict
	for rows.Next() {
		var c Conflict
		var agents, evidence string
		var created, decided int64
		if err := rows.Scan(&c.ID, &c.Run, &c.Kind, &c.Resource, &agents, &evidence, &c.Status, &c.EscalatedTo, &c.By, &c.How,
			&c.Proof.Kind, &c.Proof.Ref, &created, &decided); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(agents), &c.Agents); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(evidence), &c.Evidence); err != nil {
			return nil, err
		}
		c.CreatedAt, c.DecidedAt = store.Time(created), moment(decided)
		out = append(out, c)
	}
	return out, rows.Err()
}
