// Package check runs one command of a repository in the sandbox and keeps what
// happened as a receipt: command, exit code, output, the tests by name, and the
// tree and environment that it is true of (DESIGN 8). Of commands whose results
// it cannot read only the exit code counts.
//
// # How results are read
//
// The runners in a line are found by reading it as shell, and behind npm, pnpm
// and yarn by reading package.json. Each is asked, by options and environment
// and without a change of any file, to report what it did: go test and cargo on
// their output, the others to a file outside of the checkout: node:test, Mocha,
// pytest and unittest by a reporter of this package (folder reporters), Jest and
// Vitest in their own JSON, Maven, Gradle and nextest in JUnit XML. A runner
// that refuses is run again as the user wrote it. Of other commands a JUnit
// report or TAP on standard output counts, or JUnit files that they write.
//
// Outputs and reports may have any size: they are read as streams, half a
// gigabyte of either, and of what they say head and tail of failed tests are
// kept, bounded together. What is beyond that, or has more tests than a receipt,
// is incomplete.
//
// Names are unique in a repository: Go's begin with the import path, those of
// files with the file's path, all others with the folder of their part.
//
// # Parts and lines
//
// Every known runner can be told to run a part: files, folders, tests by name
// (Target, Rerun). A package script is put in place of its call, for only what
// stands in it can be told. Which lines of a change run is found out in passing
// of the changed files alone (measure.go): Go, Python and Jest do so at next to no
// cost, node:test and Mocha by the engine, Vitest where it has what measures.
// Which tests a change can affect is picked by files (Only), from what
// check/imports reads of a checkout.
//
// # What a receipt depends on
//
// On the tree, and on the world around it: what is installed, the folders that
// may be read, the toolchain's programs and the runner's, the environment. All of
// it is signed when a receipt is made, once more when its command has ended, and
// when one is looked up, by what the kernel says of each file (world.go). Caches
// that hashes guard, such as Go's modules and Cargo's crates, are signed by the
// names in them; what is built from the tree is not. Where nobody can tell in a
// few seconds, a receipt counts in one piece of work only.
//
// It does not judge. Whether a receipt is good enough, what the base did and
// which criterion it proves is the work of package verify; which commands a
// repository has and what they need around them that of check/detect.
//
// # What a test run can forge
//
// A test binary is the claim's own code, so what it says about itself is worth
// only so much. The parsers trust as little as they can: a result counts only
// after `go test` announced that test, with the control byte that the testing
// package puts before its own lines; text that merely looks like a result is
// output; a top-level test that no test file of its package declares is
// dropped; a test that fails once has failed; a command that exits non-zero has
// failed whatever its output says. What remains is a test binary that is
// written to deceive: one that writes the control byte itself, or reaches the
// output of the go command through /proc, can report a declared test as passed
// that never ran. Nothing of that happens by accident, it stands in the diff,
// and package verify names a changed TestMain as an edited control file.
//
// The same holds for reports: the runner is told their path by a variable that
// is gone before the tests start, but a test runs as the same user and can look
// for the folder and write there. What tests print cannot be taken for results,
// except of TAP, which is what they print. A target of cargo whose number of
// results is not the one that it announced is incomplete.
package check
