//go:build !unix

package toolset

import "errors"

func mkfifo(string) error { return errors.New("not here") }
