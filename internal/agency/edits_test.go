package agency

import (
	"slices"
	"testing"
)

func TestUnshared(t *testing.T) {
	got := Unshared([]string{"a.go", "go.sum", "docs/CHANGELOG.md"}, []string{"go.sum", "**/CHANGELOG.md"})
	if !slices.Equal(got, []string{"a.go"}) {
		t.Errorf("%v", got)
	}
}

func TestParts(t *testing.T) {
	c := Contract{Writes: []string{"a.go#A", "a.go#B", "b.go", "c.go#C", "c.go", "d/*.go", "d/x.go#X"}}
	got := Parts(c, []string{"a.go", "b.go", "c.go", "d/x.go", "e.go"})
	if !slices.Equal(got, []string{"a.go"}) {
		t.Errorf("%v", got)
	}
}
