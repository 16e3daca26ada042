//go:build !linux && !darwin

package prompt

import (
	"errors"
	"io"
	"os"
)

// Keys are none here.
type Keys struct{}

// ErrClosed is that of keys that are read no more.
var ErrClosed = errors.New("keys are read no more")

// OpenKeys fails.
func OpenKeys(*os.File) (*Keys, error) { return nil, errors.ErrUnsupported }

// Key reads none.
func (*Keys) Key() (byte, error) { return 0, ErrClosed }

// Line reads none.
func (*Keys) Line(io.Writer, string, int) (string, error) { return "", ErrClosed }

// Aside does it.
func (*Keys) Aside(do func() error) error { return do() }

// Interrupt tells that no line is typed.
func (*Keys) Interrupt() bool { return false }

// Close does nothing.
func (*Keys) Close() error { return nil }

// InFront tells that nobody else has the terminal.
func InFront(*os.File) bool { return true }

// OnStop does nothing where no process is stopped by a key.
func OnStop(func() func()) (end func()) { return func() {} }
