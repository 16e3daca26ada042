// Package verdicts keeps the verdicts on claims, and says them to the log.
package verdicts

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

// Store keeps verdicts.
type Store struct {
	DB *store.DB
	// AtWork books the time that the checks of a contract took; nil: nobody does.
	AtWork func(tx *store.Tx, run agency.RunID, contract agency.ContractID, took time.Duration) error
}

// Of is the verdict that a step gave before a crash; false where it gave none.
func (s Store) Of(ctx context.Context, run agency.RunID, key agency.StepKey) (verdict agency.Verdict, ok bool, err error) {
	var text string
	err = s.DB.Read(ctx, func(s *store.Snapshot) error {
		return s.QueryRow(selectVerdict, string(run), string(key)).Scan(&text)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return verdict, false, nil
	case err != nil:
		return verdict, false, fmt.Errorf("verdict of %s: %w", key, err)
	}
	return verdict, true, json.Unmarshal([]byte(text), &verdict)
}

// Keep writes a step's verdict on a run's claim, its event and what its checks took,
// and returns it as it was stored. The first one of a step stays.
func (s Store) Keep(ctx context.Context, run agency.RunID, key agency.StepKey, verdict agency.Verdict, took time.Duration) (agency.Verdict, error) {
	var red []agency.Red
	err := s.DB.Read(ctx, func(s *store.Snapshot) (err error) { red, err = redOf(s, run, verdict); return err })
	if err != nil {
		return agency.Verdict{}, err
	}
	write := func(tx *store.Tx) error {
		b, err := json.Marshal(verdict)
		if err != nil {
			return err
		}
		b = tx.Redact(b)
		res, err := tx.Exec(insertVerdict, string(run), string(key), string(verdict.ContractID), string(b), store.Micros(tx.Now))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = event.Append(tx, eventOf(run, verdict, red))
		return errors.Join(err, s.book(tx, run, verdict.ContractID, took))
	}
	if err := s.write(ctx, write); err != nil {
		return agency.Verdict{}, fmt.Errorf("verdict of %s: %w", key, err)
	}
	kept, ok, err := s.Of(ctx, run, key)
	if err == nil && !ok {
		err = agency.Errorf(agency.KindInternal, "verdict of %s: it is not there after it was written", key)
	}
	return kept, err
}

// Book books what checks took whose verdict is kept elsewhere.
func (s Store) Book(ctx context.Context, run agency.RunID, contract agency.ContractID, took time.Duration) error {
	return s.write(ctx, func(tx *store.Tx) error { return s.book(tx, run, contract, took) })
}

func (s Store) write(ctx context.Context, fn func(*store.Tx) error) error {
	if fence := flow.ScopeOf(ctx).Fence; fence != (agency.Fence{}) {
		return s.DB.WriteFenced(ctx, fence, fn)
	}
	return s.DB.Write(ctx, fn)
}

func (s Store) book(tx *store.Tx, run agency.RunID, contract agency.ContractID, took time.Duration) error {
	if s.AtWork == nil || took == 0 {
		return nil
	}
	return s.AtWork(tx, run, contract, took)
}

func eventOf(run agency.RunID, verdict agency.Verdict, red []agency.Red) agency.Event {
	word, severity, summary := agency.VerdictPass, agency.SeverityInfo, "claim passed its checks: "+tally(verdict)
	if !verdict.Pass {
		word, severity, summary = agency.VerdictFail, agency.SeverityWarning, "claim refused"
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
	shown := 0
	for _, p := range verdict.Proofs {
		if p.Proof != agency.ProofOpen {
			shown++
		}
	}
	ev := agency.NewEvent(run, severity, summary, agency.VerdictSubmitted{
		Criteria: len(verdict.Proofs), Shown: shown,
		Verdict: word, Reasons: verdict.Reasons, Red: red, Unproved: verdict.Unproved, Expectations: verdict.Expectations,
	})
	ev.ContractID = verdict.ContractID
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
func redOf(q check.Reader, run agency.RunID, verdict agency.Verdict) ([]agency.Red, error) {
	all, err := check.Receipts(q, run)
	if err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(slices.Clone(all), func(r agency.Receipt) bool {
		return r.Tree != verdict.Tree || !slices.Contains(verdict.Receipts, r.ID)
	})
	red := check.Reds(check.Latest(of), all)
	for i := range red {
		red[i] = red[i].Short()
	}
	return red, nil
}

// All are the verdicts of a run, in the order in which they were given.
func All(q store.Querier, run agency.RunID) ([]agency.Verdict, error) {
	out, _, err := After(q, run, 0)
	return out, err
}

// After are those of a run that were given after the one of a number, and the number of
// the last one.
func After(q store.Querier, run agency.RunID, n int64) (out []agency.Verdict, last int64, err error) {
	last = n
	out, err = store.All(q, func(row store.Scanner) (v agency.Verdict, err error) {
		var text string
		if err := row.Scan(&last, &text); err != nil {
			return v, err
		}
		err = json.Unmarshal([]byte(text), &v)
		return v, err
	}, selectVerdicts, string(run), n)
	if err != nil {
		return nil, n, fmt.Errorf("verdicts of %s: %w", run, err)
	}
	return out, last, nil
}

// Forget removes a run's verdicts, when the run's record is removed.
func Forget(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteVerdicts, string(run))
	return err
}
