// Package deps finds out whether a change asks for packages that are not
// installed, names them, and has setup install them into a layer of the run
// (docs/design.md, Workspaces and landing). A layer belongs to the lockfiles that it was made for.
//
// It asks nobody: whether setup may run, and with which hosts, is decided by the
// run's own configuration and, at a gate, by a person; contractrun asks. It never
// takes a host from the change itself.
package deps
