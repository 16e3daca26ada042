package board

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

// TestClaimingNeedsNoScan looks at the plan of the query, whose cost shall not
// grow with the backlog: each part is a search in the index made for it.
func TestClaimingNeedsNoScan(t *testing.T) {
	d := newDesk(t)
	for _, types := range [][]agency.MessageType{nil, {agency.MessageHalt, agency.MessageNudge}} {
		query, args := headQuery(as("ann", "s1"), 1, types, -1)
		var plan []string
		d.do(func(tx *store.Tx) error {
			rows, err := tx.Query("EXPLAIN QUERY PLAN "+query, args...)
			if err != nil {
				return err
			}
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					return err
				}
				plan = append(plan, detail)
			}
			return rows.Err()
		})
		text := strings.Join(plan, "\n")
		index := "board_delivery_head"
		if types != nil {
			index = "board_delivery_type"
		}
		heads := max(1, len(types)) * 2
		if strings.Count(text, index) != heads || strings.Count(text, "board_delivery_taken") != heads {
			t.Errorf("want %d searches in each of %s and board_delivery_taken:\n%s", heads, index, text)
		}
		if n := strings.Count(text, "USE TEMP B-TREE"); n > heads+1 {
			t.Errorf("%d sorts: more than of what was taken, and of the heads:\n%s", n, text)
		}
	}
}
