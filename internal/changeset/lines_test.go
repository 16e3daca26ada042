package changeset

import (
	"fmt"
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

func TestLinesAreTold(t *testing.T) {
	var got []string
	c := newLines()
	c.each = func(l Line) { got = append(got, fmt.Sprintf("%v %s:%d %s", l.Added, l.File, l.At, l.Text)) }
	w := &lineWriter{each: c.line}
	_, _ = w.Write([]byte("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+++ 2\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"))
	w.end()
	if diff := cmp.Diff([]string{"false a:2 two", "true a:2 ++ 2", "false :0 x"}, got); diff != "" {
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
