package check

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/testreport"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of receipts.
func Migrations() store.Set {
	return store.Set{Name: "check", FS: migrations, Blobs: []string{blobsOfReceipts}}
}

// detail is the part of a receipt that lies in a blob.
type detail struct {
	Tests  []agency.TestResult `json:"tests,omitempty"`
	Output string              `json:"output,omitempty"`
	// Coverage is there where it was asked for.
	Coverage []FileCoverage `json:"coverage,omitempty"`
	// Findings are there of a command that failed by no test of a name.
	Findings *testreport.Findings `json:"findings,omitempty"`

	waited time.Duration // for what is scarce, no part of the command's time
}

// receiptStore keeps receipts, and finds them again.
type receiptStore struct{ db *store.DB }

// Cached finds the newest receipt of an equal check that came to its end by
// itself. An empty tree has none. A failure that no test's name explains may be
// the machine's, which people mend without a trace that Env sees: it is known
// in its own run only.
func (c *receiptStore) Cached(ctx context.Context, run agency.RunID, tree agency.OID, line string, env agency.Hash) (r agency.Receipt, ok bool, err error) {
	if tree == "" {
		return r, false, nil
	}
	err = c.db.Read(ctx, func(s *store.Snapshot) error {
		found, err := receipts(s, selectReusable, string(tree), line, string(env), string(run))
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
	return receipts(q, selectOfRun, string(run), math.MaxInt, 0)
}

// Outcomes are the receipts of a run after its first n, in the order in which they were
// made. Tests and output are there only of what failed or was run on the base: a long
// run has more of them than memory holds.
func Outcomes(q Reader, run agency.RunID, n int) ([]agency.Receipt, error) {
	out, blobs, err := listed(q, selectOfRun, string(run), math.MaxInt, n)
	for i := range out {
		if out[i].OK() && Stage(out[i].Stage) != StageBase {
			continue
		}
		d, err := detailIn(q, out[i].ID, blobs[i])
		if err != nil {
			return nil, err
		}
		out[i].Tests, out[i].Output = d.Tests, d.Output
	}
	return out, err
}

// Receipt is one by its id; KindNotFound where there is none.
func Receipt(q Reader, id agency.ReceiptID) (agency.Receipt, error) {
	found, err := receipts(q, selectReceipt, string(id))
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
	store.Querier
	Blob(agency.Hash) ([]byte, error)
}

// Forget removes a run's receipts, when the run's record is removed.
func Forget(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteReceipts, string(run))
	return err
}

// receipts reads those of a query.
func receipts(q Reader, query string, args ...any) ([]agency.Receipt, error) {
	out, _, err := detailed(q, query, args...)
	return out, err
}

// detailed reads receipts with what lies in their blobs.
func detailed(q Reader, query string, args ...any) (out []agency.Receipt, details []detail, err error) {
	out, blobs, err := listed(q, query, args...)
	if err != nil {
		return nil, nil, err
	}
	details = make([]detail, len(blobs))
	for i, h := range blobs {
		if details[i], err = detailIn(q, out[i].ID, h); err != nil {
			return nil, nil, err
		}
		out[i].Tests, out[i].Output = details[i].Tests, details[i].Output
	}
	return out, details, nil
}

// listed reads receipts without what lies in their blobs, and which those are.
func listed(q store.Querier, query string, args ...any) (out []agency.Receipt, blobs []agency.Hash, err error) {
	out, err = store.All(q, func(row store.Scanner) (r agency.Receipt, err error) {
		var hash string
		var at int64
		err = row.Scan(&r.ID, &r.RunID, &r.ContractID, &r.Kind, &r.Command, &r.Tree, &r.Env, &r.ExitCode,
			&r.Cause, &r.Unread, &r.Duration, &r.CPU, &r.Passed, &r.Failed, &r.Skipped, &r.Parsed, &hash, &at, &r.Stage, &r.CopyOf)
		r.At, blobs = store.Time(at), append(blobs, agency.Hash(hash))
		return r, err
	}, query, args...)
	return out, blobs, err
}

// detailIn is what lies in the blob of a receipt.
func detailIn(q Reader, id agency.ReceiptID, h agency.Hash) (d detail, err error) {
	b, err := q.Blob(h)
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		return d, fmt.Errorf("receipt %s: %w", id, err)
	}
	return d, nil
}

// takeOver makes another run's, contract's or stage's receipt this one's. The
// same check of the same stage keeps the receipt that it has.
func (c *receiptStore) takeOver(ctx context.Context, s Subject, cmd Command, old agency.Receipt) (agency.Receipt, error) {
	var have agency.Receipt
	err := c.db.Read(ctx, func(snap *store.Snapshot) error {
		found, err := receipts(snap, selectTaken,
			string(s.Run), string(s.Contract), string(s.Stage), string(cmd.Kind), string(s.Tree), cmd.Line, string(old.Env))
		if err == nil && len(found) > 0 {
			have = found[0]
		}
		return err
	})
	if err != nil || have.ID != "" {
		return have, err
	}
	from := old.ID
	old.RunID, old.ContractID, old.Kind, old.CPU = s.Run, s.Contract, cmd.Kind, 0
	d, err := c.detailOf(ctx, from)
	if err != nil {
		return have, err
	}
	return c.keep(ctx, s, old, d, from, true)
}

