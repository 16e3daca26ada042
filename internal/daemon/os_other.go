//go:build !linux

package daemon

import "os"

func bootID() string   { return "" }
func pidSpace() string { return "" }

// SelfPath names the running program itself.
func SelfPath() (string, error) { return os.Executable() }
