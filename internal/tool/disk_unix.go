//go:build unix

package tool

import (
	"errors"
	"syscall"

	"agency/internal/agency"
)

// diskError is the error that no model can mend: the disk is full or broken.
func diskError(err error) error {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS} {
		if errors.Is(err, errno) {
			return agency.Errorf(agency.KindTransient, "workspace: %w", errno).WithMend("make room on the disk, then agency resume RUN")
		}
	}
	return nil
}
