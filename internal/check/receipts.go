package check

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed sql/insert.sql
var insertReceipt string

//go:embed sql/select.sql
var selectReceipt string

// Migrations are the tables of receipts.
func Migrations() store.Set {
	return store.Set{Name: "check", FS: migrations, Blobs: []string{"SELECT detail FROM receipts"}}
}

// detail is the part of a receipt that lies in a blob.
type detail struct {
	Tests  []agency.TestResult `json:"tests,omitempty"`
	Output string              `json:"output,omitempty"`
	// Coverage is there where it was asked for.
	Coverage []FileCoverage `json:"coverage,omitempty"`
	// Findings are there of a command that failed by no test of a name.
	Findings *Findings `json:"findings,omitempty"`
}

// Cached finds the newest receipt of an equal check that came to its end by
// itself. An empty tree has none. A failure that no test's name explains may be
// the machine's, which people mend without a trace that Env sees: it is known
// in its own run only.
func (c *Checker) Cached(ctx context.Context, run agency.RunID, tree agency.OID, line string, env agency.Hash) (r agency.Receipt, ok bool, err error) {
	if tree == "" {
		return r, false, nil
	}
	err = c.o.DB.Read(ctx, func(s *store.Snapshot) error {
		rows, err := s.Query(selectReceipt+` WHERE tree = ? AND command = ? AND env = ? AND reusable = 1
			AND (exit_code = 0 OR parsed = 1 OR run_id = ?)
			ORDER BY at DESC, n DESC LIMIT 1`, string(tree), line, string(env), string(run))
		if err != nil {
			return err
		}
		found, err := scanAll(rows, s)
		if err != nil || len(found) == 0 {
			return err
		}
		r, ok = found[0], true
		return nil
	})
	if err != nil {
		return r, false, fmt.Errorf("receipts: %w", err)
	}
	return r, ok, nil
}

// Receipts are those of a run in the order in which they were made, with tests
// and output.
func Receipts(q Reader, run agency.RunID) ([]agency.Receipt, error) {
	rows, err := q.Query(selectReceipt+` WHERE run_id = ? ORDER BY n`, string(run))
	if err != nil {
		return nil, fmt.Errorf("receipts of %s: %w", run, err)
	}
	return scanAll(rows, q)
}

// Receipt is one by its id; KindNotFound where there is none.
func Receipt(q Reader, id agency.ReceiptID) (agency.Receipt, error) {
	rows, err := q.Query(selectReceipt+` WHERE id = ?`, string(id))
	if err != nil {
		return agency.Receipt{}, fmt.Errorf("receipt %s: %w", id, err)
	}
	found, err := scanAll(rows, q)
	if err != nil {
		return agency.Receipt{}, err
	}
	if len(found) == 0 {
		return agency.Receipt{}, agency.Errorf(agency.KindNotFound, "receipt %s: there is none", id)
	}
	return found[0], nil
}

// Reader is a transaction or a snapshot of the store.
type Reader interface {
	Query(query string, args ...any) (*store.Rows, error)
	Blob(agency.Hash) ([]byte, error)
}

// Forget removes a run's receipts, when the run's record is removed.
func Forget(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(`DELETE FROM receipts WHERE run_id = ?`, string(run))
	return err
}

func scanAll(rows *store.Rows, q Reader) ([]agency.Receipt, error) {
	out, _, err := scanDetails(rows, q)
	return out, err
}

// scanDetails reads receipts with what lies in their blobs.
func scanDetails(rows *store.Rows, q Reader) (out []agency.Receipt, details []detail, err error) {
	var blobs []agency.Hash
	for rows.Next() {
		r, blob, err := scanRow(rows)
		if err != nil {
			return nil, nil, errors.Join(err, rows.Close())
		}
		out, blobs = append(out, r), append(blobs, blob)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, nil, err
	}
	details = make([]detail, len(blobs))
	for i, h := range blobs {
		b, err := q.Blob(h)
		if err != nil {
			return nil, nil, fmt.Errorf("receipt %s: %w", out[i].ID, err)
		}
		if err := json.Unmarshal(b, &details[i]); err != nil {
			return nil, nil, fmt.Errorf("receipt %s: %w", out[i].ID, err)
		}
		out[i].Tests, out[i].Output = details[i].Tests, details[i].Output
	}
	return out, details, nil
}

