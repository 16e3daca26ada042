package board

import (
	"fmt"
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

// BenchmarkMail is the CPU of a message without its commit: sent, claimed,
// read.
func BenchmarkMail(b *testing.B) {
	db, err := store.Open(b.Context(), store.Options{
		Path: filepath.Join(b.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), Migrations()},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	many := func(b *testing.B, fn func(tx *store.Tx, n int) error) {
		for at := 0; at < b.N; at += 1000 {
			if err := db.Write(b.Context(), func(tx *store.Tx) error {
				for n := at; n < min(b.N, at+1000); n++ {
					if err := fn(tx, n); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := db.Write(b.Context(), func(tx *store.Tx) error {
		for _, id := range []string{"ann", "bob"} {
			if err := Join(tx, Agent{Run: run, ID: agency.AgentID(id), Role: "scaffolder"}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	round := 0
	b.Run("send", func(b *testing.B) {
		round++
		many(b, func(tx *store.Tx, n int) error { return Send(tx, msg(fmt.Sprintf("m%d-%d", round, n), "bob", "ann")) })
	})
	b.Run("claim", func(b *testing.B) {
		many(b, func(tx *store.Tx, _ int) error {
			_, _, err := Claim(tx, as("ann", "s"))
			return err
		})
	})
}
