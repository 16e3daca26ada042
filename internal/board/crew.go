package board

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// crew is what is known of the agents, so that a sender costs no query for
// itself and its recipient. It is of one version of the table of agents, which
// a trigger changes with each agent that comes, goes or gets another role, and
// is used only where the version is the same in the transaction at work. It
// belongs to the writer's goroutine.
type crew struct {
	version int64
	known   map[member]party
}

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

// crewOf gives what is known in this transaction: to begin with nothing, where
// there is no board to remember it.
func crewOf(tx *store.Tx, b *Board) (*crew, error) {
	if b == nil {
		return &crew{known: map[member]party{}}, nil
	}
	var version int64
	if err := tx.QueryRow(`SELECT version FROM board_crew`).Scan(&version); err != nil {
		return nil, err
	}
	if c := b.crew; c != nil && c.version == version && len(c.known) < maxCrew {
		return c, nil
	}
	b.crew = &crew{version, map[member]party{}}
	return b.crew, nil
}

func (c *crew) party(tx *store.Tx, run agency.RunID, id string) (p party, err error) {
	if id == agency.FromHuman || id == agency.FromSystem {
		return p, nil
	}
	k := member{run, id}
	if p, ok := c.known[k]; ok {
		return p, nil
	}
	err = tx.QueryRow(`SELECT role, completed_at <> 0 FROM board_agent WHERE run_id = ? AND agent_id = ?`, string(run), id).Scan(&p.role, &p.ended)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil // not remembered: anybody may ask for anything
	}
	if err == nil {
		c.known[k] = p
	}
	return p, err
}
