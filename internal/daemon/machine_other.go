//go:build !linux

package daemon

func bootID() string   { return "" }
func pidSpace() string { return "" }
