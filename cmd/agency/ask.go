package main

import (
	"os"

	"golang.org/x/term"
)

// asksPeople tells whether a person is there to be asked.
func (a *app) asksPeople() bool {
	return a.style.Live && term.IsTerminal(int(os.Stdin.Fd()))
}
