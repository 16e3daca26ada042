package state

import (
	"embed"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/lease"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema. It needs those of event, lease and board.
func Migrations() store.Set {
	return store.Set{Name: "board_state", FS: migrations, Hooks: []store.Hook{store.On(board.HandedOver(), share)}}
}

// OutputsKey is where the outputs of a contract stand.
func OutputsKey(run agency.RunID, contract agency.ContractID) Key {
	return Key{Namespace: OfContract, Run: run, Of: string(contract), Name: "outputs"}
}

// share keeps the outputs that a handoff names.
func share(tx *store.Tx, p board.Package) error {
	if len(p.Outputs) == 0 {
		return nil
	}
	_, err := Put(tx, Write{Key: OutputsKey(p.Run, p.Contract), Value: p.Outputs, By: string(p.From), ID: string(p.ID)})
	return err
}

// Timed is how keys end by time.
func Timed() board.Timed { return board.Timed{Due: due, Expire: expire} }

func due(q store.Querier) (in time.Duration, ok bool, err error) {
	var at int64
	if err := q.QueryRow(nextExpiry).Scan(&at); err != nil || at == 0 {
		return 0, false, err
	}
	now, err := lease.Awake(q)
	return max(0, time.Duration(at)-now), true, err
}

// expire deletes what has expired, so that the log tells it. Readers do
// not wait for it.
func expire(tx *store.Tx, most int) (int, error) {
	now, err := lease.Awake(tx)
	if err != nil {
		return 0, err
	}
	old, err := entries(tx, selectExpired, int64(now), most)
	if err != nil {
		return 0, err
	}
	for _, e := range old {
		if _, err := add(tx, Write{Key: e.Key, By: agency.FromSystem, deleted: true}, e); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

// Forget removes a run's keys.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, query := range []string{deleteVersions, deleteHeads} {
		if _, err := tx.Exec(query, string(run)); err != nil {
			return err
		}
	}
	return nil
}

// Prune removes the versions of a run's keys that no longer count. It is for the
// caller to know that the run has ended and when.
func Prune(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteOld, string(run))
	return err
}

// Prunable are the runs, ended or not, of which Prune would remove something.
func Prunable(q store.Querier) ([]agency.RunID, error) {
	return store.Column[agency.RunID](q, selectPrunable)
}
