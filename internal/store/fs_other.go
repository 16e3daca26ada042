//go:build !linux

package store

import "math"

// fsType knows no network file systems here: runs are for Linux, elsewhere
// only the demonstration and the tests open a store.
func fsType(string) (name string, network bool, err error) { return "", false, nil }

// Room is not known here: a full disk is noticed by the write that fails.
func Room(string) (int64, error) { return math.MaxInt64, nil }
