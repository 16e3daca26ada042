package agency

import (
	"slices"
	"strconv"
	"strings"
)

// Act is a file of a change that runs or configures something on the machine of
// whoever pulls, opens, installs or builds it, without being asked to.
type Act struct {
	Path string `json:"path"`
	Does string `json:"does"` // in a few words
	// Became is set where it acts by what the path became (a link, a submodule)
	// and not by the path: who lets the path be written did not mean that.
	Became bool `json:"became,omitempty"`
	// Contracts are those whose landings bring it; none: a person's commit does.
	Contracts []ContractID `json:"contracts,omitempty"`
	// Declared is set where a person gave each of them the file to write, or
	// approved the plan that did.
	Declared bool `json:"declared,omitempty"`
	// Accepted is set in a report where a person let it be merged by its name.
	Accepted bool `json:"accepted,omitempty"`
}

// Shown is the path for people: quoted where it has signs that do not print.
func (a Act) Shown() string {
	if strings.ContainsFunc(a.Path, func(r rune) bool { return !strconv.IsPrint(r) || r == '`' }) {
		return strconv.Quote(a.Path)
	}
	return a.Path
}

// By says who brings it.
func (a Act) By() string {
	s := "by contract " + JoinIDs(a.Contracts, ", ")
	if len(a.Contracts) == 0 {
		s = "by a commit that is of no contract"
	}
	switch {
	case a.Declared:
		s += ", declared in its writes"
	case a.Accepted:
		s += ", accepted by a person"
	}
	return s
}

// String is the line that people read.
func (a Act) String() string { return a.Shown() + ": " + a.Does + " (" + a.By() + ")" }

// Weakening is what a person accepts who lets it be merged.
func (a Act) Weakening() Weakening {
	return Weakening{Kind: WeakActs, Name: a.Shown(), Detail: a.Does + ", " + a.By()}
}

// WeakenedByActs are the acts that nobody declared.
func WeakenedByActs(all []Act) (out []Weakening) {
	for _, a := range all {
		if !a.Declared {
			out = append(out, a.Weakening())
		}
	}
	return out
}

// WithoutActs are the weakenings of checks alone.
func WithoutActs(all []Weakening) []Weakening {
	return slices.DeleteFunc(slices.Clone(all), func(w Weakening) bool { return w.Kind == WeakActs })
}
