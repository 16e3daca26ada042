package verify

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"

	"agency/internal/agency"
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
func (v *Verifier) keep(ctx context.Context, key agency.StepKey, spec Spec, verdict agency.Verdict) (agency.Verdict, error) {
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
		_, err = event.Append(tx, eventOf(spec, verdict))
		return err
	}
	var err error
	if fence := flow.ScopeOf(ctx).Fence; fence != (agency.Fence{}) {
		err = v.o.DB.WriteFenced(ctx, fence, write)
	} else {
		err = v.o.DB.Write(ctx, write)
	}
	if err != nil {
		return agency.Verdict{}, fmt.Errorf("verdict of %s: %w", key, err)
	}
	kept, ok, err := v.stored(ctx, spec.Run, key)
	if err == nil && !ok {
		err = agency.Errorf(agency.KindInternal, "verdict of %s: it is not there after it was written", key)
	}
	return kept, err
}

func eventOf(spec Spec, verdict agency.Verdict) agency.Event {
	word, severity, summary := "pass", agency.SeverityInfo, "claim verified"
	if !verdict.Pass {
		word, severity, summary = "fail", agency.SeverityWarning, "claim refused"
		if len(verdict.Reasons) > 0 {
			summary += ": " + verdict.Reasons[0]
		}
	}
	ev := agency.NewEvent(spec.Run, severity, summary, agency.VerdictSubmitted{Verdict: word, Reasons: verdict.Reasons})
	ev.ContractID = spec.Contract
	return ev
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
