package registry

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/overseer"
	"agency/internal/store"
)

// Intervention is what the overseer did about a session because of an event.
type Intervention struct {
	Event     int64
	Behaviour overseer.Behaviour
	Session   agency.SessionID
	Action    overseer.Action
	Reason    string // what was seen, for people and for the next attempt
	By        string // empty: the overseer's detectors
}

// AddIntervention notes an intervention, and tells whether it is the first because of
// this event and behaviour by whom it is from.
func AddIntervention(tx *store.Tx, run agency.RunID, i Intervention) (bool, error) {
	return execOnce(tx, insertIntervention, string(run), i.Event, string(i.Behaviour), string(i.Session), string(i.Action), i.Reason, i.By)
}

// Intervened tells whether somebody has stepped in, or noted that nothing is to be done,
// because of an event and behaviour.
func Intervened(q store.Querier, run agency.RunID, event int64, b overseer.Behaviour, by string) (found bool, err error) {
	err = q.QueryRow(existsIntervention, string(run), event, string(b), by).Scan(&found)
	return found, err
}

// Ordered is what a session is to do by the overseer's word, the latest: pause or
// halt. It is nil where it may go on.
func Ordered(q store.Querier, run agency.RunID, session agency.SessionID) (*Intervention, error) {
	var i Intervention
	err := q.QueryRow(selectOrder, string(run), string(session)).Scan(&i.Event, &i.Behaviour, &i.Session, &i.Action, &i.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &i, err
}
