// Package check runs one command of a repository in the sandbox and keeps what
// happened as a receipt: command, exit code, output, the tests by name, and the
// tree and environment that it is true of (DESIGN 8). It reads the results of
// `go test` and of anything that writes JUnit XML; of other commands only the
// exit code counts.
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
package check
