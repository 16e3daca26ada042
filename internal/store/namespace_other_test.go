//go:build !linux

package store

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) bool { return false }

func mountTmpfs(string, string) error { return errors.ErrUnsupported }