func scanRow(rows *store.Rows) (r agency.Receipt, blob agency.Hash, err error) {
	var hash string
	var at int64
	err = rows.Scan(&r.ID, &r.RunID, &r.ContractID, &r.Kind, &r.Command, &r.Tree, &r.Env, &r.ExitCode,
		&r.Cause, &r.Duration, &r.Passed, &r.Failed, &r.Skipped, &r.Parsed, &hash, &at, &r.Stage, &r.CopyOf)
	r.At = store.Time(at)
	return r, agency.Hash(hash), err
}

// takeOver makes another run's, contract's or stage's receipt this one's. The
// same check of the same stage keeps the receipt that it has.
func (c *Checker) takeOver(ctx context.Context, s Subject, cmd Command, old agency.Receipt) (agency.Receipt, error) {
	var have agency.Receipt
	err := c.o.DB.Read(ctx, func(snap *store.Snapshot) error {
		rows, err := snap.Query(selectReceipt+` WHERE run_id = ? AND contract_id = ? AND stage = ? AND kind = ?
			AND tree = ? AND command = ? AND env = ? AND reusable = 1 ORDER BY n DESC LIMIT 1`,
			string(s.Run), string(s.Contract), string(s.Stage), string(cmd.Kind), string(s.Tree), cmd.Line, string(old.Env))
		if err != nil {
			return err
		}
		found, err := scanAll(rows, snap)
		if err == nil && len(found) > 0 {
			have = found[0]
		}
		return err
	})
	if err != nil || have.ID != "" {
		return have, err
	}
	from := old.ID
	old.RunID, old.ContractID, old.Kind = s.Run, s.Contract, cmd.Kind
	d, err := c.detailOf(ctx, from)
	if err != nil {
		return have, err
	}
	return c.keep(ctx, s, old, d, from, true)
}

// detailOf is what lies in the blob of a receipt.
func (c *Checker) detailOf(ctx context.Context, id agency.ReceiptID) (d detail, err error) {
	err = c.o.DB.Read(ctx, func(q *store.Snapshot) error {
		rows, err := q.Query(selectReceipt+` WHERE id = ?`, string(id))
		if err != nil {
			return err
		}
		_, details, err := scanDetails(rows, q)
		if err == nil && len(details) > 0 {
			d = details[0]
		}
		return err
	})
	return d, err
}

// keep writes the receipt with its detail, and its event, and returns it as it
// was stored.
func (c *Checker) keep(ctx context.Context, s Subject, r agency.Receipt, d detail, from agency.ReceiptID, reusable bool) (agency.Receipt, error) {
	r.Output = string(c.o.DB.Redact([]byte(r.Output)))
	for i := range r.Tests {
		r.Tests[i].Name = string(c.o.DB.Redact([]byte(r.Tests[i].Name)))
		r.Tests[i].Output = string(c.o.DB.Redact([]byte(r.Tests[i].Output)))
	}
	d.Tests, d.Output = r.Tests, r.Output
	if d.Findings != nil {
		for i, f := range d.Findings.List {
			d.Findings.List[i].File, d.Findings.List[i].Text = string(c.o.DB.Redact([]byte(f.File))), string(c.o.DB.Redact([]byte(f.Text)))
		}
	}
	b, err := json.Marshal(d)
	if err != nil {
		return r, fmt.Errorf("receipt: %w", err)
	}
	if err := c.write(ctx, s.Fence, func(tx *store.Tx) error { return insert(tx, s, &r, from, reusable, b) }); err != nil {
		return agency.Receipt{}, fmt.Errorf("receipt of `%s`: %w", r.Command, err)
	}
	return r, nil
}

