// Package workspace gives each contract a checkout of its own and tells what
// is in it (DESIGN 8).
//
// A run has a private git directory that borrows the user's objects through
// alternates; its checkouts have an index outside of the work tree, so that
// nothing that an agent writes decides what the host's git does. What lies at
// .git of a checkout is an empty mount point; inside the sandbox a synthetic,
// throw-away git directory appears there, which the host never reads.
//
// The package does not run commands in a checkout, does not judge what it
// holds and moves no branch of the user: that is check, verify and land.
package workspace
