package board

import (
	"slices"
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

// TestWritingMailFillsNoTable looks at the programs of the statements that write
// mail: a check that SQLite carries out by a table of its own, filled for each
// row, costs more than the row.
func TestWritingMailFillsNoTable(t *testing.T) {
	d := newDesk(t)
	const step = ` SET status = 'read', session = 's'`
	for query, args := range map[string]int{
		statements[0][1]: 8, statements[shapes-1][maxRows]: 2 + 23*maxRows,
		`UPDATE board_message` + step: 0, `UPDATE board_delivery` + step: 0,
		`INSERT INTO board_delivery (message, agent, run_id, type, priority, expires, status) VALUES (1, '', '', '', 0, 0, 'pending')`: 0,
	} {
		codes := d.program(query, args)
		if !slices.Contains(codes, "MakeRecord") {
			t.Errorf("%s: writes nothing: %q", query, codes)
		}
		if slices.Contains(codes, "OpenEphemeral") {
			t.Errorf("%s: fills a table of its own", query)
		}
	}
}

// program is what SQLite does for a statement, an instruction each.
func (d *desk) program(query string, args int) (codes []string) {
	d.do(func(tx *store.Tx) error {
		rows, err := tx.Query("EXPLAIN "+query, make([]any, args)...)
		if err != nil {
			return err
		}
		for rows.Next() {
			var code string
			var unused any
			if err := rows.Scan(&unused, &code, &unused, &unused, &unused, &unused, &unused, &unused); err != nil {
				return err
			}
			codes = append(codes, code)
		}
		return rows.Err()
	})
	return codes
}

// TestNoOtherStatusIsKept tries one that nobody knows on each of the tables.
func TestNoOtherStatusIsKept(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid")
	d.send(msg("one", "bob", "ann"), msg("all", "bob", agency.Everyone))
	for _, table := range []string{"board_message", "board_delivery"} {
		err := d.DB.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE ` + table + ` SET status = 'lost'`)
			return err
		})
		if !store.IsConstraint(err) {
			t.Errorf("%s: %v", table, err)
		}
	}
}
