//go:build !race

// Package race tells tests whether the race detector slows them down.
package race

// Enabled tells that this is built with the race detector.
const Enabled = false
