package verify

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of verdicts.
func Migrations() store.Set { return store.Set{Name: "verify", FS: migrations} }

// stored finds the verdict that a step gave before a crash.
func (v *Verifier) stored(ctx context.Context, run agency.RunID, key agency.StepKey) (verdict agency.Verdict, ok bool, err error) {
	var text string
	err = v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		return s.QueryRow(`SELECT verdict FROM verdicts WHERE run_id = ? AND step = ?`, string(run), string(key)).Scan(&text)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return verdict, false, nil
	case err != nil:
		return verdict, false, fmt.Errorf("verdict of %s: %w", key, err)
	}
	return verdict, true, json.Unmarshal([]byte(text), &verdict)
}

// keep writes a verdict and its event, and returns it as it was stored. The
// first one of a key stays.
func (v *Verifier) keep(ctx context.Context, key agency.StepKey, spec Spec, verdict agency.Verdict, took time.Duration) (agency.Verdict, error) {
	var red []agency.Red
	err := v.o.DB.Read(ctx, func(s *store.Snapshot) (err error) { red, err = redOf(s, spec, verdict); return err })
	if err != nil {
		return agency.Verdict{}, err
	}
	write := func(tx *store.Tx) error {
		b, err := json.Marshal(verdict)
		if err != nil {
			return err
		}
		b = tx.Redact(b)
		res, err := tx.Exec(`INSERT INTO verdicts (run_id, step, contract_id, verdict, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, string(spec.Run), string(key), string(spec.Contract), string(b), store.Micros(tx.Now))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = event.Append(tx, eventOf(spec, verdict, red))
		return errors.Join(err, v.atWork(tx, spec, took))
	}
	if err := v.write(ctx, write); err != nil {
		return agency.Verdict{}, fmt.Errorf("verdict of %s: %w", key, err)
	}
	kept, ok, err := v.stored(ctx, spec.Run, key)
	if err == nil && !ok {
		err = agency.Errorf(agency.KindInternal, "verdict of %s: it is not there after it was written", key)
	}
	return kept, err
}

func (v *Verifier) write(ctx context.Context, fn func(*store.Tx) error) error {
	if fence := flow.ScopeOf(ctx).Fence; fence != (agency.Fence{}) {
		return v.o.DB.WriteFenced(ctx, fence, fn)
	}
	return v.o.DB.Write(ctx, fn)
}

func (v *Verifier) atWork(tx *store.Tx, spec Spec, took time.Duration) error {
	if v.o.AtWork == nil || took == 0 {
		return nil
	}
	return v.o.AtWork(tx, spec.Run, spec.Contract, took)
}

func eventOf(spec Spec, verdict agency.Verdict, red []agency.Red) agency.Event {
	word, severity, summary := "pass", agency.SeverityInfo, "claim passed its checks: "+tally(verdict)
	if !verdict.Pass {
		word, severity, summary = "fail", agency.SeverityWarning, "claim refused"
		if len(verdict.Reasons) > 0 {
			summary += ": " + verdict.Reasons[0]
		}
	}
	if line := agency.ExpectationsLine(verdict.Expectations); line != "" {
		summary += "; edited expectations: " + line
	}
	var tests []agency.RedTest
	for _, r := range red {
		tests = append(tests, r.Tests...)
		if len(r.Findings) > 0 {
			summary += fmt.Sprintf("; new in %s: %s", r.Kind, strings.Join(r.Findings[:min(len(r.Findings), mostInLog)], ", "))
		}
	}
	if line := agency.RedLine(tests); line != "" {
		summary += "; failed tests: " + line
	}
	ev := agency.NewEvent(spec.Run, severity, summary, agency.VerdictSubmitted{
		Verdict: word, Reasons: verdict.Reasons, Red: red, Unproved: verdict.Unproved, Expectations: verdict.Expectations,
	})
	ev.ContractID = spec.Contract
	return ev
}

// mostInLog bounds what one line of the log names.
const mostInLog = 5

// tally counts the criteria by what proves them: a claim whose criteria are
// only asserted is not verified.
func tally(v agency.Verdict) string {
	var parts []string
	for _, kind := range []agency.ProofKind{agency.ProofVerified, agency.ProofReviewed, agency.ProofAsserted, agency.ProofOpen} {
		n := 0
		for _, p := range v.Proofs {
			if p.Proof == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return "no criteria"
	}
	return strings.Join(parts, ", ")
}

// redOf are the checks of a verdict that do not pass on its tree.
func redOf(q check.Reader, spec Spec, verdict agency.Verdict) ([]agency.Red, error) {
	all, err := check.Receipts(q, spec.Run)
	if err != nil {
		return nil, err
	}
	var of []agency.Receipt
	for _, r := range all {
		if r.Tree == verdict.Tree && slices.Contains(verdict.Receipts, r.ID) {
			of = append(of, r)
		}
	}
	red := check.Reds(check.Latest(of), all)
	for i := range red {
		red[i] = red[i].Short()
	}
	return red, nil
}

// Verdicts are those of a run's claims in the order in which they were given.
func Verdicts(q store.Querier, run agency.RunID) ([]agency.Verdict, error) {
	rows, err := q.Query(`SELECT verdict FROM verdicts WHERE run_id = ? ORDER BY n`, string(run))
	if err != nil {
		return nil, fmt.Errorf("verdicts of %s: %w", run, err)
	}
	var out []agency.Verdict
	for rows.Next() {
		var text string
		var v agency.Verdict
		if err := rows.Scan(&text); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, errors.Join(fmt.Errorf("verdicts of %s: %w", run, err), rows.Close())
		}
		out = append(out, v)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// Forget removes a run's verdicts, when the run's record is removed.
func Forget(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(`DELETE FROM verdicts WHERE run_id = ?`, string(run))
	return err
}
