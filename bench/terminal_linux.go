package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal of a size: own is its owner's side, screen the
// program's.
func openTerminal(width, height uint16) (own, screen *os.File, err error) {
	if own, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(own.Fd())
	err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	n, nerr := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, nerr, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}))
	if err == nil {
		screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return own, screen, nil
}
