package ecosystem

import "strings"

// Names is how a source names others. It is read from the text, and it may name
// too much: a dotted name or a path in a string counts as an import does.
type Names struct {
	// Loads are the modules that a source without its comments imports; bare takes
	// the ending of a source off a path.
	Loads func(from, text string, bare func(p string) string) []ImportedModule
	// Dotted: a string with dots may name a module.
	Dotted bool
	// By is what others name of a source.
	By Named
}

// ImportedModule is a module that a source names: a path without its ending, from the root
// of the repository where exact, else in whatever folder of sources.
type ImportedModule struct {
	Path  string
	Exact bool
}

// Named is what others name of a source that they use.
type Named int

// The ways to name a source.
const (
	ByPath   Named = iota // its own path, or that of its folder
	ByFolder              // the folder alone, which is its package
	ByStem                // its name, as a word
)

// Dotted is a module by its dotted name, with the packages around it.
func Dotted(name string) (out []ImportedModule) {
	parts := strings.Split(strings.Trim(name, "."), ".")
	for i := range parts {
		out = append(out, ImportedModule{Path: strings.Join(parts[:i+1], "/")})
	}
	return out
}
