// Command agency turns a goal into a verified, merged change of a git
// repository. This package parses what people type, asks the host of the
// repository, and prints; see package daemon for the host itself.
package main

import (
	"os"

	"agency/internal/daemon"
	"agency/internal/sandbox"
)

func main() {
	sandbox.Child()
	daemon.Child()
	os.Exit(run(os.Args[1:]))
}
