//go:build race

package config

// slow is how much longer code takes under the race detector.
const slow = 10
