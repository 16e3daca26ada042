package ecosystem

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"agency/internal/code/imports"
	"agency/internal/regexp"
)

// Project is how a project is found, which commands build and test it, and what
// they need around them: toolchain, dependencies, caches, hosts. What a language
// has not is empty.
type Project struct {
	Parts        Parts
	Dependencies Dependencies
	Toolchain    Toolchain
	Programs     Programs
	Imports      Imports
}

// Part is a folder with a manifest, and the commands that belong to it.
type Part struct {
	Language                     string // "Go"
	Manifest, Dir                string // relative to the repository
	Test, Lint, Typecheck, Build string // lines, started in the folder
	Note                         string // what is missing
}

// ExitCodesOnly is the note of a part whose tests have no names.
const ExitCodesOnly = "tests count by the exit code of their command only"

// Parts are how the parts of a repository are found, and what stands between them.
type Parts struct {
	// Manifests are the files that make a folder one.
	Manifests []string
	// Find lists them, the root first. named tells whether the results of a line of
	// the root are known by the names of tests. Fallback: it is asked only where no
	// language before has found one.
	Fallback bool
	Find     func(c *Checkout, named func(line string) bool) []Part
	// Tested tells whether a part has tests; nil: one with a command for them has.
	Tested func(c *Checkout, p Part) bool
	// Member tells whether a part is of a workspace above it; nil: none is.
	Member func(c *Checkout, dir string) bool
	// Uses are the folders that the manifests in a folder name, relative to the
	// repository.
	Uses func(c *Checkout, dir string) []string
	// Program is what the commands of a part cannot do without; nil: not known.
	Program func(p Part) string
	// Lacks is what a part needs and the machine does not have, as far as files tell
	// it, with the command that brings it; nil: not known.
	Lacks func(m *Machine, p Part) (what, mend string)
}

// Unit is what the manifests of a folder ask to be installed.
type Unit struct {
	Folder  string   // into which, relative to the repository, or
	Cache   string   // the cache outside of it, by name
	Locks   []string // lockfiles and manifests that decide what
	Manager string   // the program that does it
	Dir     string   // where it is started
}

// Folder is a kind of folder that builds need and git ignores.
type Folder struct {
	Manifests []string // what shows that a folder has one
	Names     []string
	Locks     []string // that decide what is in it, the nearest upward; none: a cache
	Proof     string   // a file that must be in it
	Bare      bool     // it may stand at the root without a manifest
}

// Dependencies are how packages are installed, and what tells which are.
type Dependencies struct {
	Managers []string // programs, by whose names units are told
	Units    func(c *Checkout) []Unit
	Folders  []Folder
	// Manifests are the files in which people write what they ask for, as far as a
	// lockfile says the same.
	Manifests []string
	// Sums are the files that name more than is installed.
	Sums []string
	// Alone tells the files that decide in a folder without a lockfile, ManifestOf the
	// manifest that stands in for a lockfile which a repository does not keep. Decides
	// is the part of a manifest that decides, by its name; of other files all does.
	Alone      func(base string) bool
	ManifestOf map[string]string
	Decides    map[string]*regexp.Regexp
	// Noted is the file of an installed folder in which a manager notes what it has
	// installed for a lockfile of this name, and what tells whether it is all that the
	// lockfile names; nil: the two are equal.
	Noted func(lock string) (file string, same func(lock, noted io.Reader) bool)
	// Installs tells a call that does nothing but install what these files name.
	Installs func(words []string) bool
	// Setup is the line that installs what a unit asks for. loose: also what a
	// lockfile does not name yet. Leaves is the lockfile that it writes where there
	// is none.
	Setup  func(c *Checkout, u Unit, loose bool) string
	Leaves string

	// Reader reads the packages of a file of this name; nil: it is none. Unread are
	// further files that decide what is installed.
	Reader func(base string) func([]byte) Versions
	Unread []string

	// Probe is a line that tells whether what a unit needs is there (detect.Probe),
	// and Answered what its end says; nil: by its exit code.
	Probe    func(c *Checkout, u Unit, changed []Package) string
	Answered func(exit int, output string) bool

	// HostFiles are the files beside a unit that can name hosts. Hosts is the part
	// of a file of this name in which hosts are of packages; ok is false where it is
	// no file of this language. Registries is what a manager says of where it
	// downloads from.
	HostFiles  []string
	Hosts      func(base string, text []byte) (part []byte, ok bool)
	Registries func(ctx context.Context, m *Machine, manager string) string

	// Users are the programs for which packages are installed; nil: nothing tells
	// before a run what is missing. Absent are the packages of a unit that are
	// missing by what files say; changed are the locks of it that differ from the
	// user's own, and test the command of the tests. Asked are the packages that
	// Probe is asked about instead, and Denied what its output says is missing.
	Users  *regexp.Regexp
	Absent func(m *Machine, u Unit, changed func() []string, test string) []string
	Asked  func(c *Checkout, u Unit) []Package
	Denied func(u Unit, output string) []string
	// Relink, where set, is the line that a person needs in the place of Setup's, whose
	// packages no checkout would find; "": Setup's does.
	Relink func(c *Checkout, u Unit) string

	// Modules asks in the sandbox which modules are missing; nil: nobody does.
	Modules *ModuleQuestion
}

