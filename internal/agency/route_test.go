package agency

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func sized(files, deps, criteria int) Contract {
	c := Contract{ID: "x", AssignedRole: "scaffolder"}
	for i := range files {
		c.RelevantFiles = append(c.RelevantFiles, fmt.Sprintf("f%d.go", i))
	}
	for i := range deps {
		c.DependsOn = append(c.DependsOn, ContractID(fmt.Sprintf("d%d", i)))
	}
	for i := range criteria {
		c.AcceptanceCriteria = append(c.AcceptanceCriteria, Criterion{ID: fmt.Sprint(i)})
	}
	return c
}

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		files, deps, criteria int
		points                int
		size                  Complexity
		level                 Level
	}{
		{0, 0, 0, 0, Small, FastCheap},
		{2, 0, 3, 0, Small, FastCheap},
		{3, 0, 3, 1, Small, FastCheap},
		{2, 1, 3, 1, Small, FastCheap},
		{2, 0, 4, 1, Small, FastCheap},
		{3, 1, 0, 2, Medium, Capable},
		{5, 3, 7, 3, Medium, Capable},
		{6, 0, 0, 2, Medium, Capable},
		{2, 4, 0, 2, Medium, Capable},
		{0, 0, 8, 2, Medium, Capable},
		{6, 1, 4, 4, Large, ReasoningHeavy},
		{6, 4, 8, 6, Large, ReasoningHeavy},
	} {
		r := Routing{Strategy: RouteByComplexity, Bounds: DefaultBounds()}.Decide(sized(tt.files, tt.deps, tt.criteria), Before{}, 0)
		if r.Points != tt.points || r.Complexity != tt.size || r.Level != tt.level {
			t.Errorf("%d files, %d dependencies, %d criteria: %+v, want %d points, %s, %s", tt.files, tt.deps, tt.criteria, r, tt.points, tt.size, tt.level)
		}
	}
}

func TestDecideRaises(t *testing.T) {
	by := Routing{Strategy: RouteByComplexity, Bounds: DefaultBounds()}
	for _, tt := range []struct {
		name    string
		routing Routing
		c       Contract
		similar []string
		up      int
		level   Level
		says    string
	}{
		{"similar work failed", by, sized(1, 0, 1), []string{"r/a"}, 0, Capable, "similar work failed before (r/a)"},
		{"an attempt failed", by, sized(1, 0, 1), nil, 1, Capable, "1 more"},
		{"both", by, sized(1, 0, 1), []string{"r/a", "r/b"}, 1, ReasoningHeavy, "r/a, r/b"},
		{"the top is the top", by, sized(6, 4, 8), []string{"r/a"}, 3, ReasoningHeavy, "large"},
		{"the cheapest first", Routing{Strategy: RouteByCost, Bounds: DefaultBounds()}, sized(6, 4, 8), nil, 0, FastCheap, "cheapest"},
		{"the cheapest first, then up", Routing{Strategy: RouteByCost, Bounds: DefaultBounds()}, sized(6, 4, 8), nil, 1, Capable, "cheapest"},
		{"other bounds", Routing{Strategy: RouteByComplexity, Bounds: Bounds{SimpleFiles: 0, ComplexFiles: 1, SimpleCriteria: 0, ComplexCriteria: 1}}, sized(2, 0, 2), nil, 0, ReasoningHeavy, "4 points"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.routing.Decide(tt.c, Before{Similar: tt.similar}, tt.up)
			if r.Level != tt.level || !strings.Contains(r.Reason, tt.says) {
				t.Errorf("%+v, want %s because of %q", r, tt.level, tt.says)
			}
		})
	}
}

// Files that are read and changed count once, as do symbols of one file.
func TestSizeOf(t *testing.T) {
	c := Contract{Writes: []string{"a.go#X", "a.go#Y", "b.go"}, RelevantFiles: []string{"b.go", "c.go"}}
	if n := SizeOf(c).Files; n != 3 {
		t.Errorf("%d files, want 3", n)
	}
}

func TestSimilar(t *testing.T) {
	a := Contract{AssignedRole: "scaffolder", Writes: []string{"internal/a/*.go"}}
	for _, tt := range []struct {
		name string
		b    Contract
		want bool
	}{
		{"a file of them", Contract{AssignedRole: "scaffolder", Writes: []string{"internal/a/x.go"}}, true},
		{"other files", Contract{AssignedRole: "scaffolder", Writes: []string{"internal/b/x.go"}}, false},
		{"another role", Contract{AssignedRole: "test_engineer", Writes: []string{"internal/a/x.go"}}, false},
		{"no files", Contract{AssignedRole: "scaffolder"}, false},
	} {
		if got := Similar(a, tt.b); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestEstimateGrows(t *testing.T) {
	var sizes []int64
	for _, c := range []Complexity{Small, Medium, Large} {
		u := EstimateUsage(c)
		if u.Cached < 0 || u.Cached > u.In || u.Out <= 0 {
			t.Errorf("%s: %+v", c, u)
		}
		sizes = append(sizes, u.Billed())
	}
	if !slices.IsSorted(sizes) {
		t.Errorf("billed tokens %v", sizes)
	}
}
