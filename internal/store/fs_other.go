//go:build !linux

package store

// fsType knows no network file systems here: runs are for Linux, elsewhere
// only the demonstration and the tests open a store.
func fsType(string) (name string, network bool, err error) { return "", false, nil }
