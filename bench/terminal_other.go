//go:build !linux

package main

import (
	"errors"
	"os"
)

func openTerminal(uint16, uint16) (own, screen *os.File, err error) {
	return nil, nil, errors.New("a terminal of one's own is made on Linux alone")
}
