package announce

import (
	"database/sql"
	"embed"
	"errors"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema of what has been announced.
func Migrations() store.Set { return store.Set{Name: "announce", FS: files} }

// The states of a part.
const (
	held    = "held"
	sending = "sending"
	done    = "done"
)

// part is one event for one place of its run.
type part struct {
	event int64
	place int
}

type standing struct {
	state, message string
}

// readMark is the event up to which all is told; known is false where this store has told
// nothing yet.
func readMark(q store.Querier, _ struct{}) (mark int64, err error) {
	err = q.QueryRow(selectMark).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil
	}
	return mark, err
}

// begin gives the mark. A store that has told nothing yet begins with what happens from now
// on: what ended before is no news.
func begin(tx *store.Tx) (int64, error) {
	mark, err := readMark(tx, struct{}{})
	if err != nil || mark >= 0 {
		return mark, err
	}
	if mark, err = event.Last(tx, ""); err != nil {
		return 0, err
	}
	return mark, move(tx, mark)
}

func readParts(q store.Querier, _ struct{}) (map[part]standing, error) {
	type row struct {
		part
		standing
	}
	rows, err := store.All(q, func(s store.Scanner) (r row, err error) {
		return r, s.Scan(&r.event, &r.place, &r.state, &r.message)
	}, selectParts)
	out := map[part]standing{}
	for _, r := range rows {
		out[r.part] = r.standing
	}
	return out, err
}

func put(tx *store.Tx, run agency.RunID, p part, s standing) error {
	_, err := tx.Exec(setPart, string(run), p.event, p.place, s.state, s.message)
	return err
}

// move moves the mark on; what it says need not be kept beside it.
func move(tx *store.Tx, mark int64) error {
	if _, err := tx.Exec(setMark, mark); err != nil {
		return err
	}
	_, err := tx.Exec(deleteBelow, mark)
	return err
}

// forget removes what is known of a run.
func forget(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteRun, string(run))
	return err
}
