//go:build !linux

package beneath

// Run does the work without a fence, which only Linux has.
func (f Fence) Run(do func() error) error { return do() }

// Fenced is false.
func Fenced() bool { return false }
