package ecosystem

import (
	"io"
	"io/fs"
	"os"

	"agency/internal/testreport"
)

// Runner is a program that runs tests: how its call is recognised in a line, asked
// for results and told what to run, and how what it reports is read. A function that
// is nil is what the runner cannot do.
type Runner struct {
	Name string // as people call it
	// Runs tells whether words, from the first on, are a call of it that runs
	// tests; one that only lists or watches them is none.
	Runs func(words []string) bool
	// Direct tells that its results are what it prints: its call has to stand in the
	// line itself, behind nothing but env.
	Direct bool
	// ByEnvironment tells that it takes options from environment variables, so that
	// it can be asked behind a package script that calls it several times.
	ByEnvironment bool

	// Ask has a call report what its tests did. False where it cannot be asked;
	// then only its exit code is known.
	Ask func(c Call, q Query) (Asked, bool)
	// Reports is what follows the name of a call in those of its reports, as a
	// pattern of fs.Glob.
	Reports string
	// Prints tells that a report is what the runner printed: it is also looked at
	// for words of one that does not know the options by which it was asked.
	Prints bool
	// Read reads one report; ok is false where the document is none.
	Read func(r Report) (complete, ok bool)
	// ReportAt tells whether a file of the checkout is a report that the runner
	// leaves where it always does, and of which folder. Then it writes no other.
	ReportAt func(name string) (dir string, ok bool)
	// Kept tells whether such a report counts though the command did not write it:
	// the runner found its tests up to date.
	Kept func(name string) bool
	// Coverage reads which lines the tests of a call reached.
	Coverage func(m Measured)

	// Select has a call run a selection. False where it cannot, or where it selects
	// something itself already.
	Select func(c Call, s Selection, repo Repo) ([]Edit, bool)
	// Owner is the one of its calls in a line that reported a test; -1 where that is
	// none, and not sure where only another runner's could be meant as well. nil:
	// Names, and the folders of calls, tell.
	Owner func(calls []Call, test string, repo Repo) (at int, sure bool)
	// Target has a call run packages and tests as people write them, none where it
	// selects something itself already; Spell is what an agent wrote as that, and
	// false where it may not be.
	Target func(c Call, target string) ([]Edit, error)
	Spell  func(target string) (string, bool)
	// Whole narrows a line that names all packages, such as ./..., to a target.
	Whole func(line, target string) (string, bool)
	// List has a call list what it would test in a format, in place of testing.
	List func(c Call, format string) ([]Edit, bool)
	// Names tells whether it gives tests names of this form.
	Names func(test string) bool
	// Pick parts a test's name, relative to the folder of its call, into its file,
	// where one is told, and what is selected in it.
	Pick func(test string) (file, name string)
	// Shuffle has a call take another order; none where it has one already.
	Shuffle func(c Call, repo Repo) []Edit
	// Build has a call build what its tests need and run none of them; none where that
	// cannot be told.
	Build func(c Call) []Edit

	// Sources are what the names of its sources end with.
	Sources []string
	// Language is that of its tests, where a change can be followed to them by the
	// imports of their files, Together that it runs all files in one process.
	Language Name
	Together bool
	// Config is the text that decides what a call loads, beside its line.
	Config func(c Call, repo Repo) string
	// Affected has a call run what a change can affect, as the runner does that best:
	// by its own knowledge of what imports what, by leaving files out, or by naming
	// them. left tells whether a test by its name is left out; nil: by its file.
	Affected func(c Call, a Affected, repo Repo) (edits []Edit, left func(test string) bool, ok bool)
}

// Query is what a call is asked for.
type Query struct {
	// Lib is the folder for files that the runner loads, Base what the paths of its
	// reports begin with.
	Lib, Base string
	Measure   Measure
	Repo      Repo
}

// Asked is a call that was asked: the changes of its line, and files that it loads,
// by their paths.
type Asked struct {
	Edits []Edit
	Files map[string][]byte
	// Lines are the files whose lines are found out in passing, relative to the
	// call's folder, where that goes by a list.
	Lines []string
}

// Report is a document in which a runner tells of its tests.
type Report struct {
	Doc   io.Reader
	At    testreport.Paths
	Tests *testreport.Tally
	Text  io.Writer // takes what of it people should see

	// Of one that is what the command printed: the checkout, what is read of it
	// besides, whether bytes are missing, and head and tail of all that was printed.
	Repo   *os.Root
	Left   *testreport.Allowance
	Cut    bool
	Output []byte
}

// Measured is what a call left behind of the lines that its tests reached.
type Measured struct {
	Profile *testreport.Profile
	At      testreport.Paths
	// Each reads the files of the report folder whose names are the call's with an
	// end that matches a pattern of fs.Glob, and tells how many there are; none, and
	// -1, where they are more than most: that is noted.
	Each  func(end string, most int, read func(io.Reader)) int
	Repo  *os.Root
	Asked []string // files whose lines were asked for, relative to the repository
}

// Selection is what a call is to run: whole files or folders, tests, or tests in
// files. Paths are relative to the folder of the call.
type Selection struct {
	Paths []string
	Names []string // without their file; parts of a name stand between " > "
	// Exact: the names are whole ones, as a receipt has them; else what a person
	// wrote of them.
	Exact bool
}

// Affected is what a change can affect of the code of one language.
type Affected struct {
	// Hit are the files that the change can affect, with those that it changed or
	// took away, Code all files of the language that git tracks. All are relative
	// to the repository, and sorted.
	Hit, Code []string
	// Keep are files that run whatever is affected.
	Keep func(file string) bool
	// Packages are the crates of Rust, in place of files; All those that there are.
	Packages, All []string
}

// Repo are a repository's files as the readers of lines ask for them. The zero
// value knows none: then a word with a slash or a dot passes for a path.
type Repo struct{ fs.FS }

// Launchers are those of an ecosystem by which words of a line start its runners.
type Launchers struct {
	// Launches is how many words name a program that starts another one: of
	// `npm exec jest` two. 0 where it is none.
	Launches func(words []string) int
	// Manifest is the file that holds scripts, which are started by name, Scripts what
	// is in one. ScriptName reads words as such a start: the name, and the index of the
	// last word of it. Starters are the programs by which they are started, Around the
	// scripts that one of them runs for a name; "" is whichever.
	Manifest   string
	Starters   []string
	Around     func(starter, name string) []string
	Scripts    func(manifest []byte) map[string]string
	ScriptName func(words []string, scripts map[string]string) (name string, at int, ok bool)
	// OnlyScript tells that a starter starts nothing else by that name.
	OnlyScript func(starter, name string) bool
	// InPlace is the text of a script, in place of the words by which a call starts it.
	InPlace func(c Call, scripts map[string]string, text string) string
}
