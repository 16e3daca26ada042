//go:build !unix

package tool

// diskError is the error that no model can mend.
func diskError(error) error { return nil }
