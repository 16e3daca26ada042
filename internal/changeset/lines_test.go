package changeset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/check"
)

func TestAddedLines(t *testing.T) {
	patch := "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,4 @@ x\n one\n+two\n+++ three\n-old\n four\n@@ -9 +11 @@\n-a\n+b\n" +
		"diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
	want := map[string][]check.Lines{"a.go": {{From: 2, To: 3}, {From: 11, To: 11}}}
	if diff := cmp.Diff(want, addedBy(patch)); diff != "" {
		t.Error(diff)
	}
}

func addedBy(patch string) map[string][]check.Lines {
	a := newLines()
	w := &lineWriter{each: a.line}
	for i := 0; i < len(patch); i += 7 { // in pieces that are no lines
		_, _ = w.Write([]byte(patch[i:min(i+7, len(patch))]))
	}
	w.end()
	return a.Added
}
