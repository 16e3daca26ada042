package ecosystem

import (
	"slices"

	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
	"agency/internal/awareness/symbols"
	"agency/internal/regexp"
)

// Awareness is by what sources of the language are searched for code that knows of
// its tests. What a language has not is nil.
type Awareness struct {
	// Read reads a source into the form that values are followed through, with what
	// the source shows by itself; no form where it takes no part in that. It fails
	// as what the source is asked for does.
	Read func(dataflow.Source) (*dataflow.File, []awareness.Finding, error)
	// Model is what is known of the language's processes for that.
	Model func(dataflow.Repository) *dataflow.Model
	// Symbols is what is known of a language whose names are followed instead.
	Symbols *symbols.Language
	// Modules is how those languages find and read modules.
	Modules Modules
	// Handed are the ways by which a test can hand something to code beside its
	// arguments. They are made when they are asked for: a program that starts has no
	// use for them.
	Handed func() Handed
	// TestMain is the text of the function in a source that is handed all tests,
	// without its comments, and whether it reports what they came to; "" where there
	// is none.
	TestMain func(src []byte) (text string, reports bool)
}

// Module is a source as others load it.
type Module struct {
	Path    string
	Text    []byte
	Product bool // it is not of tests
}

// Modules is how sources are loaded by each other.
type Modules struct {
	// Source is a file as a source of a language that is read: its path tells which,
	// and what is no code in it is blank.
	Source func(path string, src []byte) (string, []byte)
	// IsProgram tells of a file that is started by itself and gives nothing to others:
	// that it looks at its command line and decides its exit code is what it is for.
	IsProgram func(file Module, others []Module) bool
	// Member is the name within a file of what a test of a path knows by the module's;
	// false where it is another module's.
	Member func(file, test, full string) (name string, ok bool)
	// Displaces is what a file takes the place of by its name; may be nil.
	Displaces func(path string) []string
	// OfTests tells, by the modules of tests, for a file, of modules that it can load
	// only where tests run it; may be nil.
	OfTests func(tests []string, exists func(path string) bool) func(file string) func(module string) bool
}

// Handed are ways by which tests can hand something to code beside its arguments.
type Handed struct {
	// Environment are the readers of the environment; the first group that matched is
	// the variable's name.
	Environment *regexp.Regexp
	// Variables are those of a module that code elsewhere can set.
	Variables func(src []byte) []string
	Channels  []Channel
}

// Channel is what code reads of one way, by its first group, and what a test then
// does; where that has a group, too, it must be the same.
type Channel struct{ Reads, Sets *regexp.Regexp }

// IsSet tells whether a test does its part, of the same name where it has one.
func (c Channel) IsSet(test, name string) bool {
	return slices.ContainsFunc(c.Sets.FindAllStringSubmatch(test, -1), func(m []string) bool { return len(m) == 1 || m[1] == name })
}

// NamesIn are what the first group of a form that matched says, at each place of a
// source; none where there is no form.
func NamesIn(form *regexp.Regexp, src []byte) (out []string) {
	if form == nil {
		return nil
	}
	for _, m := range form.FindAllSubmatchIndex(src, -1) {
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 {
				out = append(out, string(src[m[g]:m[g+1]]))
				break
			}
		}
	}
	return out
}
