package view

import (
	"context"
	"os"
	"path/filepath"
	"testing"

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