// detailOf is what lies in the blob of a receipt.
func (c *receiptStore) detailOf(ctx context.Context, id agency.ReceiptID) (d detail, err error) {
	err = c.db.Read(ctx, func(q *store.Snapshot) error {
		_, details, err := detailed(q, selectReceipt, string(id))
		if err == nil && len(details) > 0 {
			d = details[0]
		}
		return err
	})
	return d, err
}

// keep writes the receipt with its detail, and its event, and returns it as it
// was stored.
func (c *receiptStore) keep(ctx context.Context, s Subject, r agency.Receipt, d detail, from agency.ReceiptID, reusable bool) (agency.Receipt, error) {
	r.Output = string(c.db.Redact([]byte(r.Output)))
	for i := range r.Tests {
		r.Tests[i].Name = string(c.db.Redact([]byte(r.Tests[i].Name)))
		r.Tests[i].Output = string(c.db.Redact([]byte(r.Tests[i].Output)))
	}
	d.Tests, d.Output = r.Tests, r.Output
	if d.Findings != nil {
		for i, f := range d.Findings.List {
			d.Findings.List[i].File, d.Findings.List[i].Text = string(c.db.Redact([]byte(f.File))), string(c.db.Redact([]byte(f.Text)))
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
	if err := tx.QueryRow(selectLastNumber, string(s.Run)).Scan(&n); err != nil {
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
		string(s.Stage), string(r.Kind), r.Command, string(r.Tree), string(r.Env), r.ExitCode, r.Cause, r.Unread, r.Duration, r.CPU,
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
	return receipts(tx, selectOfStage, string(run), string(StageBase), string(kind))
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
		summary = cmp.Or(trials[s.Stage], string(s.Stage)) + ": " + summary
	}
	if again {
		summary += " (known from before)"
	}
	ev := agency.NewEvent(s.Run, severity, summary, d)
	ev.AgentID, ev.ContractID = s.Agent, s.Contract
	return ev
}

// tell tells the log what becomes of a command of a subject before it starts.
func (c *receiptStore) tell(ctx context.Context, s Subject, what string, d agency.Detail) error {
	ev := agency.NewEvent(s.Run, agency.SeverityInfo, what, d)
	ev.AgentID, ev.ContractID = s.Agent, s.Contract
	return c.write(ctx, s.Fence, func(tx *store.Tx) error {
		_, err := event.Append(tx, ev)
		return err
	})
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
		out, err = receipts(q, selectRuns, string(s.Tree), cmd.Line, string(env), string(s.Run), maxRuns)
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
		_, err := tx.Exec(distrust,
			string(s.Tree), cmd.Line, string(env))
		return err
	})
	if err != nil {
		return fmt.Errorf("receipts of `%s`: %w", cmd.Line, err)
	}
	return nil
}

// write writes under a fence, where there is one.
func (c *receiptStore) write(ctx context.Context, fence agency.Fence, do func(*store.Tx) error) error {
	if fence == (agency.Fence{}) {
		return c.db.Write(ctx, do)
	}
	return c.db.WriteFenced(ctx, fence, do)
}

// FindingsOf is what a red command of a receipt complains of. There are none of
// one that passed, or that failed by tests whose names are known.
func (c *receiptStore) FindingsOf(ctx context.Context, id agency.ReceiptID) (testreport.Findings, error) {
	d, err := c.detailOf(ctx, id)
	if err != nil || d.Findings == nil {
		return testreport.Findings{}, err
	}
	return *d.Findings, nil
}

// Took is how long a command took when it last came to its end, on whatever tree
// and in whatever world; zero where it has not yet.
func (c *receiptStore) Took(ctx context.Context, cmd Command) (time.Duration, error) {
	return c.took(ctx, cmd, "")
}

// TookPlain is how long it took where no lines were measured in passing: on
// anything but a claim.
func (c *receiptStore) TookPlain(ctx context.Context, cmd Command) (time.Duration, error) {
	return c.took(ctx, cmd, StageClaim)
}

func (c *receiptStore) took(ctx context.Context, cmd Command, but Stage) (time.Duration, error) {
	var found []agency.Receipt
	err := c.db.Read(ctx, func(q *store.Snapshot) (err error) {
		found, err = receipts(q, selectLastOf, cmd.Line, string(but))
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return time.Duration(found[0].Duration * float64(time.Second)), nil
}

// NamesTests tells whether a command named its tests when it last ended well in a run;
// known is false where it did not end so.
func NamesTests(q store.Querier, run agency.RunID, line string) (names, known bool, err error) {
	err = q.QueryRow(selectNamed, string(run), line).Scan(&names)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return names, err == nil, err
}

// Lasted is how long these commands took together when each of them last came
// to its own end in a run; what has not counts nothing.
func Lasted(q store.Querier, run agency.RunID, lines []string) (time.Duration, error) {
	var sum float64
	for _, line := range lines {
		var took float64
		err := q.QueryRow(selectDuration, string(run), line).Scan(&took)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		sum += took
	}
	return time.Duration(sum * float64(time.Second)), nil
}
