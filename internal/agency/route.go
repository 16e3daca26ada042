package agency

import (
	"fmt"
	"slices"
	"strings"
)

// Level is a capability level of models.
type Level string

// The levels, strongest first.
const (
	ReasoningHeavy Level = "reasoning-heavy"
	Capable        Level = "capable"
	FastCheap      Level = "fast-cheap"
)

// Levels are all levels, strongest first.
func Levels() []Level { return []Level{ReasoningHeavy, Capable, FastCheap} }

// Raise is the level n steps stronger, the strongest at most.
func (l Level) Raise(n int) Level {
	all := Levels()
	return all[max(0, slices.Index(all, l)-n)]
}

// Level is the one on which work of this size begins (docs/design.md, Modes).
func (c Complexity) Level() Level {
	switch c {
	case Large:
		return ReasoningHeavy
	case Small:
		return FastCheap
	}
	return Capable
}

// The strategies of routing.
const (
	RouteByComplexity = "complexity" // points for files, dependencies and criteria
	RouteByCost       = "cost"       // the cheapest level first, whatever the size
	RouteFixed        = "fixed"      // each role has its own model
)

// Bounds say up to what work is simple and above what it is complex.
type Bounds struct {
	SimpleFiles     int `json:"simple_files"`
	ComplexFiles    int `json:"complex_files"`
	SimpleCriteria  int `json:"simple_criteria"`
	ComplexCriteria int `json:"complex_criteria"`
}

// DefaultBounds are those without a configuration.
func DefaultBounds() Bounds {
	return Bounds{SimpleFiles: 2, ComplexFiles: 5, SimpleCriteria: 3, ComplexCriteria: 7}
}

// Size is what the complexity of work is told by.
type Size struct {
	Files        int `json:"files"`
	Dependencies int `json:"dependencies"`
	Criteria     int `json:"criteria"`
}

// SizeOf counts a contract: the files that it names, to change or to read.
func SizeOf(c Contract) Size {
	return Size{Files: countFiles(slices.Concat(c.WriteSet(), c.RelevantFiles)), Dependencies: len(c.DependsOn), Criteria: written(c.AcceptanceCriteria)}
}

// Points of a size: one each for more than a few files, any dependency and
// more than a few criteria, two each for many.
func (b Bounds) Points(s Size) int {
	points := 0
	for _, n := range []struct{ have, some, many int }{
		{s.Files, b.SimpleFiles, b.ComplexFiles}, {s.Dependencies, 0, 3}, {s.Criteria, b.SimpleCriteria, b.ComplexCriteria},
	} {
		switch {
		case n.have > n.many:
			points += 2
		case n.have > n.some:
			points++
		}
	}
	return points
}

// Complexity of a size: four points are large, two medium.
func (b Bounds) Complexity(s Size) Complexity {
	switch p := b.Points(s); {
	case p >= 4:
		return Large
	case p >= 2:
		return Medium
	}
	return Small
}

// Routing is how a run picks the level of a contract's sessions. Without roles
// nothing is picked: each role has its own model.
type Routing struct {
	Strategy string   `json:"strategy"`
	Bounds   Bounds   `json:"bounds"`
	Roles    []RoleID `json:"roles,omitempty"`
}

// Route is a decision. Reason is for people.
type Route struct {
	Level      Level      `json:"level"`
	Complexity Complexity `json:"complexity"`
	Points     int        `json:"points"`
	Reason     string     `json:"reason"`
}

// Before is what the repository has seen of work like a contract's.
type Before struct {
	Similar []string  // contracts like it that failed, by name
	Past    []Outcome // of any contracts
}

