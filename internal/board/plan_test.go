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
		for index, want := range map[string]int{
			"board_message_head": 2, "board_delivery_head": 1, "board_message_taken": 1, "board_delivery_taken": 1,
		} {
			if strings.Count(text, "INDEX "+index) != want {
				t.Errorf("want %d searches in %s:\n%s", want, index, text)
			}
		}
		if n := strings.Count(text, "USE TEMP B-TREE"); n > 3 {
			t.Errorf("%d sorts: more than of what was taken, and of the heads:\n%s", n, text)
		}
	}
}
