//go:build !unix

package doctor

import "errors"

func freeMB(string) (uint64, error) { return 0, errors.New("not known on this system") }

func existing(dir string) string { return dir }

// writable is told by the first that writes there.
func writable(string) bool { return true }
