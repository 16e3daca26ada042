package git

import (
	"errors"
	"syscall"
)

// The codes of ERROR_DISK_FULL and ERROR_HANDLE_DISK_FULL.
func isFull(err error) bool {
	return errors.Is(err, syscall.Errno(112)) || errors.Is(err, syscall.Errno(39))
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.Errno(19)) }
