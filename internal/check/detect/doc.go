// Package detect finds out how a repository is built and tested, and what its
// commands need around them in the sandbox: toolchain, caches, environment.
// What is known of one language stands in its folder of package ecosystem; detect
// goes over all of them, asks programs, and puts the answers together.
//
// It reads files and asks the toolchain about itself, outside the repository
// and in an environment of its own making. Nothing of the repository is
// executed on the host: the one question that only the repository's module
// graph can answer, which modules are missing, is asked inside the sandbox.
package detect
