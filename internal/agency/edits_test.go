package agency

import (
	"slices"
	"strings"
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

// Who strayed goes after who declares the file; nothing else changes the line,
// and nobody is left out.
func TestLandingOrder(t *testing.T) {
	at := func(id string, writes, edited string) Landing {
		return Landing{Contract: Contract{ID: ContractID(id), Writes: strings.Fields(writes)}, Edited: strings.Fields(edited)}
	}
	for name, tt := range map[string]struct {
		waiting []Landing
		want    []int
	}{
		"nobody":                    {nil, nil},
		"one":                       {[]Landing{at("a", "a", "a b")}, []int{0}},
		"no stray":                  {[]Landing{at("a", "a", "a"), at("b", "b", "b")}, []int{0, 1}},
		"the owner first":           {[]Landing{at("a", "a", "a b"), at("b", "b", "b")}, []int{1, 0}},
		"the owner is first":        {[]Landing{at("b", "b", "b"), at("a", "a", "a b")}, []int{0, 1}},
		"nobody's file":             {[]Landing{at("a", "a", "a x"), at("b", "b", "b")}, []int{0, 1}},
		"a shared file":             {[]Landing{at("a", "a", "a go.sum"), at("b", "b go.sum", "b")}, []int{0, 1}},
		"both":                      {[]Landing{at("a", "a", "a b"), at("b", "b", "a b")}, []int{0, 1}},
		"a chain":                   {[]Landing{at("a", "a", "a b"), at("b", "b", "b c"), at("c", "c", "c")}, []int{2, 1, 0}},
		"a circle":                  {[]Landing{at("a", "a", "b"), at("b", "b", "c"), at("c", "c", "a")}, []int{0, 2, 1}},
		"one that declares nothing": {[]Landing{at("a", "", "a b"), at("b", "b", "b")}, []int{0, 1}},
		"others keep their places":  {[]Landing{at("x", "x", "x"), at("a", "a", "b"), at("y", "y", "y"), at("b", "b", "b")}, []int{0, 2, 3, 1}},
		"the same contract":         {[]Landing{at("a", "a", "b"), at("a", "a", "b")}, []int{0, 1}},
	} {
		if got := LandingOrder(tt.waiting, []string{"go.sum"}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
