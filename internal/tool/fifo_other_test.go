//go:build !unix

package tool

import "errors"

func mkfifo(string) error { return errors.New("not here") }
