package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/ui/tui"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

// docs/cli.md is made from the commands: a change of help without it is stale.
func TestReferenceIsFresh(t *testing.T) {
	a := &app{repository: repository{terminal: terminal{out: tui.NewScreen(io.Discard, tui.Style{}), err: tui.NewScreen(io.Discard, tui.Style{})}, env: os.LookupEnv, now: time.Now}}
	want := reference(a.root())
	path := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/cli.md is stale; mend: go test ./cmd/agency -run TestReferenceIsFresh -update\n%s", d)
	}
}
