package board

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// crew is what is remembered of the agents, so that a sender costs no query for
// itself and its recipient. Whatever changes who an agent is forgets it. It
// belongs to the writer.
type crew map[member]party

type member struct {
	run   agency.RunID
	agent string
}

// party is a sender or a recipient; without a role it is nobody.
type party struct {
	role  agency.RoleID
	ended bool
}

// maxCrew bounds what is remembered.
const maxCrew = 20_000

// crewOf gives what is remembered.
func crewOf(tx *store.Tx) crew {
	type key struct{}
	c, ok := tx.Memory()[key{}].(crew)
	if !ok || len(c) >= maxCrew {
		c = crew{}
		tx.Memory()[key{}] = c
	}
	return c
}

func (c crew) party(tx *store.Tx, run agency.RunID, id string) (p party, err error) {
	if id == agency.FromHuman || id == agency.FromSystem {
		return p, nil
	}
	k := member{run, id}
	if p, ok := c[k]; ok {
		return p, nil
	}
	err = tx.QueryRow(`SELECT role, completed_at <> 0 FROM board_agent WHERE run_id = ? AND agent_id = ?`, string(run), id).Scan(&p.role, &p.ended)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil // not remembered: anybody may ask for anything
	}
	if err == nil {
		c[k] = p
	}
	return p, err
}
