package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// Checkpoint is a named tree to which a workspace can be rolled back. It
// survives a crash.
type Checkpoint struct {
	ID    string
	Label string
	Tree  agency.OID
	At    time.Time
}

// CreateCheckpoint takes a snapshot and names it. It is idempotent by id: a
// second call gives the first one's checkpoint. Ids are unique in a workspace
// and chosen by the caller.
func (w *Workspace) CreateCheckpoint(ctx context.Context, id, label string) (Checkpoint, error) {
	c, err := w.checkpoint(ctx, id)
	if err == nil || agency.KindOf(err) != agency.KindNotFound {
		return c, err
	}
	tree, err := w.Snapshot(ctx)
	if err != nil {
		return c, err
	}
	c = Checkpoint{ID: id, Label: label, Tree: tree}
	return c, w.run.m.opts.DB.Write(ctx, func(tx *store.Tx) error {
		c.At = tx.Now
		_, err := tx.Exec("INSERT INTO workspace_checkpoint (run_id, workspace, id, label, tree, created_at) VALUES (?, ?, ?, ?, ?, ?)",
			string(w.run.info.Run), w.name, id, label, string(tree), tx.Now.Format(time.RFC3339Nano))
		if err != nil {
			return err
		}
		ev := agency.NewEvent(w.run.info.Run, agency.SeverityInfo, "checkpoint "+label,
			agency.CheckpointCreated{Checkpoint: id, Label: label, Tree: tree})
		ev.ContractID = agency.ContractID(w.name)
		_, err = event.Append(tx, ev)
		return err
	})
}

// Checkpoints lists the checkpoints, oldest first.
func (w *Workspace) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	var list []Checkpoint
	err := w.run.m.opts.DB.Read(ctx, func(s *store.Snapshot) error {
		rows, err := s.Query("SELECT id, label, tree, created_at FROM workspace_checkpoint WHERE run_id = ? AND workspace = ? ORDER BY rowid",
			string(w.run.info.Run), w.name)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			c, err := scanCheckpoint(rows)
			if err != nil {
				return err
			}
			list = append(list, c)
		}
		return rows.Err()
	})
	return list, err
}

// Rollback restores the tree of a checkpoint. KindNotFound where there is none
// of that id.
func (w *Workspace) Rollback(ctx context.Context, id string) (Checkpoint, error) {
	c, err := w.checkpoint(ctx, id)
	if err != nil {
		return c, err
	}
	if err := w.Restore(ctx, c.Tree); err != nil {
		return c, err
	}
	return c, w.run.m.opts.DB.Write(ctx, func(tx *store.Tx) error {
		ev := agency.NewEvent(w.run.info.Run, agency.SeverityInfo, "rolled back to "+c.Label,
			agency.RolledBack{Checkpoint: id, Tree: c.Tree})
		ev.ContractID = agency.ContractID(w.name)
		_, err := event.Append(tx, ev)
		return err
	})
}

func (w *Workspace) checkpoint(ctx context.Context, id string) (Checkpoint, error) {
	var c Checkpoint
	err := w.run.m.opts.DB.Read(ctx, func(s *store.Snapshot) error {
		var err error
		c, err = scanCheckpoint(s.QueryRow("SELECT id, label, tree, created_at FROM workspace_checkpoint WHERE run_id = ? AND workspace = ? AND id = ?",
			string(w.run.info.Run), w.name, id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return c, agency.Errorf(agency.KindNotFound, "checkpoint %q does not exist in this workspace", id)
	}
	return c, err
}

type scanner interface{ Scan(dest ...any) error }

func scanCheckpoint(row scanner) (Checkpoint, error) {
	var c Checkpoint
	var tree, at string
	if err := row.Scan(&c.ID, &c.Label, &tree, &at); err != nil {
		return c, err
	}
	c.Tree = agency.OID(tree)
	var err error
	if c.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return c, fmt.Errorf("checkpoint %s: %w", c.ID, err)
	}
	return c, nil
}
