//go:build !linux

package daemon

import "os"

func selfPath() (string, error) { return os.Executable() }
