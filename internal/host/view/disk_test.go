package view

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"agency/internal/agency"
)

func TestDiskUseOfRuns(t *testing.T) {
	state := t.TempDir()
	write := func(run, name string, size int) {
		t.Helper()
		path := filepath.Join(state, "runs", run, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "git/objects/x", 100_000)
	write("a", "work/main/deep/file", 200_000)
	write("b", "work/file", 10)
	var u usage
	first := u.measure(t.Context(), state, []agency.Run{{ID: "a", State: agency.StateSucceeded}, {ID: "b"}, {ID: "gone"}})
	if n := first["a"]; n < 300_000 || n > 400_000 {
		t.Errorf("run a takes %v", n)
	}
	if n, ok := first["b"]; !ok || n >= 100_000 {
		t.Errorf("run b takes %v", n)
	}
	if n, ok := first["gone"]; !ok || n != 0 {
		t.Errorf("a run without files takes %v", n)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	again := u.measure(over, state, []agency.Run{{ID: "a", State: agency.StateSucceeded}, {ID: "new"}})
	if again["a"] != first["a"] {
		t.Error("what was measured is measured again")
	}
	if _, ok := again["new"]; ok {
		t.Error("what could not be measured is given")
	}
}

// What a run no longer holds is not told for long.
func TestDiskUseIsMeasuredAgain(t *testing.T) {
	state := t.TempDir()
	big := filepath.Join(state, "runs", "a", "big.log")
	synctest.Test(t, func(t *testing.T) {
		var u usage
		for _, final := range []agency.RunState{agency.StateRunning, agency.StateSucceeded} {
			if err := os.MkdirAll(filepath.Dir(big), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(big, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			runs := []agency.Run{{ID: "a", State: final}}
			if n := u.measure(t.Context(), state, runs)["a"]; n < 1<<20 {
				t.Errorf("%s: %d before", final, n)
			}
			if err := os.Remove(big); err != nil {
				t.Fatal(err)
			}
			wait := 3 * time.Second
			if final.Final() {
				wait = 31 * time.Second
			}
			time.Sleep(wait)
			if n := u.measure(t.Context(), state, runs)["a"]; n > 1<<19 {
				t.Errorf("%s: %d after it was removed", final, n)
			}
		}
	})
}
