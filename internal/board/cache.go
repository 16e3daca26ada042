package board

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// agentCache is what is remembered of the agents, so that a sender costs no query
// for itself and its recipient. Whatever changes who an agent is forgets it. It
// belongs to the writer.
type agentCache map[Member]party

// party is a sender or a recipient; without a role it is nobody.
type party struct {
	role  agency.RoleID
	ended bool
}

// maxKnown bounds what is remembered.
const maxKnown = 20_000

// agentsKnown gives what is remembered.
func agentsKnown(tx *store.Tx) agentCache {
	type key struct{}
	c, ok := tx.Memory()[key{}].(agentCache)
	if !ok || len(c) >= maxKnown {
		c = agentCache{}
		tx.Memory()[key{}] = c
	}
	return c
}

func (c agentCache) party(tx *store.Tx, run agency.RunID, id string) (p party, err error) {
	if id == agency.FromHuman || id == agency.FromSystem {
		return p, nil
	}
	k := Member{run, agency.AgentID(id)}
	if p, ok := c[k]; ok {
		return p, nil
	}
	err = tx.QueryRow(selectParty, string(run), id).Scan(&p.role, &p.ended)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil // not remembered: anybody may ask for anything
	}
	if err == nil {
		c[k] = p
	}
	return p, err
}
