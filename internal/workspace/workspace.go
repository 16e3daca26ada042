package workspace

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// Workspace is one checkout of a run. It is safe for concurrent use; one
// snapshot or restore runs at a time.
type Workspace struct {
	*checkout

	mu      sync.Mutex
	staging staging
	audit   audit
	checked bool // entries of the index have been looked at since it was opened
}

// Rebase carries the checkout's change onto a commit of the run: the merge of
// both is checked out, with conflict marks in the files that do not merge, which
// it names. From then on the change counts from that commit.
func (w *Workspace) Rebase(ctx context.Context, onto agency.OID) (conflicts []string, err error) {
	from, err := w.Start()
	if err != nil || from == onto {
		return nil, err
	}
	tree, err := w.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	d := w.run.dir
	mine, err := d.Commits().Write(ctx, tree, []agency.OID{from}, "work of "+w.name, w.run.info.Settings.Identity)
	if err != nil {
		return nil, err
	}
	merged, err := d.Commits().Merge(ctx, onto, mine)
	if err != nil {
		return nil, err
	}
	// The files first: cut short between the two, the change holds both sides
	// and merges as such; the other way round it would undo what it lacks.
	if err := w.Restore(ctx, merged.Tree); err != nil {
		return nil, err
	}
	if err := w.finish(onto); err != nil {
		return nil, err
	}
	return merged.Conflicts, w.makeSynthetic(ctx, onto)
}

// reopen readies a checkout that an earlier process left.
func (w *Workspace) reopen(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.checked {
		return nil
	}
	if err := w.checkout.reopen(ctx); err != nil {
		return err
	}
	w.staging.unknown, w.audit.suspect, w.checked = true, true, true
	return nil
}

// Snapshot writes the checkout's tracked and unignored files as a tree, by the
// ignore rules of the base and the user's own: an ignore file that the agent
// writes is content, not a rule. What the base tracks is taken even where it
// is ignored; other ignored files are cache. A folder that is new and ignores
// itself (a .gitignore with "*", as tools put into their caches) is cache,
// too.
//
// A *Violation says that the checkout holds something that must not be there.
func (w *Workspace) Snapshot(ctx context.Context) (agency.OID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tree, err := w.staging.snapshot(ctx)
	if err == nil {
		err = w.audit.checkFiltered(ctx, tree)
	}
	if err == nil {
		err = w.checkModules(ctx)
	}
	if err == nil {
		err = w.audit.sound(ctx, tree)
	}
	if err = w.explain(err); err != nil {
		return "", err
	}
	return tree, nil
}

// Files is how many files the last snapshot has; -1: unknown. It is what the head of the
// index says, so that it may be asked every turn.
func (w *Workspace) Files() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, err := os.Open(w.index)
	if err != nil {
		return -1
	}
	defer func() { _ = f.Close() }() // only read
	var head struct {
		Sign             [4]byte
		Version, Entries uint32
	}
	if binary.Read(f, binary.BigEndian, &head) != nil || string(head.Sign[:]) != "DIRC" {
		return -1
	}
	return int(head.Entries)
}

// Check looks for violations without taking a snapshot.
func (w *Workspace) Check(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.explain(w.staging.check(ctx))
}

// Restore makes tracked and unignored files equal to a tree of this run:
// others of them are removed. Ignored files stay.
func (w *Workspace) Restore(ctx context.Context, tree agency.OID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.explain(w.staging.restore(ctx, tree))
}

// explain is the end of what used the index: a git that was killed leaves the
// lock of our own index behind, and nobody else uses it.
func (w *Workspace) explain(err error) error {
	if err != nil {
		err = errors.Join(unreadable(err), removeAll(w.index+".lock"))
	}
	return err
}

// MayWrite refuses, by name, a path that the base hands to a filter, or that
// lies in a submodule: KindDenied.
func (w *Workspace) MayWrite(ctx context.Context, rel string) error {
	if link := w.base.inModule(rel); link != "" {
		return agency.Errorf(agency.KindDenied, "%s is in the submodule %s, which is read-only here: its files cannot be changed", rel, link)
	}
	set, err := w.run.Filtered(ctx, []string{rel})
	if err != nil {
		return err
	}
	if name, kept := set[rel]; kept {
		return agency.Errorf(agency.KindDenied, "%s is kept by the git filter %q (.gitattributes), which does not run here: files of a filter cannot be changed", rel, name)
	}
	return nil
}

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
		_, err := tx.Exec(insertCheckpoint,
			string(w.run.info.Run), w.name, id, label, string(tree), tx.Now.Format(time.RFC3339Nano))
		if err != nil {
			return err
		}
		return w.tell(tx, "checkpoint "+label, agency.CheckpointCreated{Checkpoint: id, Label: label, Tree: tree})
	})
}

func (w *Workspace) tell(tx *store.Tx, title string, of agency.Detail) error {
	ev := agency.NewEvent(w.run.info.Run, agency.SeverityInfo, title, of)
	ev.ContractID = agency.ContractID(w.name)
	_, err := event.Append(tx, ev)
	return err
}

// Checkpoints lists the checkpoints, oldest first.
func (w *Workspace) Checkpoints(ctx context.Context) (list []Checkpoint, err error) {
	err = w.run.m.opts.DB.Read(ctx, func(s *store.Snapshot) error {
		list, err = store.All(s, scanCheckpoint, selectCheckpoints, string(w.run.info.Run), w.name)
		return err
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
		return w.tell(tx, "rolled back to "+c.Label, agency.RolledBack{Checkpoint: id, Tree: c.Tree})
	})
}

func (w *Workspace) checkpoint(ctx context.Context, id string) (Checkpoint, error) {
	var c Checkpoint
	err := w.run.m.opts.DB.Read(ctx, func(s *store.Snapshot) error {
		var err error
		c, err = scanCheckpoint(s.QueryRow(selectCheckpoint, string(w.run.info.Run), w.name, id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return c, agency.Errorf(agency.KindNotFound, "checkpoint %q does not exist in this workspace", id)
	}
	return c, err
}

func scanCheckpoint(row store.Scanner) (Checkpoint, error) {
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