func insert(tx *store.Tx, s Subject, r *agency.Receipt, from agency.ReceiptID, reusable bool, blob []byte) error {
	var n sql.NullInt64
	if err := tx.QueryRow(`SELECT max(n) FROM receipts WHERE run_id = ?`, string(s.Run)).Scan(&n); err != nil {
		return err
	}
	r.ID = agency.ReceiptID(fmt.Sprintf("%s/receipt-%d", s.Run, n.Int64+1))
	r.Stage, r.CopyOf = string(s.Stage), from
	if from == "" {
		r.At = tx.Now
	}
	h, err := tx.PutBlob(blob)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertReceipt, string(r.ID), string(r.RunID), n.Int64+1, string(r.ContractID), string(s.Agent),
		string(s.Stage), string(r.Kind), r.Command, string(r.Tree), string(r.Env), r.ExitCode, r.Cause, r.Duration,
		r.Passed, r.Failed, r.Skipped, r.Parsed, reusable, string(from), string(h), store.Micros(r.At))
	if err != nil {
		return err
	}
	var red *agency.Red
	if !r.OK() {
		base, err := ofBase(tx, s.Run, r.Kind)
		if err != nil {
			return err
		}
		if one, ok := RedOf(*r, base); ok {
			one = one.Short()
			red = &one
		}
	}
	_, err = event.Append(tx, eventOf(s, *r, from != "", red))
	return err
}

// ofBase are the receipts of a kind on the bases of a run.
func ofBase(tx *store.Tx, run agency.RunID, kind agency.CheckKind) ([]agency.Receipt, error) {
	rows, err := tx.Query(selectReceipt+` WHERE run_id = ? AND stage = ? AND kind = ? ORDER BY n`, string(run), string(StageBase), string(kind))
	if err != nil {
		return nil, err
	}
	return scanAll(rows, tx)
}

// eventOf is the receipt as the log tells it.
func eventOf(s Subject, r agency.Receipt, again bool, red *agency.Red) agency.Event {
	severity := agency.SeverityInfo
	switch {
	case s.Stage.Trial():
		severity = agency.SeverityDebug
	case !r.OK():
		severity = agency.SeverityWarning
	}
	var d agency.Detail = agency.LintRun{Command: r.Command, Kind: r.Kind, ExitCode: r.ExitCode, Receipt: r.ID, Stage: string(s.Stage), Red: red}
	if r.Kind == agency.CheckTest || r.Parsed {
		d = agency.TestsRun{
			Command: r.Command, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped,
			ExitCode: r.ExitCode, Receipt: r.ID, Stage: string(s.Stage), Red: red,
		}
	}
	summary := Headline(r) + whyRed(red)
	if s.Stage != "" {
		summary = cmp.Or(s.Stage.words(), string(s.Stage)) + ": " + summary
	}
	if again {
		summary += " (known from before)"
	}
	ev := agency.NewEvent(s.Run, severity, summary, d)
	ev.AgentID, ev.ContractID = s.Agent, s.Contract
	return ev
}

// whyRed is what the log adds to a check that does not pass.
func whyRed(red *agency.Red) string {
	if red == nil {
		return ""
	}
	s := ""
	if line := agency.RedLine(red.Tests); line != "" {
		s += ", failed: " + line
	}
	if red.Before != nil && *red.Before {
		s += "; red before too"
	}
	for i, f := range red.Findings {
		if i == 3 {
			s += fmt.Sprintf("; and %d more new", len(red.Findings)-i)
			break
		}
		s += "; new: " + f
	}
	if n := len(red.Last); len(red.Tests)+len(red.Findings) == 0 && n > 0 {
		s += ": " + red.Last[n-1]
	}
	return s
}