// InstallWords tells the calls that only install by the word that follows the name
// of a manager and its options; "" stands for none.
func InstallWords(of map[string][]string) func(words []string) bool {
	return func(words []string) bool {
		first := ""
		if i := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") }); i >= 0 {
			first = words[1+i]
		}
		return slices.Contains(of[path.Base(words[0])], first)
	}
}

// ModuleQuestion is a question to a toolchain in the sandbox, which modules of a
// repository it would fetch. starts are the folders in which commands start.
type ModuleQuestion struct {
	Line    func(c *Checkout, starts []string) string // empty: there are none
	Missing func(output string) []string
	Mend    func(c *Checkout, starts []string) string
}

// Pin is a version that a file of the repository asks for.
type Pin struct{ Tool, Version, File string }

// Toolchain is how a toolchain is found and shown.
type Toolchain struct {
	Tool  string   // its name before its version: "node" of "node v20.1.0"
	Names []string // in .tool-versions
	Looks string   // what is looked for: "rustc and cargo"
	// Needed tells whether a repository needs it; Required: without it there is no run.
	Needed   func(c *Checkout) bool
	Required bool
	Find     func(ctx context.Context, m *Machine) (Environment, error)
	// Variables are those by which version managers are told where they lie, Quiet
	// those that keep programs which are asked from downloading, as NAME=VALUE.
	Variables, Quiet []string

	// PinFiles ask for one version at the root: the first line, or what Pinned takes
	// of the text. MorePins are what other files say.
	PinFiles []string
	Pinned   func(text string) string
	MorePins func(c *Checkout) []Pin
	// Installs is how a version comes onto a machine; nil: by hand.
	Installs func(version string) string
	// VersionIn is the version that a part of Environment.Version tells, empty where it
	// is of another tool; nil: the word behind the name. Note is on a version that is asked for in another way.
	VersionIn func(part string) string
	Note      func(c *Checkout, have string) string
}

// Need is a program that commands start, in a folder.
type Need struct {
	Name string
	In   string // the interpreter of a module; "npx" for a program that npx would fetch
	Dir  string
}

// Programs are how what commands start is found, and what brings it.
type Programs struct {
	// Install says how programs come onto a machine.
	Install map[string]string
	// Toolchain are programs that nothing installs beside packages, Harmless such as
	// install nothing, for all that is usual, and Wrappers those that a repository
	// itself brings.
	Toolchain, Harmless, Wrappers []string
	// Subcommands are those of a program that are programs of their own, Folders the
	// options by which a program is told to work elsewhere. Paths are variables that
	// say where packages lie.
	Subcommands, Folders map[string][]string
	Paths                []string
	// Modules are those that a call of an interpreter certainly needs, quiet whether
	// it installs none; ok is false for a call of anything else.
	Modules func(words []string) (modules []string, quiet, ok bool)
	// Starts is the program of a package that a call starts, none where it names its
	// package by itself, and by which program it would be fetched; ok is false for a
	// call of anything else.
	Starts func(words []string) (program, by string, ok bool)
	// Module and Package are the shell that tells whether there is a module of an
	// interpreter, or a program of an installed package; nil: the language has none
	// of them. Elsewhere tells that such a program may come from where nobody looks.
	Module    func(n Need) string
	Package   func(n Need) string
	Elsewhere func(m *Machine, n Need) bool
	// LacksModule and LacksProgram say what is missing, and what installs it; empty:
	// it is nothing of this language. by is who starts it.
	LacksModule  func(m *Machine, n Need) (what, mend string)
	LacksProgram func(m *Machine, n Need, by string, ofPackage bool) (what, mend string)
	// Fetches is what a program would have to download before it runs; Other a note
	// on a version that is not the one asked for.
	Fetches func(ctx context.Context, m *Machine, n Need) (what, mend string)
	Other   func(ctx context.Context, m *Machine, n Need) string
}

// Imports are who uses whom among files.
type Imports struct {
	// Read reads it; nil graph: too much, or it cannot be known. Decides tells a
	// file that decides how all tests run.
	Read    func(ctx context.Context, src imports.Source) *imports.Graph
	Decides func(file string) bool
	// Packages are, in the place of files, the packages that changed files can
	// affect, and all there are. says is what the command of the tests is told.
	Packages func(ctx context.Context, src imports.Source, says string, changed []string) (hit, all []string, known bool)
}