// Decide picks the level for a contract. A level that did poorly at work of this size
// before, and contracts like it that failed, each raise it by one. Up is by how
// many levels its own failures raise it.
func (r Routing) Decide(c Contract, before Before, up int) Route {
	size := SizeOf(c)
	out := Route{Complexity: r.Bounds.Complexity(size), Points: r.Bounds.Points(size)}
	out.Level = out.Complexity.Level()
	reasons := []string{fmt.Sprintf("%s: %s for %s, %s, %s", out.Complexity, Things(out.Points, "point", "points"), Things(size.Files, "file", "files"),
		Things(size.Dependencies, "dependency", "dependencies"), Things(size.Criteria, "criterion", "criteria"))}
	if r.Strategy == RouteByCost {
		out.Level = FastCheap
		reasons[0] += "; the cheapest level first"
	}
	if tried, held := FirstTries(before.Past, c.AssignedRole, out.Complexity, out.Level); Poor(tried, held) && out.Level != ReasoningHeavy {
		reasons = append(reasons, fmt.Sprintf("one level more: on %s %d of %d first attempts at such work held", out.Level, held, tried))
		out.Level = out.Level.Raise(1)
	}
	if len(before.Similar) > 0 {
		out.Level = out.Level.Raise(1)
		reasons = append(reasons, "one level more: similar work failed before ("+strings.Join(before.Similar, ", ")+")")
	}
	if up > 0 {
		out.Level = out.Level.Raise(up)
		reasons = append(reasons, fmt.Sprintf("%d more: what was tried below did not do", up))
	}
	out.Reason = strings.Join(reasons, "; ")
	return out
}

// Way is Decide for any role: one that is not routed has no level, and its size
// is told all the same.
func (r Routing) Way(c Contract, before Before, up int) Route {
	if slices.Contains(r.Roles, c.AssignedRole) {
		return r.Decide(c, before, up)
	}
	return Route{Complexity: r.Size(c), Points: r.bounds().Points(SizeOf(c))}
}

// Size is the complexity of a contract, whoever works on it.
func (r Routing) Size(c Contract) Complexity { return r.bounds().Complexity(SizeOf(c)) }

func (r Routing) bounds() Bounds {
	if r.Bounds == (Bounds{}) {
		return DefaultBounds()
	}
	return r.Bounds
}

// Similar tells whether two contracts are of one kind: the same role on some
// of the same files. Without files nothing can be told.
func Similar(a, b Contract) bool {
	if a.AssignedRole != b.AssignedRole {
		return false
	}
	_, _, overlap := Overlap(a.WriteSet(), b.WriteSet(), nil)
	return overlap
}

// EstimateTurns is a guess at the turns of one attempt at work of a size.
func EstimateTurns(c Complexity) int64 {
	switch c {
	case Small:
		return 6
	case Large:
		return 25
	}
	return 12
}

// EstimateUsage is a guess at the tokens of one attempt at work of a size: a
// conversation whose prompt comes from the provider's cache for the most part.
// It is for comparing models, and no limit.
func EstimateUsage(c Complexity) Usage {
	turns := EstimateTurns(c)
	const prompt, answer = 15_000, 700 // tokens: of the first request, of an answer with its tool calls
	in := turns*prompt + turns*(turns-1)/2*2*answer
	return Usage{In: in, Cached: in - prompt - (turns-1)*2*answer, Out: turns * answer}
}

type (
	// ModelChosen says that a person had a run, or in it a role or a level, ask another
	// model from the next request of each session on.
	ModelChosen struct {
		Whom   string `json:"whom,omitempty"` // empty: the run
		Model  string `json:"model"`
		Before string `json:"before"`
		By     string `json:"by"`
	}
	// Charged says that a request was charged whose answer was lost or broke off, and what the
	// run has spent with it: no turn tells of it before it ends.
	Charged struct {
		Node   string  `json:"node"`
		USD    float64 `json:"cost_usd"`
		Tokens int64   `json:"tokens"`
		Run    Spent   `json:"run"`
	}
)

func (Charged) kind() (EventType, Category) { return "charged", CategoryState }

// ModelChosenType is the type of the event of a person's choice.
const ModelChosenType EventType = "model_chosen"
