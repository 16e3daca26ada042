package lease_test

import (
	"path/filepath"
	"testing"
	"time"

	"agency/internal/lease"
	"agency/internal/store"
)

// TestAwakeGoesOn looks at the clock over three hosts, whose monotonic clocks
// each begin anew while the wall clock jumps.
func TestAwakeGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	var mono time.Duration
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var last time.Duration
	for _, host := range []struct {
		seen []time.Duration // of the host's monotonic clock
		want time.Duration   // at the end
	}{
		{[]time.Duration{0, time.Second, 90 * time.Second, 90*time.Second + 500*time.Millisecond}, 90*time.Second + 500*time.Millisecond},
		{[]time.Duration{0, time.Second, 10 * time.Second}, 100 * time.Second}, // half a second was not kept
		{[]time.Duration{2 * time.Second, 3 * time.Second}, 101 * time.Second},
	} {
		mono, wall = host.seen[0], wall.Add(-400*24*time.Hour)
		db, err := store.Open(t.Context(), store.Options{
			Path: path, Sets: []store.Set{lease.Migrations()},
			Now: func() time.Time { return wall }, Mono: func() time.Duration { return mono },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, mono = range host.seen {
			var read, wrote time.Duration
			if err := db.Read(t.Context(), func(s *store.Snapshot) (err error) { read, err = lease.Awake(s); return err }); err != nil {
				t.Fatal(err)
			}
			if err := db.Write(t.Context(), func(tx *store.Tx) (err error) { wrote, err = lease.Awake(tx); return err }); err != nil {
				t.Fatal(err)
			}
			if read != wrote {
				t.Errorf("at %s a reader sees %s, a writer %s", mono, read, wrote)
			}
			if wrote+time.Second < last {
				t.Errorf("at %s the clock went back from %s to %s", mono, last, wrote)
			}
			last = wrote
		}
		if last != host.want {
			t.Errorf("after a host of %s the clock is %s, want %s", mono, last, host.want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
