package budget

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agency/internal/agency"
	"agency/internal/store"
)

// A ledger that was read before is one that is read for the first time, in whatever order
// requests came to their ends meanwhile; and nothing is in it twice.
func TestALedgerReadAgain(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		db := open(t, dir)
		defer func() { _ = db.Close() }()
		write(rt, db, func(tx *store.Tx) error { return Forget(tx, run) })
		tree(t, db, Limits{})
		var kept Ledger
		var open []string
		for i := range rapid.IntRange(1, 20).Draw(rt, "steps") {
			key := fmt.Sprint(i)
			r := costing(key, rapid.SampledFrom([]string{"session/s", "contract/a"}).Draw(rt, "node"), 9, 5)
			r.Contract = rapid.SampledFrom([]agency.ContractID{"", "a", "b"}).Draw(rt, "contract")
			write(rt, db, func(tx *store.Tx) error { _, err := Reserve(tx, run, r); return err })
			open = append(open, key)
			for range rapid.IntRange(0, 2).Draw(rt, "ends") {
				if len(open) == 0 {
					break
				}
				at := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				write(rt, db, func(tx *store.Tx) error {
					switch rapid.IntRange(0, 2).Draw(rt, "how") {
					case 0:
						return Settle(tx, run, open[at], Bill{Model: "m", Usage: agency.Usage{In: 7, Cached: 2, Out: 3, Estimated: at == 0}, Cost: 4, Unpriced: at == 1}, 0)
					case 1:
						return Release(tx, run, open[at])
					default:
						return Charge(tx, run, open[at], Bill{})
					}
				})
				open = slices.Delete(open, at, at+1)
			}
			if rapid.Bool().Draw(rt, "looks") {
				sameLedger(rt, db, &kept)
			}
		}
		sameLedger(rt, db, &kept)
	})
}

func sameLedger(t *rapid.T, db *store.DB, kept *Ledger) {
	err := db.Read(context.Background(), func(q *store.Snapshot) error {
		var first Ledger
		spent, err := Spent(q, run)
		if err != nil {
			return err
		}
		for _, l := range []*Ledger{kept, &first} {
			if err := l.Refresh(q, run); err != nil {
				return err
			}
			if diff := cmp.Diff(spent, Sum(l.Lines, nil)); diff != "" {
				t.Fatalf("the lines are not what was spent:\n%s", diff)
			}
		}
		sorted := func(lines []Line) []Line {
			return slices.SortedFunc(slices.Values(lines), func(a, b Line) int {
				return strings.Compare(a.Node+" "+string(a.Contract), b.Node+" "+string(b.Contract))
			})
		}
		if diff := cmp.Diff(sorted(first.Lines), sorted(kept.Lines)); diff != "" {
			t.Fatalf("read before, the ledger is another:\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
