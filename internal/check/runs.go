package check

import (
	"context"
	"fmt"

	"agency/internal/agency"
	"agency/internal/store"
)

// maxRuns bounds the receipts of one check that Runs gives.
const maxRuns = 3

// Runs are the receipts of a check that may stand for another, each of a run of
// its own, the newest first, three at most. What was taken over is the run that
// it was taken from.
func (c *Checker) Runs(ctx context.Context, s Subject, cmd Command) (out []agency.Receipt, err error) {
	env, known := c.env(ctx, s, cmd, false)
	if s.Tree == "" || !known {
		return nil, nil
	}
	err = c.o.DB.Read(ctx, func(q *store.Snapshot) error {
		// A receipt that was taken over keeps the time of its run.
		rows, err := q.Query(selectReceipt+` WHERE tree = ? AND command = ? AND env = ? AND reusable = 1
			AND (exit_code = 0 OR parsed = 1 OR run_id = ?)
			GROUP BY at ORDER BY at DESC LIMIT ?`, string(s.Tree), cmd.Line, string(env), string(s.Run), maxRuns)
		if err != nil {
			return err
		}
		out, err = scanAll(rows, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("receipts: %w", err)
	}
	return out, nil
}

// Distrust has no receipt of a check stand for another any more: its runs ended
// differently, so that none of them tells how the next one ends.
func (c *Checker) Distrust(ctx context.Context, s Subject, cmd Command) error {
	env, known := c.env(ctx, s, cmd, false)
	if !known {
		return nil
	}
	err := c.write(ctx, s.Fence, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE receipts SET reusable = 0 WHERE tree = ? AND command = ? AND env = ?`,
			string(s.Tree), cmd.Line, string(env))
		return err
	})
	if err != nil {
		return fmt.Errorf("receipts of `%s`: %w", cmd.Line, err)
	}
	return nil
}

// write writes under a fence, where there is one.
func (c *Checker) write(ctx context.Context, fence agency.Fence, do func(*store.Tx) error) error {
	if fence == (agency.Fence{}) {
		return c.o.DB.Write(ctx, do)
	}
	return c.o.DB.WriteFenced(ctx, fence, do)
}

// FindingsOf is what a red command of a receipt complains of. There are none of
// one that passed, or that failed by tests whose names are known.
func (c *Checker) FindingsOf(ctx context.Context, id agency.ReceiptID) (Findings, error) {
	d, err := c.detailOf(ctx, id)
	if err != nil || d.Findings == nil {
		return Findings{}, err
	}
	return *d.Findings, nil
}
