package verify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/check"
)

// Lines that nobody asked for are found out where that costs next to nothing.
func TestWorthLinking(t *testing.T) {
	for _, tt := range []struct {
		programs int
		suite    time.Duration
		want     bool
	}{
		{1, 0, true}, {5, time.Second, true}, {30, 0, false}, {30, 900 * time.Millisecond, false}, {30, 19 * time.Second, false}, {30, 20 * time.Second, true}, {300, time.Minute, false},
	} {
		if got := worthLinking(tt.programs, tt.suite); got != tt.want {
			t.Errorf("%d programs beside %v: %t", tt.programs, tt.suite, got)
		}
	}
}

func TestAddedLines(t *testing.T) {
	patch := "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,4 @@ x\n one\n+two\n+++ three\n-old\n four\n@@ -9 +11 @@\n-a\n+b\n" +
		"diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
	want := map[string][]check.Lines{"a.go": {{From: 2, To: 3}, {From: 11, To: 11}}}
	if diff := cmp.Diff(want, addedBy(patch)); diff != "" {
		t.Error(diff)
	}
}

func addedBy(patch string) map[string][]check.Lines {
	a := newChangedLines()
	w := &lineWriter{each: a.line}
	for i := 0; i < len(patch); i += 7 { // in pieces that are no lines
		_, _ = w.Write([]byte(patch[i:min(i+7, len(patch))]))
	}
	w.end()
	return a.added
}
