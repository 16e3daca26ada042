//go:build !linux

package workspace

import (
	"errors"
	"time"
)

// Elsewhere git looks for itself.
func readFolder(string, string, time.Time) (memoDir, []string, error) {
	return memoDir{}, nil, errors.ErrUnsupported
}

func (d *memoDir) compare(string, time.Time) ([]string, error) { return nil, errors.ErrUnsupported }
