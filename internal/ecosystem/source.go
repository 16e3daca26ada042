package ecosystem

import (
	"path"
	"slices"
	"strings"

	"agency/internal/code/lexical"
)

// Source is how sources are told by their paths and read as text: what is known
// of a language without its syntax. Patterns and functions that are nil, and
// lists that are empty, say that a language has none such.
type Source struct {
	// Endings are those of its files, with the dot.
	Endings []string
	// Style is how it writes comments and strings.
	Style lexical.Style
	Tests Tests
	Forms Forms
	Names Names
	Files Files
	// Packages is how its packages are listed.
	Packages Packages
}

// Tests is what a language's tests are told by.
type Tests struct {
	// IsFile tells whether a path of the language is one where tests are kept.
	IsFile func(p string) bool
	// Beside: other tests stand beside the code that they test, in its file.
	Beside bool
	// Import is a text that only what is of tests holds.
	Import string
	// Folders are names of folders for what mostly tests alone use.
	Folders Pattern
	// SetUps are files that a runner loads before the tests.
	SetUps []string
	// Framework is how a source uses what tests are made of.
	Framework Pattern
	// Units are the tests and helpers of a file.
	Units func(src []byte) []CodeUnit
	// Typed: the name of a unit bears its type before a dot.
	Typed bool
	// Words are what a unit says, without comments and blanks, where that is more
	// than a text shows.
	Words func(body string) []string
}

// Forms are how a language writes what is looked for in its text.
type Forms struct {
	// Defines is how it gives a name to something that can be called: the last
	// group that matched.
	Defines Pattern
	// Declares is how a source gives a name to what others use; Declarations finds
	// these names where that is told by its syntax.
	Declares     Pattern
	Declarations func(src []byte) []string
	// Indents: it means something where a line begins.
	Indents bool
	// Yields is what gives something back, Does what does something.
	Yields, Does Pattern
	// Maybe is how the head of a function says that there may be no result.
	Maybe Pattern
	// Untyped: the types of results are not written.
	Untyped bool
	// Silences is how its tools are told to be quiet about a line, a block or a
	// file; formatters are not meant.
	Silences Pattern
	// Warns: its compiler is among these tools.
	Warns bool
	// Marks are ways by which its text shows that code knows of its tests, where
	// that is not read from its syntax.
	Marks func() []Mark
}

// Files are the files that the tools of a language have, by the patterns of Matches.
type Files struct {
	// Manifests stand where a build can be started; names alone.
	Manifests []string
	// Locks pin what is installed.
	Locks []string
	// Settings are of test runners, linters and type checkers, and take effect by
	// being there.
	Settings []string
	// Recipes do nothing until a command names one.
	Recipes []string
	// Parts are the files that decide by a part of them how tests run.
	Parts []SettingsFile
	// Litter are folders that its tools make beside the work, with what they are.
	Litter map[string]string
	// Remains are files that nobody writes as work, with what they are.
	Remains map[string]string
}

// Packages is how a tool lists the packages of a repository, and what of them a
// change can affect.
type Packages struct {
	// Form is that of the listing.
	Form string
	// Affected parts the packages of a listing by whether their tests can come to
	// something else by changed files; not known where any may. Root is the folder
	// that the paths of the files are relative to.
	Affected func(list, root string, changed []string) (hit, left []string, known bool)
}

// Matches tells whether one of some patterns is that of a path: of its name, with
// the folder that it stands in where the pattern has one, or of any folder above
// where the pattern ends with a slash.
func Matches(globs []string, p string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		name := path.Base(p)
		if folder, is := strings.CutSuffix(glob, "/"); is {
			return UnderFolder(p, folder)
		} else if strings.Contains(glob, "/") {
			name = path.Join(path.Base(path.Dir(p)), name)
		}
		ok, err := path.Match(glob, name)
		return ok && err == nil
	})
}

// Stem is the name of a file without its folder and its ending.
func Stem(p string) string {
	base := path.Base(p)
	return strings.TrimSuffix(base, path.Ext(base))
}

// UnderFolder tells whether a path lies below a folder of one of some names.
func UnderFolder(p string, names ...string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool { return slices.Contains(names, d) })
}
